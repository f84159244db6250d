"""Ranks, most common values, skewness and kurtosis: every library against SciPy."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import scipy.stats

import xpand
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import statistics
from xpand_extensions.autodiff import grad
from xpand_extensions.statistics._ranks import TIES

SHAPES = [(7,), (4, 6), (3, 0), (0, 3), (2, 3, 4)]
DTYPES = ["int8", "int64", "uint8", "uint64", "float32", "float64"]


@contextmanager
def quiet() -> Iterator[None]:
    """SciPy warns of few and of equal values."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def values(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Make values with many ties, and with NaN, infinities and zeros of both signs."""
    x = np.random.default_rng(len(shape)).integers(0, 5, shape).astype(dtype)
    if dtype == "uint64":
        x += np.asarray(2**64 - 8, dtype="uint64")
    if dtype[0] == "f" and x.ndim == 2 and x.size:
        x[1, :3], x[2, :4], x[3, :2] = np.nan, [np.inf, np.inf, -np.inf, -0.0], [np.nan, 2.0]
    return x


@pytest.mark.parametrize("method", TIES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks(library: Library, dtype: str, method: Any) -> None:
    for shape in SHAPES:
        x = values(dtype, shape)
        for axis in (None, 0, -1):
            found = statistics.rankdata(library.asarray(x), method, axis=axis)
            real = dtype[0] == "f" or method == "average"
            assert str(found.dtype).rpartition(".")[2] == (
                ("float32" if library.id == "torch" else "float64") if real else "int64"
            )
            expected = scipy.stats.rankdata(x, method, axis=axis).astype(library.to_numpy(found).dtype)
            library.assert_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_modes(library: Library, dtype: str) -> None:
    for shape in SHAPES:
        x = values(dtype, shape)
        for axis in (None, 0, -1):
            if dtype[0] != "f" and not (x.size if axis is None else x.shape[axis]):
                continue
            for keepdims in (False, True):
                with quiet():
                    expected = scipy.stats.mode(x, axis=axis, keepdims=keepdims)
                found = statistics.mode(library.asarray(x), axis=axis, keepdims=keepdims)
                library.assert_equal(found.mode, np.asarray(expected.mode, dtype=dtype))
                library.assert_equal(found.count, np.asarray(expected.count, dtype=np.int64))


def test_modes_along_several_axes(library: Library) -> None:
    x = values("int64", (2, 3, 4))
    expected = scipy.stats.mode(np.moveaxis(x, 1, 0).reshape(3, 8), axis=1)
    found = statistics.mode(library.asarray(x), axis=(0, 2))
    for mine, wanted in zip(found, expected):
        library.assert_equal(mine, wanted)


def test_many_equal_values(library: Library) -> None:
    """Sorts of more than a few values are not stable by chance, and the largest value may be the most common one."""
    x = np.random.default_rng(0).integers(0, 9, 600)
    for method in ("average", "dense", "max", "min", "ordinal"):
        ranks = statistics.rankdata(library.asarray(x), method)
        expected = scipy.stats.rankdata(x, method).astype(library.to_numpy(ranks).dtype)
        library.assert_equal(ranks, expected)
    for most in (-1, 4, 9):
        y = np.concatenate([x, np.full(200, most)]).astype("float64")
        for z in (y, np.stack([y, x[0] - y])):
            found, expected = statistics.mode(library.asarray(z), axis=-1), scipy.stats.mode(z, axis=-1)
            library.assert_equal(found.mode, np.asarray(expected.mode))
            library.assert_equal(found.count, np.asarray(expected.count, dtype=np.int64))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("name", ["skew", "kurtosis"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments(library: Library, dtype: str, name: str, bias: bool) -> None:
    rng = np.random.default_rng(0)
    rtol = 2e-5 if dtype == "float32" else 1e-12
    for shape in ((1,), (2,), (3,), (4, 6), (2, 3, 5)):
        x = np.round(4.0 * rng.gamma(2.0, size=shape)).astype(dtype) / 4  # sums without rounding
        if len(shape) == 2:
            x[0, 1], x[1] = np.nan, 3.0
            x[2, 0] = x[2, 1] if library.lazy else np.inf  # NumPy would warn when Dask computes
        for axis in (None, 0, -1):
            for keepdims in (False, True):
                with quiet():
                    expected = getattr(scipy.stats, name)(x.astype("f8"), axis=axis, bias=bias, keepdims=keepdims)
                with np.errstate(invalid="ignore"):  # infinite values
                    found = getattr(statistics, name)(library.asarray(x), axis=axis, bias=bias, keepdims=keepdims)
                library.assert_equal(found, np.asarray(expected, dtype=dtype), rtol=rtol, atol=rtol)


def test_moments_of_nothing(library: Library) -> None:
    x = library.asarray(np.ones((2, 0)))
    for function in (statistics.skew, statistics.kurtosis):
        library.assert_equal(function(x), np.asarray(np.nan))
        library.assert_equal(function(x, axis=1), np.full(2, np.nan))
        library.assert_equal(function(x, axis=0), np.ones(0))


def test_moments_along_several_axes(library: Library) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 4))
    rows = np.moveaxis(x, 1, 0).reshape(3, 8)
    library.assert_equal(statistics.skew(library.asarray(x), axis=(0, 2)), scipy.stats.skew(rows, axis=1), rtol=1e-12)
    found = statistics.kurtosis(library.asarray(x), axis=(0, 2), fisher=False)
    library.assert_equal(found, scipy.stats.kurtosis(rows, axis=1, fisher=False), rtol=1e-12)


def test_moments_do_not_overflow(library: Library) -> None:
    """Values are standardized before powers are taken."""
    x = np.asarray([1.0, 2.0, 3.0, 4.0, 10.0])
    for scale in (1e-15, 1e15):
        scaled = library.asarray((x * scale).astype("float32"))
        library.assert_equal(statistics.kurtosis(scaled), np.float32(scipy.stats.kurtosis(x)), rtol=1e-5)


def test_half_precision() -> None:
    x = (np.arange(9.0) ** 2 * 100).astype(np.float16)
    for name in ("skew", "kurtosis"):
        found = getattr(statistics, name)(x)
        assert found.dtype == np.float16
        np.testing.assert_allclose(found, getattr(scipy.stats, name)(x.astype(float)), rtol=2e-3)
    np.testing.assert_array_equal(statistics.rankdata(x), np.arange(1.0, 10.0))
    assert statistics.mode(np.asarray([2.0, 1.0, 2.0], dtype=np.float16)).mode == 2.0


X = np.asarray([[3.0, 1.0, 4.0, 1.5, 5.0], [-2.0, 7.0, 0.5, 8.0, 2.5]])
TIED = np.asarray([[2, 1, 2, 2, 1], [0, 3, 3, 0, 0]])
CASES = {
    "skew": Case(lambda x: statistics.skew(x, axis=1), (X,), lambda x: scipy.stats.skew(x, axis=1), (0,)),
    "kurtosis": Case(
        lambda x: statistics.kurtosis(x, axis=0, bias=False, keepdims=True),
        (X.T,),
        lambda x: scipy.stats.kurtosis(x, axis=0, bias=False, keepdims=True),
        (0,),
        as_one_program=False,
    ),
    "rankdata": Case(
        lambda x: statistics.rankdata(x, "min", axis=1), (TIED,), lambda x: scipy.stats.rankdata(x, "min", axis=1)
    ),
    "mode": Case(lambda x: statistics.mode(x, axis=1), (TIED,), lambda x: tuple(scipy.stats.mode(x, axis=1))),
    "mode of numbers": Case(lambda x: statistics.mode(x, axis=0).mode, (X,), lambda x: np.min(x, axis=0), (0,)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_ranks_have_no_derivative() -> None:
    for library in ("numpy", "jax"):
        x = xpand.namespace(library).asarray(X[0])
        found = grad(lambda x: xpand.array_namespace(x).sum(x * statistics.rankdata(x)))(x)
        np.testing.assert_array_equal(np.asarray(found), [3.0, 1.0, 4.0, 2.0, 5.0])


def test_dask_stays_lazy(monkeypatch: pytest.MonkeyPatch) -> None:
    import dask.array as da

    def computed(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("the array was computed")

    x = da.from_array(X, chunks=(1, 2))
    with monkeypatch.context() as patch:
        patch.setattr(da.Array, "compute", computed)
        patch.setattr(da.Array, "__array__", computed)
        ranks, modes = statistics.rankdata(x, axis=0), statistics.mode(x, axis=1)
        statistics.skew(x), statistics.kurtosis(x)
    np.testing.assert_array_equal(np.asarray(ranks), scipy.stats.rankdata(X, axis=0))
    np.testing.assert_array_equal(np.asarray(modes.mode), X.min(axis=1))


BAD: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a list": (lambda: statistics.rankdata([1, 2]), TypeError, "rankdata: x must be an array"),
    "complex": (lambda: statistics.rankdata(X + 1j), TypeError, "rankdata: x must have an integer or real"),
    "method": (lambda: statistics.rankdata(X, "mean"), ValueError, "rankdata: method must be one of 'average'"),
    "axis": (lambda: statistics.rankdata(X, axis=2), ValueError, "rankdata: axis=2 is out of range"),
    "two axes": (lambda: statistics.rankdata(X, axis=(0, 1)), TypeError, "rankdata: axis must be an integer"),
    "no modes": (lambda: statistics.mode(TIED[:, :0], axis=1), ValueError, "mode: x has no elements along the axes"),
    "booleans": (lambda: statistics.mode(X > 0), TypeError, "mode: x must have an integer or real"),
    "integers": (lambda: statistics.skew(TIED), TypeError, "skew: x must have a real floating-point data type"),
    "bias": (lambda: statistics.kurtosis(X, bias=1), TypeError, "kurtosis: bias must be True or False"),
    "fisher": (lambda: statistics.kurtosis(X, fisher=0), TypeError, "kurtosis: fisher must be True or False"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name: str) -> None:
    call, error, message = BAD[name]
    with pytest.raises(error, match=message):
        call()
