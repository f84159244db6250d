"""Integrals of samples and phases without jumps: every library against NumPy and SciPy."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand.sampled import cumulative_trapezoid, simpson, trapezoid, unwrap
from xpand_extensions.jit import jit

rng = np.random.default_rng(0)
Y = rng.normal(size=(3, 6))
X = np.cumsum(0.2 + rng.random((3, 6)), axis=1)
PHASES = np.asarray([[0.5, 2.0, 4.5, -1.0, -3.0, 7.0], [0.1, 9.0, -9.2, 1.3, 20.0, 0.25]])

FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "trapezoid": (trapezoid, np.trapezoid),
    "cumulative_trapezoid": (cumulative_trapezoid, scipy.integrate.cumulative_trapezoid),
    "simpson": (simpson, scipy.integrate.simpson),
}

CASES = {
    **{
        f"{name}, {kind}": case
        for name, (mine, reference) in FUNCTIONS.items()
        for kind, case in {
            "a distance": Case(
                lambda y, mine=mine: mine(y, dx=0.5, axis=0),
                (Y,),
                lambda y, reference=reference: reference(y, dx=0.5, axis=0),
                (0,),
            ),
            "points": Case(mine, (Y, X[0]), reference, (0, 1), maps=False),  # no descending points in another order
            "points for each row": Case(mine, (Y[:, :5], X[:, :5]), reference, (0, 1)),
        }.items()
    },
    "from 0": Case(
        lambda y: cumulative_trapezoid(y, initial=0),
        (Y,),
        lambda y: scipy.integrate.cumulative_trapezoid(y, initial=0),
        (0,),
    ),
    "unwrap": Case(unwrap, (PHASES,), np.unwrap, (0,), atol=1e-13),
    "unwrap, options": Case(
        lambda x: unwrap(x, discont=4.0, axis=0, period=3.0),
        (PHASES,),
        lambda x: np.unwrap(x, discont=4.0, axis=0, period=3.0),
        (0,),
        atol=1e-13,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("size", range(1, 8))
def test_sizes(library: Library, name: str, size: int) -> None:
    """Also few values, and numbers of intervals that are odd and even."""
    mine, reference = FUNCTIONS[name]
    y = Y[:, :size] if size < 7 else np.concat([Y, Y[:, :1] + 1], axis=1)
    x = X[:, :size] if size < 7 else np.concat([X, X[:, -1:] + 0.5], axis=1)
    for points in (None, x[0], x, x[:1], x[:, ::-1]):
        arguments = () if points is None else (library.asarray(points),)
        expected = np.asarray(reference(y, None if points is None else np.broadcast_to(points, y.shape), dx=0.25))
        library.assert_equal(mine(library.asarray(y), *arguments, dx=0.25), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("function", [trapezoid, simpson])
def test_no_values(library: Library, function: Any) -> None:
    library.assert_equal(function(library.asarray(Y[:, :0])), np.zeros(3))
    library.assert_equal(function(library.asarray(Y[:0, :])), np.zeros(0))
    library.assert_equal(unwrap(library.asarray(Y[:, :0])), Y[:, :0])


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_data_types(library: Library, name: str, dtype: str) -> None:
    mine, reference = FUNCTIONS[name]
    y = (Y + 1j * Y[::-1]).astype(dtype) if dtype[0] == "c" else Y.astype(dtype)
    x = X.astype("float32")
    for arguments in ((), (x,)):
        expected = reference(y, *arguments).astype(np.result_type(y, *arguments))
        library.assert_equal(mine(library.asarray(y), *map(library.asarray, arguments)), expected, rtol=1e-5, atol=1e-5)


def test_a_distance_that_is_an_array(library: Library) -> None:
    step = library.asarray(0.5)
    for function in (trapezoid, simpson, cumulative_trapezoid):
        expected = library.to_numpy(function(library.asarray(Y), dx=0.5))
        library.assert_equal(function(library.asarray(Y), dx=step), expected)


def test_infinite_values(library: Library) -> None:
    y = np.asarray(
        [[np.inf, 1.0, 2.0, 3.0], [1.0, -np.inf, 2.0, 3.0], [1.0, 2.0, 3.0, np.inf], [1.0, np.nan, 1.0, 1.0]]
    )
    expected = np.asarray([np.inf, -np.inf, np.inf, np.nan])
    library.assert_equal(trapezoid(library.asarray(y)), expected)
    library.assert_equal(trapezoid(library.asarray(y), library.asarray(np.arange(4.0))), expected)


def test_float16() -> None:
    """The sum is exact in float32, and would not be in float16."""
    y = np.full(5000, 1.0, dtype=np.float16)
    assert trapezoid(y, dx=0.125) == np.float16(4999 * 0.125)


def test_equal_points(library: Library) -> None:
    """The integral over a jump is exact: that of the pieces. SciPy's is not."""
    y = np.asarray([1.0, 1.0, 3.0, 3.0, 3.0, 5.0])
    for x in (
        [0.0, 1.0, 1.0, 2.0, 3.0, 3.0],
        [0.0, 0.0, 1.0, 2.0, 2.0, 2.0],
        [0.0, 1.0, 2.0, 2.0, 2.0, 3.0],
        [1.0] * 6,
    ):
        expected = np.trapezoid(y, x)
        if x[1] == 0.0:
            y = np.full(6, 2.0)
            expected = np.asarray(4.0)
        for order in (slice(None), slice(None, None, -1)):
            points = np.asarray(x)[order]
            sign = 1.0 if order.step is None else -1.0
            found = simpson(library.asarray(y if x[1] == 0.0 else y[order]), library.asarray(points))
            if x[1] == 0.0:
                library.assert_equal(found, sign * expected, rtol=1e-14)
            assert np.isfinite(library.to_numpy(found))


def test_polynomials_are_integrated_exactly(library: Library) -> None:
    x = np.asarray([0.0, 0.5, 2.0, 3.0, 3.25, 5.0])
    found = simpson(library.asarray(x**2), library.asarray(x))
    library.assert_equal(found, np.asarray(125.0 / 3.0), rtol=1e-14)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("period", [5, 6])
def test_phases_at_half_a_period(library: Library, dtype: str, period: int) -> None:
    x = np.random.default_rng(1).integers(-9, 9, size=(40, 5)).astype(dtype)
    x[:, 1:] = x[:, :1] + np.cumsum(x[:, 1:] % 7 - 3, axis=1)
    expected = np.unwrap(x, period=period).astype(dtype)
    library.assert_equal(unwrap(library.asarray(x), period=period), expected)


def test_many_jumps(library: Library) -> None:
    """The multiples of the period are counted: their error doesn't add up."""
    exact = np.linspace(0.0, 20000.0, 20001)
    wrapped = np.angle(np.exp(1j * exact))
    found = library.to_numpy(unwrap(library.asarray(wrapped)))
    assert np.max(np.abs(found - exact)) < 2e-11
    assert np.max(np.abs(np.unwrap(wrapped) - exact)) > 2e-11 or library.id != "numpy"


def test_phases_that_are_not_finite(library: Library) -> None:
    x = np.asarray([[0.0, 4.0, np.nan, 1.0], [1.0, np.inf, 0.0, 0.0], [np.nan, 1.0, 1.0, 1.0]])
    with np.errstate(invalid="ignore"):
        found = library.to_numpy(unwrap(library.asarray(x)))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(x) | (np.cumsum(~np.isfinite(x), axis=1) > 0))


def test_lazy(library: Library) -> None:
    if library.lazy:
        x = library.asarray(Y)
        assert all(type(f(x)) is type(x) for f in (trapezoid, simpson, cumulative_trapezoid, unwrap))


def test_under_jit(library: Library) -> None:
    """Points and distances may be traced."""
    if library.id in ("numpy", "jax"):
        y, x = library.asarray(Y), library.asarray(X)
        library.assert_equal(jit(simpson)(y, x), library.to_numpy(simpson(y, x)), rtol=1e-13)
        step = library.asarray(0.5)
        expected = library.to_numpy(simpson(y, dx=0.5))
        library.assert_equal(jit(lambda y, d: simpson(y, dx=d))(y, step), expected, rtol=1e-13)


ONE = np.ones(3)
MISTAKES: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a list": (lambda: trapezoid([1.0]), TypeError, "trapezoid: y must be an array"),
    "integers": (lambda: simpson(np.arange(3)), TypeError, "simpson: y must have a floating-point data type"),
    "no axis": (lambda: trapezoid(np.asarray(1.0)), ValueError, "trapezoid: axis=-1 is out of range for 0 axes"),
    "points": (lambda: trapezoid(ONE, np.ones(2)), ValueError, r"trapezoid: x must have the shape \(3,\)"),
    "points of two axes": (lambda: simpson(ONE, np.ones((3, 3))), ValueError, "simpson: x must have the shape"),
    "complex points": (lambda: trapezoid(ONE, ONE + 1j), TypeError, "trapezoid: x must have a real floating-point"),
    "distances": (lambda: trapezoid(ONE, dx=ONE), ValueError, "trapezoid: dx must be a scalar"),
    "a complex distance": (lambda: trapezoid(ONE, dx=1j), TypeError, "trapezoid: dx is the complex 1j"),
    "initial": (lambda: cumulative_trapezoid(ONE, initial=1), ValueError, "initial must be 0 or None, got 1"),
    "no values": (lambda: cumulative_trapezoid(ONE[:0]), ValueError, "y must have at least one value along the axis"),
    "period": (lambda: unwrap(ONE, period=0.0), ValueError, "unwrap: period must be positive and finite, got 0.0"),
    "infinite period": (lambda: unwrap(ONE, period=math.inf), ValueError, "unwrap: period must be positive"),
    "period of integers": (lambda: unwrap(np.arange(3)), TypeError, "unwrap: period must be an integer for integers"),
    "discont": (lambda: unwrap(ONE, discont=ONE), TypeError, "unwrap: discont must be a number"),
    "unsigned": (lambda: unwrap(np.ones(3, "uint8"), period=3), TypeError, "unwrap: x must be signed"),
    "complex phases": (lambda: unwrap(ONE + 0j), TypeError, "unwrap: x must have an integer or real floating"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        call()
