"""Checks of the arguments that reductions share."""

import math
from collections.abc import Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Axis, Namespace, checks, describe


def reduced(function: str, kinds: frozenset[checks.Kind], x: Array, axis: Any, keepdims: Any) -> tuple[int, ...]:
    """Check the arguments of a reduction; return the sorted axes, counted from the front."""
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, kinds)
    checks.boolean(function, "keepdims", keepdims)
    return axes(function, axis, x.ndim)


def axes(function: str, value: Axis, ndim: int) -> tuple[int, ...]:
    """Check one axis, several axes, or None for all; return them sorted and counted from the front.

    Raises:
        TypeError: An axis is not an integer.
        ValueError: The array has no such axis, an axis is named twice, or the sequence is empty.
    """
    if value is None:
        return tuple(range(ndim))
    if not isinstance(value, (tuple, list)):
        return (checks.axis(function, value, ndim),)
    found = [checks.axis(function, item, ndim) for item in value]
    if not found:
        raise ValueError(f"{function}: axis is empty; omit it to use all axes")
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: axis={tuple(value)} names an axis twice")
    return tuple(sorted(found))


def one_axis(function: str, value: Any, ndim: int) -> int:
    """Check the axis of a function along one axis; None stands for the only axis of an array.

    Raises:
        TypeError: The axis is not an integer.
        ValueError: The array has no such axis, or `value` is None and the array has several axes.
    """
    if value is not None:
        return checks.axis(function, value, ndim)
    if ndim != 1:
        raise ValueError(
            f"{function}: axis must be given for an array of {ndim} axes; only an array of one axis may omit it"
        )
    return 0


def quantiles(function: str, xp: Namespace, x: Array, q: Any) -> Array | float | tuple[float, ...]:
    """Check `q`: a number, a sequence of numbers, or an array of at most one axis, whose values are not checked.

    Raises:
        TypeError: Another type, arrays of two libraries, or no real floating-point data type.
        ValueError: A number below 0 or above 1, an array of two axes, or arrays on two devices.
    """
    if isinstance(q, (int, float, list, tuple)):
        numbers: Sequence[Any] = q if isinstance(q, (list, tuple)) else (q,)
        for number in numbers:
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise TypeError(f"{function}: q must hold numbers, got {number!r} ({describe(number)})")
            if not 0 <= number <= 1:
                raise ValueError(f"{function}: q must lie between 0 and 1, got {number!r}")
        return tuple(map(float, numbers)) if isinstance(q, (list, tuple)) else float(q)
    checks.together(function, x=x, q=q)
    checks.dtype(function, "q", xp, q, checks.REAL)
    if q.ndim > 1:
        raise ValueError(f"{function}: q must have at most one axis, got the shape {tuple(q.shape)}")
    return q


def check_weights(function: str, x: Array, weights: Array, axes: tuple[int, ...]) -> None:
    """Check weights: of the shape of `x`, or with one axis, for the only one of `axes`.

    Raises:
        TypeError: No array, arrays of two libraries, or no real floating-point data type.
        ValueError: Another shape, or arrays on two devices.
    """
    xp = checks.together(function, x=x, weights=weights)
    checks.dtype(function, "weights", xp, weights, checks.REAL)
    allowed = [tuple(x.shape), *([(x.shape[axes[0]],)] if len(axes) == 1 else [])]
    if tuple(weights.shape) not in allowed:
        raise ValueError(
            f"{function}: weights must have the shape {' or '.join(map(str, dict.fromkeys(allowed)))}, got "
            f"{tuple(weights.shape)}"
        )


def number(function: str, name: str, value: Any) -> float:
    """Check an option that is a finite number.

    Raises:
        TypeError: It is not a Python number.
        ValueError: It is infinite or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{function}: {name} must be a number, got {value!r} ({describe(value)})")
    if not math.isfinite(value):
        raise ValueError(f"{function}: {name} must be finite, got {value!r}")
    return value


def with_initial(result: Array, function: str, axis: int, include_initial: bool) -> Array:
    """Insert the result for no elements before the first element, if requested."""
    if not include_initial:
        return result
    xp = array_namespace(result)
    shape = tuple([1 if i == axis else size for i, size in enumerate(result.shape)])
    first = xp.full(shape, identity(xp, result, function), dtype=result.dtype, device=checks.device_of(result))
    return xp.concat([first, result], axis=axis)


def identity(xp: Namespace, x: Array, function: str) -> int | float:
    """Return the result for no elements."""
    lowest = function != "cumulative_min"
    if checks.kind(xp, x.dtype) == "real":
        return -math.inf if lowest else math.inf
    return checks.integer_range(xp, x.dtype)[0 if lowest else 1]
