"""Sets of values: every library against NumPy, sizes that are fixed, bad input."""

from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
import pytest

from tests.libraries import Library
from tests.operations import Case, Check, checked
from xpand import sets
from xpand_extensions.jit import jit

FUNCTIONS = ("union1d", "intersect1d", "setdiff1d", "setxor1d")
DTYPES = ["bool", "int8", "int64", "uint8", "uint64", "float32", "float64"]
SIZES = [(0, 0), (0, 3), (3, 0), (5, 7), (9, 4)]


def problem(dtype: str, sizes: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(sum(sizes))
    x1, x2 = (rng.integers(0, 6, n).astype(dtype) for n in sizes)
    if dtype == "uint64":
        x1, x2 = (x + np.asarray(2**64 - 8, dtype="uint64") for x in (x1, x2))
    if dtype[0] == "f" and all(sizes):
        x1[:3], x2[:3] = [np.nan, np.inf, -0.0], [-np.inf, np.nan, 0.0]
        x1[-1] = np.nan
    return x1, x2


def reference(name: str, x1: np.ndarray, x2: np.ndarray) -> np.ndarray:
    """NumPy's function; where NaN may be in the result, each counts."""
    found = getattr(np, name)(x1, x2)
    if x1.dtype.kind != "f" or name == "intersect1d":
        return found
    number = np.isnan(x1).sum() + (0 if name == "setdiff1d" else np.isnan(x2).sum())
    return np.concat([found[~np.isnan(found)], np.full(number, np.nan, x1.dtype)])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
def test_values(library: Library, name: str, dtype: str) -> None:
    function = getattr(sets, name)
    for sizes in SIZES:
        arrays = problem(dtype, sizes)
        x1, x2 = map(library.asarray, arrays)
        expected = reference(name, *arrays)
        library.assert_equal(function(x1, x2), expected)
        library.assert_equal(function(library.xp.reshape(x1, (-1, 1)), x2), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fixed_size(library: Library, name: str, dtype: str) -> None:
    function = getattr(sets, name)
    for sizes in SIZES:
        arrays = problem(dtype, sizes)
        x1, x2 = map(library.asarray, arrays)
        expected = reference(name, *arrays)
        for size in (0, 2, 20):
            missing = (0, max(size - len(expected), 0))
            first = expected[0] if len(expected) else 0
            wanted = np.pad(expected[:size], missing, constant_values=first)
            library.assert_equal(function(x1, x2, size=size), wanted)
            wanted = np.pad(expected[:size], missing, constant_values=1)
            fill_value = True if dtype == "bool" else 1
            library.assert_equal(function(x1, x2, size=size, fill_value=fill_value), wanted)


@pytest.mark.parametrize("dtype", [*DTYPES, "complex128"])
def test_positions_of_common_values(library: Library, dtype: str) -> None:
    for sizes in SIZES:
        arrays = problem(dtype, sizes)
        expected = np.intersect1d(*arrays, return_indices=True)
        x1, x2 = map(library.asarray, arrays)
        for found, wanted in zip(sets.intersect1d(x1, x2, return_indices=True), expected, strict=True):
            library.assert_equal(found, wanted)
        if dtype != "complex128":
            found = sets.intersect1d(x1, x2, return_indices=True, size=9)[1:]
            for mine, wanted in zip(found, expected[1:], strict=True):
                library.assert_equal(mine, np.pad(wanted, (0, 9 - len(wanted))))


@pytest.mark.parametrize("name", FUNCTIONS[1:])
def test_a_promise_that_values_differ(library: Library, name: str) -> None:
    x1, x2 = np.asarray([7, 1, 5, 2]), np.asarray([5, 9, 1])
    expected = getattr(np, name)(x1, x2, assume_unique=True)
    library.assert_equal(getattr(sets, name)(library.asarray(x1), library.asarray(x2), assume_unique=True), expected)
    if name == "intersect1d":
        options = {"assume_unique": True, "return_indices": True}
        found = sets.intersect1d(library.asarray(x1), library.asarray(x2), **options)
        for mine, wanted in zip(found, np.intersect1d(x1, x2, **options)):
            library.assert_equal(mine, wanted)


def test_data_types_promote(library: Library) -> None:
    x1, x2 = np.asarray([1, 2, 3], dtype="int8"), np.asarray([2, 300], dtype="int16")
    for name in FUNCTIONS:
        found = getattr(sets, name)(library.asarray(x1), library.asarray(x2))
        library.assert_equal(found, getattr(np, name)(x1, x2).astype("int16"))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_unknown_sizes(name: str) -> None:
    """Dask's arrays of unknown sizes stay lazy, and may be combined again."""
    x1, x2 = problem("float64", (9, 7))
    lazy = [da.unique(da.from_array(x[np.isfinite(x)], chunks=2)) for x in (x1, x2)]
    expected = reference(name, *(x[np.isfinite(x)] for x in (x1, x2)))
    found = getattr(sets, name)(*lazy)
    assert np.isnan(found.shape[0])
    np.testing.assert_array_equal(np.asarray(found), expected)
    wanted = np.pad(expected[:2], (0, max(2 - len(expected), 0)), mode="edge")
    np.testing.assert_array_equal(np.asarray(getattr(sets, name)(*lazy, size=2)), wanted)


X1, X2 = np.asarray([3.5, 1.25, -2.0, 0.5, 3.5]), np.asarray([0.5, 7.0, 9.5, -2.0])
APART = np.asarray([3.5, 1.25, -2.0, 0.5]), np.asarray([0.75, 7.0, 9.5, -2.5])
CASES = {
    name: Case(
        lambda x1, x2, name=name: getattr(sets, name)(x1, x2, size=4),
        APART,
        differentiable=(0,) if name == "setdiff1d" else (0, 1),
    )
    for name in FUNCTIONS
}


@checked({name: case for name, case in CASES.items() if name != "intersect1d"})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_positions_under_jit(library: Library) -> None:
    if library.id in ("numpy", "jax"):
        found = jit(lambda x1, x2: sets.intersect1d(x1, x2, return_indices=True, size=3, fill_value=9.0))(
            library.asarray(X1), library.asarray(X2)
        )
        for mine, wanted in zip(found, ([-2.0, 0.5, 9.0], [2, 3, 0], [3, 0, 0])):
            library.assert_equal(mine, np.asarray(wanted))


MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a list": (lambda: sets.intersect1d([1], X1), TypeError, "intersect1d: x1 must be an array"),
    "size": (lambda: sets.setxor1d(X1, X2, size=-1), ValueError, "setxor1d: size must be at least 0"),
    "fill only": (lambda: sets.union1d(X1, X2, fill_value=1.0), ValueError, "union1d: fill_value is for missing"),
    "fill": (lambda: sets.union1d(X1, X2, size=1, fill_value=1j), TypeError, "union1d: fill_value is the complex 1j"),
    "complex": (lambda: sets.setdiff1d(X1 + 0j, X2, size=2), TypeError, "setdiff1d: size is not available for complex"),
    "promise": (lambda: sets.setdiff1d(X1, X2, assume_unique=1), TypeError, "assume_unique must be True or False"),
    "traced": (lambda: jit(sets.intersect1d)(X1, X2), ValueError, "intersect1d: size must be given where the values"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        call()
