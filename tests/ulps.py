"""Measures the errors of special functions against mpmath, in units in the last place (ulps).

A test file lists bounds of the errors, and checks them on every library in float32 and float64:

    ACCURACY = {"erf": Accuracy(special.erf, mpmath.erf, (reals(-7, 7),), ulps=2)}

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("accuracy", ACCURACY.values(), ids=ACCURACY)
    def test_accuracy(library, accuracy, dtype):
        check_ulps(library, accuracy, dtype)
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath
import numpy as np

from tests.libraries import Library

DIGITS = 60
"""The precision of references: enough to hide cancellation inside them from float64."""


@dataclass(frozen=True)
class Accuracy:
    """A function of real numbers, and the bound of its error at given points."""

    function: Callable[..., Any]
    """Takes arrays of one library, one for each argument."""
    reference: Callable[..., Any]
    """Takes a number of mpmath for each argument. Returns the true value, which may be infinite or NaN."""
    arguments: tuple[np.ndarray, ...]
    """The points of each argument, of float64 and one shape. They are rounded to the data type. Points that overflow or
    underflow are omitted."""
    ulps: float
    """The largest allowed error, in units in the last place of the true value."""
    argument_ulps: float = 0.0
    """An additional allowance for errors of arguments: the change of the true value, to first order, if each argument
    changes by this many units in its last place."""
    absolute: float = 0.0
    """An additional allowance near zeros of the function, in units in the last place of 1."""
    _cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def at(self, *arguments: np.ndarray) -> "Accuracy":
        """Return the same function and bounds at other points."""
        return replace(self, arguments=arguments, _cache={})

    def expected(self, dtype: str) -> "Expected":
        """Return the points in a data type and the true values there, computed once."""
        if dtype not in self._cache:
            self._cache[dtype] = _expected(self, np.dtype(dtype))
        return self._cache[dtype]


@dataclass(frozen=True)
class Expected:
    """Points and true values. The true values are `rounded + rest * ulp`."""

    arguments: tuple[np.ndarray, ...]
    rounded: np.ndarray
    rest: np.ndarray
    ulp: np.ndarray
    allowed: np.ndarray
    flushed: np.ndarray
    """The value if arguments below the smallest normal number count as zero."""


def reals(low: float, high: float, count: int = 200, *, seed: int = 0) -> np.ndarray:
    """Make points between two numbers, including the ends: half evenly spaced, half random."""
    random = np.random.default_rng(seed).uniform(low, high, count - count // 2)
    return np.sort(np.concatenate([np.linspace(low, high, count // 2), random]))


def magnitudes(low: float, high: float, count: int = 200, *, seed: int = 0) -> np.ndarray:
    """Make positive points from `10**low` to `10**high`, spread over all magnitudes."""
    return 10.0 ** reals(low, high, count, seed=seed)


def check_ulps(library: Library, accuracy: Accuracy, dtype: str) -> None:
    """Check a function at all points. The message names the worst point."""
    expected = accuracy.expected(dtype)
    errors = error_in_ulps(library, accuracy, dtype)
    excess = errors / expected.allowed
    if not excess.size:
        return
    worst = int(np.argmax(excess))
    if excess[worst] > 1:
        point = ", ".join(repr(x[worst]) for x in expected.arguments)
        raise AssertionError(
            f"{library.id}, {dtype}: {errors[worst]:.3g} ulps off at ({point}), allowed {expected.allowed[worst]:.3g}; "
            f"the true value is {expected.rounded[worst]!r}; {int(np.sum(excess > 1))} of {excess.size} points are off"
        )


def error_in_ulps(library: Library, accuracy: Accuracy, dtype: str) -> np.ndarray:
    """Compute the error of a function at each point, in units in the last place of the true value.

    Some libraries treat numbers below the smallest normal one as zero. So for a true value that small, any result that
    small has no error; for an argument that small, the true value at zero has no error.
    """
    expected = accuracy.expected(dtype)
    arrays = [library.asarray(x) for x in expected.arguments]
    result = np.asarray(library.to_numpy(accuracy.function(*arrays)))
    assert str(result.dtype) == dtype, f"{result.dtype} is not {dtype}"
    assert result.shape == expected.rounded.shape, f"{result.shape} is not {expected.rounded.shape}"
    tiny = np.finfo(dtype).smallest_normal
    with np.errstate(all="ignore"):
        errors = np.abs((result.astype(np.float64) - expected.rounded) / expected.ulp - expected.rest)
        same = (result == expected.rounded) & ~np.isfinite(expected.rounded)
        same |= np.isnan(result) & np.isnan(expected.rounded)
        same |= (np.abs(result) <= tiny) & (np.abs(expected.rounded) < tiny)
        flushed = np.abs((result.astype(np.float64) - expected.flushed) / expected.ulp)
        same |= ((result == expected.flushed) | (flushed < 1)) & (expected.flushed != expected.rounded)
    return np.where(same, 0.0, np.where(np.isnan(errors), np.inf, errors))


def _expected(accuracy: Accuracy, dtype: np.dtype) -> Expected:
    points = _representable(accuracy.arguments, dtype)
    info = np.finfo(dtype)
    rounded, rest, ulp, allowed, flushed = (np.empty(points[0].shape) for _ in range(5))
    with mpmath.workdps(DIGITS):
        for i, values in enumerate(zip(*points)):
            exact = [mpmath.mpf(float(x)) for x in values]
            true = accuracy.reference(*exact)
            rounded[i] = flushed[i] = _rounded(true, dtype)
            if any(0 < abs(x) < float(info.smallest_normal) for x in values):
                in_range = [x if abs(x) >= float(info.smallest_normal) else mpmath.mpf(0) for x in exact]
                flushed[i] = _rounded(accuracy.reference(*in_range), dtype)
            unit = _ulp(rounded[i], dtype)
            finite = mpmath.isfinite(true) and np.isfinite(rounded[i])
            ulp[i], rest[i] = unit, float((true - mpmath.mpf(float(rounded[i]))) / unit) if finite else 0.0
            allowed[i] = accuracy.ulps + accuracy.absolute * float(info.eps) / unit
            if accuracy.argument_ulps and finite:
                allowed[i] += accuracy.argument_ulps * _sensitivity(accuracy, exact, true, dtype) / unit
    return Expected(points, rounded, rest, ulp, allowed, flushed)


def _representable(arguments: tuple[np.ndarray, ...], dtype: np.dtype) -> tuple[np.ndarray, ...]:
    in_range = np.ones(arguments[0].shape, dtype=bool)
    points = []
    for x in arguments:
        with np.errstate(over="ignore", under="ignore"):
            point = x.astype(dtype)
        in_range &= (np.isfinite(point) == np.isfinite(x)) & ((point == 0) == (x == 0))
        points.append(point)
    return tuple(x[in_range] for x in points)


def _rounded(true: Any, dtype: np.dtype) -> float:
    with np.errstate(over="ignore", under="ignore"):
        return float(dtype.type(float(true)))


def _ulp(value: float, dtype: np.dtype) -> float:
    """Return the unit in the last place of a number; of the largest number if it overflows."""
    largest = np.finfo(dtype).max
    below = dtype.type(min(abs(value), largest)) if np.isfinite(value) else largest
    return float(np.spacing(below) if below < largest else largest - np.nextafter(largest, dtype.type(0)))


def _sensitivity(accuracy: Accuracy, exact: list[Any], true: Any, dtype: np.dtype) -> float:
    """Compute the change of the true value if each argument changes by a unit in its last place."""
    total = 0.0
    for k, x in enumerate(exact):
        step = mpmath.mpf(_ulp(float(x), dtype))
        changed = [accuracy.reference(*exact[:k], x + sign * step, *exact[k + 1 :]) for sign in (1, -1)]
        total += max(float(abs(other - true)) for other in changed if mpmath.isfinite(other))
    return total
