"""Tests that `test_plugins_cupy` runs in a separate process, in which NumPy replaces CuPy."""

from typing import Any

import cupy
import numpy as np
import pytest
import scipy.sparse

import xpand
from xpand_extensions import devices
from xpand_extensions.plugins.cupy import scatter, sparse as cupy_sparse
from xpand_extensions.plugins.cupy.sparse import _native as native
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._forward import jvp
from xpand_extensions.tracing._reverse import linearize

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
IDS = np.asarray([2, 0, 2, 4, 0, 2])


def values(dtype: str) -> np.ndarray:
    x = np.asarray([[3, 100], [7, 1], [5, 120], [2, 2], [1, 9], [4, 4]])
    if dtype in COMPLEX:
        x = x * (1 - 2j)
    if dtype in FLOATS:
        x = np.where(x == 9, np.nan, x / 2)
    return np.asfortranarray(x.astype(dtype))  # the layout of views of columns


@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS, *COMPLEX])
def test_segment_reductions(dtype: str) -> None:
    x = values(dtype)
    for name, ufunc in (("sum", np.add), ("prod", np.multiply), ("min", np.minimum), ("max", np.maximum)):
        if dtype in COMPLEX and name in ("min", "max"):
            continue
        function = getattr(scatter, f"segment_{name}")
        found = function(x, IDS, num_segments=5)
        for segment in (0, 2, 4):
            expected = ufunc.reduce(x[segment == IDS], axis=0, dtype=x.dtype)
            np.testing.assert_array_equal(found[segment], expected)
        assert found.dtype == x.dtype
        assert found.shape == (5, 2)
        assert function(x[:, :0], IDS, num_segments=5).shape == (5, 0)
        assert function(x[:0], IDS[:0], num_segments=5).shape == (5, 2)


UPDATES = ["add", "subtract", "multiply", "min", "max", "set"]


@pytest.mark.parametrize(
    ("dtype", "operation"),
    [(t, name) for t in [*INTEGERS, *FLOATS, *COMPLEX] for name in UPDATES if t not in COMPLEX or name[0] != "m"]
    + [(t, "multiply") for t in COMPLEX],
)
def test_updates(dtype: str, operation: str) -> None:
    table, new = values(dtype)[:5] + np.asarray(1, dtype), values(dtype)
    expected = table.copy()
    ufunc = {"min": np.minimum, "max": np.maximum}.get(operation) or getattr(np, operation, None)
    if ufunc is None:
        for place, row in zip(IDS, new):
            expected[place] = row
    else:
        ufunc.at(expected, IDS, new)
    for each in (getattr(scatter.at(table, IDS), operation)(new), getattr(scatter.at(table)[IDS], operation)(new)):
        np.testing.assert_array_equal(each, expected)
        assert each.dtype == table.dtype
    beyond = np.where(IDS == 4, 7, IDS)
    expected[4] = table[4]
    np.testing.assert_array_equal(getattr(scatter.at(table)[beyond], operation)(new, mode="drop"), expected)


def test_extremes_of_integers() -> None:
    """Check that 64-bit numbers keep their order at both ends of the range."""
    for dtype in ("int64", "uint64"):
        info = np.iinfo(dtype)
        x = np.asarray([info.min, info.max, 0, 1, info.min + 1, info.max - 1], dtype=dtype)
        ids = np.asarray([0, 0, 1, 1, 2, 2])
        assert scatter.segment_min(x, ids, num_segments=3).tolist() == [info.min, 0, info.min + 1]
        assert scatter.segment_max(x, ids, num_segments=3).tolist() == [info.max, 1, info.max - 1]


def test_without_a_driver() -> None:
    """Check CuPy without a GPU: it has no devices, and only requests for a device raise."""
    assert devices.device_count("cupy", "gpu") == 2
    runtime = cupy.cuda.runtime
    for runtime.error in (35, 100):  # the driver is too old or missing; no device
        assert devices.devices("cupy") == ()
        assert devices.device_count("cupy", "gpu") == 0
        with pytest.raises(ValueError, match="cupy has no device of kind 'gpu' here; there are none"):
            devices.devices("cupy", "gpu")
    runtime.error = 2
    with pytest.raises(RuntimeError, match="status 2"):
        devices.devices("cupy")


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_sparse_products(dtype: str, index: str) -> None:
    """Check that the kernel computes real, single, non-empty matrices; with duplicates, in any order, with padding."""
    m, n = 4, 200
    indptr, rng = np.asarray([0, 3, 3, 203, 204], dtype=index), np.random.default_rng(0)
    indices = np.concatenate([[2, 0, 2], rng.permutation(n), [5], [7, 7]]).astype("int32")
    values = rng.integers(1, 9, len(indices)).astype(dtype)
    dense = np.zeros((m, n), dtype)
    np.add.at(dense, (np.repeat(np.arange(m), np.diff(indptr)), indices[: indptr[-1]]), values[: indptr[-1]])
    launched = cupy.RawKernel.launched
    for x in (rng.integers(1, 9, size) for size in (n, (n, 1), (n, 3), (2, n, 3), (n, 0))):
        launched.clear()
        x = np.asarray(x[..., ::-1].astype(dtype) if x.ndim == 1 else np.asfortranarray(x.astype(dtype)))
        found = cupy_sparse.csr_matmul(values, indices, indptr, x, shape=(m, n))
        np.testing.assert_array_equal(found, dense @ x)
        assert found.dtype == dtype
        by_kernel = dtype in ("float32", "float64") and x.ndim < 3 and x.size
        assert launched == ([16 if x.size == n else 1] if by_kernel else [])
    ones = np.ones(n, dtype)
    batch = cupy_sparse.csr_matmul(np.stack([values, -values]), indices, indptr, ones, shape=(m, n))
    np.testing.assert_array_equal(batch, np.stack([dense @ ones, -dense @ ones]))
    for shape in ((0, n), (m, 0)):
        empty = np.zeros(0, dtype), np.zeros(0, "int32"), np.zeros(shape[0] + 1, index)
        found = cupy_sparse.csr_matmul(*empty, np.ones(shape[1], dtype), shape=shape)
        np.testing.assert_array_equal(found, np.zeros(shape[0]))


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_sparse_matrices_of_cupy(format: str) -> None:
    dense = np.asarray([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    given = scipy.sparse.csr_matrix(dense).asformat(format)
    assert native.format_of(given) == format
    assert native.format_of(dense) is None
    container = native.from_native(given)
    assert container.format == format
    assert container.values is given.data
    for target in (None, "csr", "csc", "coo"):
        back = cupy_sparse.to_native(container, format=target)
        assert back.format == (target or format)
        np.testing.assert_array_equal(back.toarray(), dense)


CALLS = [
    "np.sin(x) * y",
    "np.sum(x, axis=0)",
    "np.maximum(x, y)",
    "np.where(x > 1, x, y)",
    "np.concatenate([x, y])",
    "np.linalg.norm(x)",
    "np.linalg.eigh(x + x.T)[0]",
    "np.einsum('ij,ij->i', x, y)",
    "np.take(x, [0, 2], axis=1)",
    "np.take_along_axis(x, y.argsort(axis=1), 1)",
    "np.repeat(x, 2, axis=0)",
    "np.diag(x)",
    "np.median(x, axis=0)",
    "np.interp(x, [0.0, 1.0, 3.0], [1.0, 4.0, 2.0])",
    "np.stack([x[0, 0], 1.0])",
    "np.add.accumulate(x)",
    "np.linspace(x[0, 0], x[0, 1], 4)",
]


@pytest.mark.parametrize("text", CALLS)
def test_functions_of_numpy(text: str) -> None:
    """Check NumPy's functions of traced arrays over CuPy against NumPy."""
    x = np.asarray([[0.31, 1.22, 0.73], [2.14, 1.45, 0.96], [0.52, 0.27, 1.81]])
    y = np.asarray([[0.5, 1.1, 2.0], [1.5, 0.7, 0.3], [0.2, 0.9, 1.0]])
    namespace: Any = traced_namespace(xpand.namespace("cupy"))
    reference, function = (eval(f"lambda x: {text}", {"np": np, "y": each}) for each in (y, namespace.wrap(y)))
    result = function(namespace.wrap(x))
    assert result._namespace is namespace
    np.testing.assert_allclose(result._value, reference(x), rtol=1e-12)
    (value,), (tangent,), _ = jvp(namespace, lambda x: ((function(x),), ()), [x], [y])
    np.testing.assert_allclose(value, reference(x), rtol=1e-12)
    step = 1e-6
    np.testing.assert_allclose(tangent, (reference(x + step * y) - reference(x - step * y)) / (2 * step), atol=1e-7)
    (value,), _, linear = linearize(namespace, "vjp", lambda x: ((function(x),), ()), [x])
    (gradient,) = linear.pull(namespace.base.ones_like(value))
    np.testing.assert_allclose(np.vdot(gradient, y), np.sum(tangent), rtol=1e-9, atol=1e-9)
