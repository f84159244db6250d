"""Special cases in which libraries differ: every namespace gives the standard's result, also traced and compiled."""

import math
from functools import partial
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand_extensions.autodiff import grad
from xpand_extensions.bits import bitcast
from xpand_extensions.convert import convert
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

# array-api-strict is used as it is.
OURS = [library for library in LIBRARIES if not library.id.startswith("strict")]
EACH = pytest.mark.parametrize("library", OURS, ids=str)
NOT_LAZY = pytest.mark.parametrize("library", [library for library in OURS if not library.lazy], ids=str)


@EACH
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")  # of NumPy
@pytest.mark.parametrize("name", ["std", "var"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3,), None), ((2, 3), 1), ((2, 3), (0, 1)), ((2, 3), ()), ((1, 3), 0), ((3, 2, 1), (0, 2))]
)
def test_spread_of_too_few_is_nan(library: Library, name: str, shape: tuple[int, ...], axis: Any) -> None:
    values = np.arange(1.0, math.prod(shape) + 1).reshape(shape).astype("float32")
    axes = tuple(range(len(shape))) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    count = math.prod(shape[i] for i in axes)
    x = library.asarray(values)
    for correction in (0, 0.5, 1, count - 0.5, count, count + 1, 7.5):
        for keepdims in (False, True):
            result = getattr(library.xp, name)(x, axis=axis, correction=correction, keepdims=keepdims)
            mean = values.mean(axes, keepdims=True, dtype="float64")
            squares = ((values - mean) ** 2).sum(axes, keepdims=keepdims)
            free = count - correction
            expected = squares / free if free > 0 else squares * np.nan
            expected = np.sqrt(expected) if name == "std" else expected
            library.assert_equal(result, expected.astype("float32"), rtol=1e-6)


@NOT_LAZY
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning")  # of NumPy
def test_spread_of_too_few_in_transformations(library: Library) -> None:
    x = library.asarray(np.asarray([[1.0, 2.0, 4.0], [3.0, 3.0, 5.0]]))
    f = lambda x: library.xp.var(x, correction=3) if not hasattr(x, "_namespace") else x._namespace.var(x, correction=3)
    library.assert_equal(vmap(f)(x), [np.nan, np.nan])
    library.assert_equal(jit(f)(x[0]), np.nan)


@EACH
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_log1p_of_small_complex_numbers(library: Library, dtype: str) -> None:
    """Both parts are accurate near zero. The reference has 60 digits."""
    rng = np.random.default_rng(0)
    size = 10.0 ** rng.uniform(-30, 1, 300)
    z = np.concatenate(
        [
            size * np.exp(2j * np.pi * rng.random(300)),
            [1e-20, -1e-20, 1e-20j, 0.5, -0.5, 3.0, -1.5 + 1j, -1 + 1e-30j, -1 - 1e-25j],
        ]
    )
    z = z.astype(dtype)
    with mpmath.workdps(60):
        exact = [mpmath.log(1 + mpmath.mpc(complex(value))) for value in z]
    result = np.asarray(library.to_numpy(library.xp.log1p(library.asarray(z))))
    expected = np.asarray([complex(value) for value in exact])
    # The real part cancels where |1 + z| is near 1. There, PyTorch and JAX round it like a sum of its terms.
    terms = np.abs(expected.real) + (0 if library.id in ("numpy", "dask") else np.abs(z) ** 2 / 2)
    eps, tiny = np.finfo(dtype).eps, float(np.finfo(dtype).tiny)
    assert np.all(np.abs(result.real - expected.real) <= 8 * eps * terms + tiny)
    assert np.all(np.abs(result.imag - expected.imag) <= 4 * eps * np.abs(expected.imag) + tiny)


def test_log1p_where_the_real_part_cancels() -> None:
    import xpand.numpy as xp

    rng = np.random.default_rng(1)
    b = 10.0 ** rng.uniform(-6, -0.5, 300)
    circle = np.exp(1j * rng.uniform(-3, 3, 300)) - 1
    z = np.concatenate([-b * b / 2 * (1 + 10.0 ** rng.uniform(-12, -1, 300)) + 1j * b, circle])
    with mpmath.workdps(60):
        expected = np.asarray([float(mpmath.log(1 + mpmath.mpc(value)).real) for value in z.tolist()])
    np.testing.assert_allclose(xp.log1p(z).real, expected, rtol=1e-12)
    out = np.empty_like(z)
    assert xp.log1p(z, out=out) is out
    np.testing.assert_array_equal(out, xp.log1p(z))


@EACH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    "table",
    [[], [math.nan], [math.nan] * 2, [-math.inf, -1, 0, 2, math.nan, math.nan], [1, math.inf, math.nan], [1, 2, 3]],
    ids=str,
)
def test_searches_agree_with_sort(library: Library, table: list[float], side: Any, dtype: str) -> None:
    """NaN sorts last, so it is found as the largest number."""
    values = np.asarray([-math.inf, -1, -0.0, 0.0, 1.5, 2, math.inf, math.nan, 5], dtype)
    expected = np.searchsorted(np.asarray(table, dtype), values, side)
    x, xp = library.asarray(np.asarray(table, dtype)), library.xp
    library.assert_equal(xp.searchsorted(x, library.asarray(values), side=side), expected)
    for value, position in zip(values.tolist(), expected):
        library.assert_equal(xp.searchsorted(x, value, side=side), position)
    backwards = library.asarray(np.asarray(table[::-1], dtype))
    for of_sorter in ("int64", "uint64", "uint8"):
        sorter = library.asarray(np.arange(len(table))[::-1].astype(of_sorter))
        library.assert_equal(xp.searchsorted(backwards, library.asarray(values), side=side, sorter=sorter), expected)


@NOT_LAZY
def test_searches_for_nan_in_transformations(library: Library) -> None:
    tables = library.asarray([[1.0, 2.0, math.nan], [math.nan, math.nan, math.nan], [1.0, 2.0, 3.0]])
    rows = library.asarray([[0.0, 2.0, math.nan, 9.0]] * 3)
    f = lambda table, v: (getattr(table, "_namespace", library.xp)).searchsorted(table, v)
    library.assert_equal(vmap(f)(tables, rows), [[0, 1, 2, 2], [0, 0, 0, 0], [0, 1, 3, 3]])
    library.assert_equal(jit(f)(tables[0], rows[0]), [0, 1, 2, 2])


@EACH
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_repeats_and_indices_of_every_integer_type(library: Library, dtype: str) -> None:
    x, counts = library.asarray([3.0, 1.0, 2.0]), library.asarray(np.asarray([2, 0, 1], dtype))
    xp = library.xp
    library.assert_equal(xp.repeat(x, counts), [3.0, 3.0, 2.0])
    library.assert_equal(xp.repeat(xp.reshape(x, (3, 1)), counts, axis=0), [[3.0], [3.0], [2.0]])
    library.assert_equal(xp.repeat(x, library.asarray(np.asarray([2], dtype))), [3.0, 3.0, 1.0, 1.0, 2.0, 2.0])
    library.assert_equal(xp.take(x, counts), [2.0, 3.0, 1.0])
    library.assert_equal(xp.take_along_axis(x, counts), [2.0, 3.0, 1.0])


@NOT_LAZY
def test_factors_alone(library: Library) -> None:
    """Modes that the standard lacks return a library's result or raise, and never name it by the standard's factors."""
    values = np.random.default_rng(0).normal(size=(2, 4, 3))
    x, linalg = library.asarray(values), library.xp.linalg
    r = linalg.qr(x, mode="r")
    assert not isinstance(r, tuple)
    library.assert_equal(r, library.to_numpy(linalg.qr(x).R))
    assert linalg.qr(x, mode="complete").Q.shape == (2, 4, 4)
    if library.id != "torch":
        library.assert_equal(linalg.svd(x, compute_uv=False), np.linalg.svdvals(values), rtol=1e-12)
        assert linalg.svd(x, compute_uv=True).Vh.shape == (2, 3, 3)


@pytest.mark.parametrize("transform", [jit, vmap, lambda f: grad(lambda x: f(x).sum())], ids=["jit", "vmap", "grad"])
def test_factors_alone_are_not_traced(transform: Any) -> None:
    with pytest.raises(ValueError, match="qr: mode must be one of 'reduced', 'complete', got 'r'"):
        transform(lambda x: x._namespace.linalg.qr(x, mode="r"))(np.ones((2, 4, 3)))


def _sources() -> dict[str, Any]:
    x = np.arange(12.0).reshape(3, 4)
    read_only = x.copy()
    read_only.flags.writeable = False
    return {
        "dense": x,
        "read-only": read_only,
        "with gaps": x[:, ::2],
        "transposed": x.T,
        "rows reversed": x[::-1],
        "columns reversed": x[:, ::-1],
        "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
        "one number": np.asarray(3.0),
        "narrow": x.astype("float32")[:, 1:3],
        "bytes reversed": x.astype("int8")[::-1],
    }


@EACH
@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("layout", _sources())
def test_exchange_of_any_layout(library: Library, layout: str, copy: bool | None) -> None:
    source = _sources()[layout]
    expected = source.copy()
    found = library.xp.from_dlpack(source, copy=copy)
    if copy and source.flags.writeable:
        source[...] = 0
    library.assert_equal(found, expected)


@EACH
@pytest.mark.parametrize("shape", [(), (1000,)])
@pytest.mark.parametrize("name", ["asarray", "from_dlpack", "convert"])
def test_copies_are_made_before_the_call_returns(library: Library, name: str, shape: tuple[int, ...]) -> None:
    """JAX copies later, or shares memory that starts at a multiple of 64 bytes. So a write may reach the copy."""
    copied = partial(convert, to=library.xp) if name == "convert" else getattr(library.xp, name)
    for _ in range(200):
        source = np.full(shape, 3.0)
        found = copied(source, copy=True)
        source[...] = 0.0
        assert (np.asarray(library.to_numpy(found)) == 3.0).all()


def test_shared_memory_or_an_error() -> None:
    xp = next(library for library in LIBRARIES if library.id == "jax").xp
    for layout in ("read-only", "with gaps", "rows reversed"):
        with pytest.raises(BufferError, match="from_dlpack: JAX shares no memory"):
            xp.from_dlpack(_sources()[layout], copy=False)


@EACH
@pytest.mark.parametrize("copy", [None, True])
def test_exchange_of_tensors_that_change_when_read(library: Library, copy: bool | None) -> None:
    """PyTorch negates and conjugates some tensors only when they are read."""
    import torch

    z = torch.tensor([1.0 + 2.0j, 3.0 - 4.0j], dtype=torch.complex128)
    negated, conjugated = torch.conj(z).imag, torch.conj(z)
    assert negated.is_neg()
    assert conjugated.is_conj()
    library.assert_equal(
        library.xp.from_dlpack(negated.clone(memory_format=torch.contiguous_format), copy=copy), [-2.0, 4.0]
    )
    library.assert_equal(library.xp.from_dlpack(negated, copy=copy), [-2.0, 4.0])
    library.assert_equal(library.xp.from_dlpack(conjugated, copy=copy), [1.0 - 2.0j, 3.0 + 4.0j])
    if library.id == "numpy":
        with pytest.raises(BufferError, match="from_dlpack: x is negated"):
            library.xp.from_dlpack(negated, copy=False)


def test_bits_of_tensors_that_change_when_read() -> None:
    import torch

    z = torch.tensor([[1.0 + 2.0j, 3.0 - 4.0j]], dtype=torch.complex128)
    for x in (torch.conj(z).imag, torch.conj(z), torch._neg_view(z.real)):
        plain = x.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        for dtype in (torch.int64, torch.float64, torch.uint8, torch.complex64):
            if x.is_complex() and dtype is torch.int64:
                continue
            np.testing.assert_array_equal(bitcast(x, dtype), bitcast(plain, dtype))
