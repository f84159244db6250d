"""Sums of many numbers: in every function that adds, the error does not grow with their number."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library, unless
from xpand import array_namespace
from xpand_extensions import histograms, indexing, named, scatter, sparse, statistics, windows
from xpand_extensions.autodiff import grad
from xpand_extensions.vmap import vmap

Total = Callable[[Any, Any, Any], Any]
"""Adds values in a function: takes a namespace, the values, and as many zeros of the index type."""


def _sparse(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    return sparse.COO(values, (rows, columns), shape)


def _row(xp: Any, v: Any, zeros: Any) -> Any:
    """Make a matrix of one row."""
    return sparse.CSR(v, _numbers(xp, zeros), _ends(xp, zeros), (1, v.shape[0]))


def _columns(xp: Any, v: Any, zeros: Any) -> Any:
    """Make the same matrix, with entries by columns."""
    numbers = xp.concat([_numbers(xp, zeros), _ends(xp, zeros)[1:]])
    return sparse.CSC(v, zeros, numbers, (1, v.shape[0]))


def _row_times_column(xp: Any, v: Any, zeros: Any) -> Any:
    n, numbers = v.shape[0], _numbers(xp, zeros)
    return _sparse(v, zeros, numbers, (1, n)) @ _sparse(xp.ones_like(v), numbers, zeros, (n, 1))


def _ends(xp: Any, zeros: Any) -> Any:
    return xp.stack([zeros[0], zeros[0] + zeros.shape[0]])


def _numbers(xp: Any, zeros: Any) -> Any:
    return xp.cumulative_sum(zeros + 1, dtype=zeros.dtype) - 1


def _gradient(read: Callable[..., Any]) -> Total:
    """Return the gradient of reading one element for each value."""

    def total(xp: Any, v: Any, zeros: Any) -> Any:
        def f(x: Any) -> Any:
            of, product = array_namespace(x), read(x, zeros) * v
            return of.sum(of.real(product) if of.isdtype(v.dtype, "complex floating") else product)

        return grad(f)(v[:3] * 0)[0]

    return total


def _of_columns(function: Total) -> Total:
    """Add the values of the second of three columns."""

    def total(xp: Any, v: Any, zeros: Any) -> Any:
        return function(xp, xp.stack([v * 0, v, v * 0], axis=-1), zeros)[..., 1]

    return total


SUMS: Final[dict[str, Total]] = {
    "segment_sum": lambda xp, v, zeros: scatter.segment_sum(v, zeros, num_segments=2)[0, ...],
    "segment_reduce": lambda xp, v, zeros: scatter.segment_reduce(v, _ends(xp, zeros))[0, ...],
    "scatter": lambda xp, v, zeros: scatter.scatter(v[:2, ...] * 0, zeros, v, operation="add")[0, ...],
    "scatter_nd": lambda xp, v, zeros: scatter.scatter_nd(v[:2, ...] * 0, zeros[:, None], v, operation="add")[0, ...],
    "at": lambda xp, v, zeros: scatter.at(v[:2, ...] * 0)[zeros].add(v)[0, ...],
    "at.subtract": lambda xp, v, zeros: -scatter.at(v[:2, ...] * 0)[zeros].subtract(v)[0, ...],
}
MEANS: Final[dict[str, Total]] = {
    "segment_mean": lambda xp, v, zeros: scatter.segment_mean(v, zeros, num_segments=2)[0, ...],
    "segment_reduce": lambda xp, v, zeros: scatter.segment_reduce(v, _ends(xp, zeros), operation="mean")[0],
    "scatter": lambda xp, v, zeros: scatter.scatter(v[:2, ...] * 0, zeros, v, operation="mean")[0, ...],
    "average": lambda xp, v, zeros: statistics.average(v, axis=0),
    "average with weights": lambda xp, v, zeros: statistics.average(v, axis=0, weights=xp.ones_like(v)),
    "nanmean": lambda xp, v, zeros: statistics.nanmean(v, axis=0),
    "sparse.mean": lambda xp, v, zeros: sparse.mean(_sparse(v, zeros, _numbers(xp, zeros), (1, v.shape[0]))),
}
FUNCTIONS: Final[dict[str, Total]] = {
    **SUMS,
    **{f"{name} of columns": _of_columns(function) for name, function in SUMS.items()},
    "few rows": lambda xp, v, zeros: scatter.at(xp.broadcast_to(v[:1] * 0, (20 * v.shape[0],)))[zeros].add(v)[0],
    "pairs": lambda xp, v, zeros: scatter.at(xp.reshape(v[:4] * 0, (2, 2)))[zeros, zeros].add(v)[0, 0],
    "bincount": lambda xp, v, zeros: histograms.bincount(zeros, weights=v, length=2)[0],
    "sparse.sum": lambda xp, v, zeros: sparse.sum(_sparse(v, zeros, _numbers(xp, zeros), (1, v.shape[0]))),
    "sparse.sum of rows": lambda xp, v, zeros: sparse.sum(_row(xp, v, zeros), axis=1)[0],
    "todense": lambda xp, v, zeros: sparse.todense(_sparse(v, zeros, zeros, (2, 2)))[0, 0],
    "sparse @ sparse": lambda xp, v, zeros: sparse.todense(_row_times_column(xp, v, zeros))[0, 0],
    "cumulative_sum": lambda xp, v, zeros: xp.cumulative_sum(v)[-1],
    "CSR": lambda xp, v, zeros: (_row(xp, v, zeros) @ xp.ones_like(v))[0],
    "CSR of columns": lambda xp, v, zeros: (_row(xp, v, zeros) @ xp.stack([v * 0, xp.ones_like(v)], axis=-1))[0, 1],
    "CSC": lambda xp, v, zeros: (_columns(xp, v, zeros) @ xp.ones_like(v))[0],
    "COO": lambda xp, v, zeros: (_sparse(v, zeros, _numbers(xp, zeros), (1, v.shape[0])) @ xp.ones_like(v))[0],
}  # fmt: skip


READS: Final[dict[str, Total]] = {
    "take": _gradient(lambda x, zeros: indexing.take(x, zeros, axis=0)),
    "gather": _gradient(lambda x, zeros: indexing.gather(x, zeros)),
    "at.get": _gradient(lambda x, zeros: scatter.at(x)[zeros].get()),
}


BY_BLOCKS: Final = {
    *("segment_sum", "segment_reduce", "scatter", "scatter_nd", "bincount", "cumulative_sum"),
    *(name for name in MEANS if name != "sparse.mean"),
}
"""The functions that don't take Dask many tasks."""

WITH: Final = {"float16": {"numpy", "torch", "jax", "dask"}, "bfloat16": {"torch", "jax"}}
"""The libraries that have a data type."""


def lacks(library: Library, dtype: str) -> bool:
    return library.id not in WITH.get(dtype, {library.id})


def does_not_apply(library: Library, name: str, dtype: str) -> bool:
    # array-api-strict's sums are its own.
    is_own = library.id.startswith("strict") and name == "cumulative_sum"
    return lacks(library, dtype) or is_own or (library.lazy and name not in BY_BLOCKS)


def numbers(dtype: str, n: int) -> np.ndarray:
    x = np.random.default_rng(0).random(n) * 0.05
    return (x * (1 + 1j) if dtype == "complex64" else x.astype(np.float32)).astype(
        "float32" if dtype == "bfloat16" else dtype
    )


def checked(library: Library, function: Total, dtype: str, n: int, *, mean: bool = False) -> None:
    xp = library.xp
    v = xp.astype(library.asarray(numbers(dtype, n)), getattr(xp, dtype))
    zeros = library.asarray(np.zeros(n, np.int64))
    kind = np.complex128 if dtype == "complex64" else np.float64
    read = lambda x: np.asarray(library.to_numpy(xp.astype(x, xp.float32) if "16" in dtype else x)).astype(kind)
    exact = np.sum(read(v))
    found = function(xp, v, zeros)
    assert found.dtype == v.dtype
    bound = {"float16": 2**-10, "bfloat16": 2**-7}.get(dtype, 1e-6)
    np.testing.assert_allclose(read(found), exact / n if mean else exact, rtol=bound)


def number_for(library: Library) -> int:
    """Return a number of values for which one-by-one sums fail, and the library takes less than a second."""
    return 100_000 if library.id in ("numpy", "torch", "jax") else 5_000


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
@unless(lambda library, name, dtype: does_not_apply(library, name, dtype))
def test_sums(library: Library, name: str, dtype: str) -> None:
    checked(library, FUNCTIONS[name], dtype, number_for(library))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", MEANS)
@unless(lambda library, name, dtype: does_not_apply(library, name, dtype))
def test_means(library: Library, name: str, dtype: str) -> None:
    n = max(number_for(library), 70_000 if dtype == "float16" else 0)  # float16 can't count beyond 65,504
    checked(library, MEANS[name], dtype, n, mean=True)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", READS)
@unless(lambda library, name, dtype: does_not_apply(library, name, dtype))
def test_gradients_of_reads(library: Library, name: str, dtype: str) -> None:
    checked(library, READS[name], dtype, number_for(library))


@pytest.mark.parametrize("name", ["segment_sum", "at", "segment_sum of columns", "few rows", "CSC", "cumulative_sum"])
@unless(lambda library: library.id not in ("numpy", "torch", "jax"))  # the others take more than a second
def test_ten_million_values(library: Library, name: str) -> None:
    checked(library, FUNCTIONS[name], "float32", 10**7 if name in ("segment_sum", "at") else 10**6)


def test_dropped_values_have_no_gradient(library: Library) -> None:
    values, ids = np.ones(4, np.float32), np.asarray([0, 5, -1, 1])
    weights = library.asarray(np.asarray([2, 3], np.float32))

    def f(x: Any) -> Any:
        total = scatter.segment_sum(x, library.asarray(ids), num_segments=2, mode="drop")
        return array_namespace(x).sum(total * weights)

    library.assert_equal(grad(f)(library.asarray(values)), np.asarray([2, 0, 0, 3], np.float32))


def test_weights_of_histograms(library: Library) -> None:
    def total(xp: Any, v: Any, zeros: Any) -> Any:
        edges = _numbers(xp, zeros[:3])
        return histograms.histogram(zeros, edges, weights=v).hist[0]

    checked(library, total, "float32", number_for(library))


def test_logcumsumexp(library: Library) -> None:
    x = numbers("float32", number_for(library))
    exact = np.log(np.cumsum(np.exp(x.astype(np.float64))))
    found = library.to_numpy(statistics.logcumsumexp(library.asarray(x)))
    np.testing.assert_allclose(found, exact, rtol=1e-5)


@pytest.mark.parametrize("rowvar", [False, True])
def test_covariances_of_many_observations(library: Library, rowvar: bool) -> None:
    n = 1_000_000 if library.id == "numpy" else number_for(library)  # PyTorch's matrix products add one by one
    x = (np.random.default_rng(0).random((n, 2)) * 4 + 100).astype(np.float32)
    exact = np.cov(x.astype(np.float64), rowvar=False)
    found = statistics.cov(library.asarray(x if rowvar is False else x.T), rowvar=rowvar)
    np.testing.assert_allclose(library.to_numpy(found), exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("function", ["nanvar", "nanstd", "cov", "window_mean", "named"])
@unless(lambda library: lacks(library, "float16"))
def test_float16_does_not_overflow(library: Library, function: str) -> None:
    values = np.resize(np.asarray([1, 3], np.float16), 70_000)
    x = library.asarray(values)
    match function:
        case "window_mean":
            found, expected = windows.window_mean(x, 40_000)[0], 2
        case "named":
            a = named.named(x, "a")
            found, expected = named.mean(a, where=a > 0).array, 2
        case _:
            found, expected = getattr(statistics, function)(x), 1
    assert float(library.to_numpy(found)) == expected


@pytest.mark.skipif("jax" not in {library.id for library in LIBRARIES}, reason="JAX is not installed")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_jax_without_64_bits(dtype: str) -> None:
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(False):
        x = jnp.asarray(numbers(dtype, 1_000_000), dtype)
        zeros = jnp.zeros(len(x), jnp.int32)
        exact = np.sum(np.asarray(x, np.float64))
        rtol = 1e-6 if dtype == "float32" else 2**-7

        def total(x: Any) -> Any:
            return scatter.segment_sum(x, zeros, num_segments=2)[0]

        for found in (total(x), jax.jit(total)(x), jax.vmap(total)(x[None])[0], jax.jvp(total, (x,), (x,))[1]):
            assert found.dtype == dtype
            np.testing.assert_allclose(float(found), exact, rtol=rtol)
        gradient = jax.grad(lambda table: jnp.sum(indexing.take(table, zeros, axis=0) * x))(jnp.zeros(3, dtype))
        np.testing.assert_allclose(float(gradient[0]), exact, rtol=rtol)
        twice = jax.grad(lambda x: total(x) ** 2 / 2)(x)
        np.testing.assert_allclose(np.asarray(twice, np.float64), exact, rtol=rtol)


@pytest.mark.parametrize("shape", [(23,), (23, 3), (23, 0)])
@pytest.mark.parametrize("block", [1, 5, 16, 60])
def test_blocks_of_jax(monkeypatch: pytest.MonkeyPatch, block: int, shape: tuple[int, ...]) -> None:
    """On the CPU, JAX widens many values in blocks. The sum of each row, its maps and derivatives are the same."""
    jax = pytest.importorskip("jax")
    from xpand_extensions.plugins.jax import _linear

    monkeypatch.setattr(_linear, "_BLOCK", block)
    jax.clear_caches()
    rng = np.random.default_rng(0)
    values, index = rng.normal(size=shape).astype("float32"), rng.integers(0, 9, 23)
    expected = np.zeros((7, *shape[1:]))
    np.add.at(expected, index[index < 7], values[index < 7])
    total = lambda values, index: scatter.segment_sum(values, index, num_segments=7, mode="drop")
    x, ids = jax.numpy.asarray(values), jax.numpy.asarray(index)
    np.testing.assert_allclose(total(x, ids), expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(vmap(total, (0, None))(x[None], ids)[0], expected, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(vmap(total, (None, 0))(x, ids[None])[0], expected, rtol=1e-6, atol=1e-7)
    weights = rng.normal(size=expected.shape).astype("float32")
    slope = grad(lambda x: (total(x, ids) * weights).sum())(x)
    np.testing.assert_allclose(slope, np.where((index < 7)[(..., *[None] * (x.ndim - 1))], weights[index % 7], 0))
    jax.clear_caches()
