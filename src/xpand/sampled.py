"""Functions of sampled values: integrals, and phases without jumps."""

import math
from typing import Any, Literal

from . import _arguments
from ._namespace import describe
from .typing import Array, Namespace, Scalar

__all__ = ["cumulative_trapezoid", "simpson", "trapezoid", "unwrap"]
__dir__ = __all__.copy


def trapezoid(y: Array, /, x: Array | None = None, *, dx: Array | float = 1.0, axis: int = -1) -> Array:
    """Integrate sampled values along an axis by the trapezoidal rule.

    Args:
        y: The values: an array of a floating-point data type, real or complex.
        x: The points of the values: an array of a real floating-point data type, of shape `(n,)` for `n` values along
            the axis, or with as many axes as `y` that broadcast with it. By default, the points have the distance `dx`.
        dx: The distance of neighbouring points: a number or an array of shape (). Ignored if `x` is given.
        axis: The axis.

    Returns:
        An array of the promoted data type, without the axis. 0 for fewer than two values.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, points of the wrong shape, or arrays on two devices.

    Source: `numpy.trapezoid`.

    >>> import numpy as np
    >>> float(trapezoid(np.asarray([1.0, 2.0, 3.0])))
    4.0
    >>> float(trapezoid(np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0, 6.0, 8.0])))
    8.0
    """
    xp, rows, steps = _sampled("trapezoid", y, x, dx, axis)
    if rows.shape[-1] < 2 or x is not None:
        return _sum_of_trapezoids(xp, rows, steps)
    # This takes no temporary array of the size of `y`.
    return (xp.sum(rows[..., 1:-1], axis=-1) + (rows[..., 0] + rows[..., -1]) * 0.5) * steps


def cumulative_trapezoid(
    y: Array, /, x: Array | None = None, *, dx: Array | float = 1.0, axis: int = -1, initial: Literal[0] | None = None
) -> Array:
    """Integrate sampled values from the first point to each other point by the trapezoidal rule.

    Args:
        y: As in `trapezoid`, with at least one value along the axis.
        x: As in `trapezoid`.
        dx: As in `trapezoid`.
        axis: The axis.
        initial: 0 to start with the integral to the first point. None to omit it.

    Returns:
        An array of the promoted data type. It has one element fewer than `y` along the axis, or with `initial`, as
        many.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, no values along it, points of the wrong shape, another `initial`, or arrays on two
            devices.

    Source: `scipy.integrate.cumulative_trapezoid`.

    >>> import numpy as np
    >>> cumulative_trapezoid(np.asarray([1.0, 2.0, 3.0]), initial=0)
    array([0. , 1.5, 4. ])
    """
    name = "cumulative_trapezoid"
    xp, rows, steps = _sampled(name, y, x, dx, axis)
    if initial not in (None, 0):
        raise ValueError(f"{name}: initial must be 0 or None, got {initial!r}")
    if not rows.shape[-1]:
        raise ValueError(f"{name}: y must have at least one value along the axis, got the shape {tuple(y.shape)}")
    total = xp.cumulative_sum(_trapezoids(rows, steps), axis=-1, include_initial=initial is not None)
    return xp.moveaxis(total, -1, axis)


def simpson(y: Array, /, x: Array | None = None, *, dx: Array | float = 1.0, axis: int = -1) -> Array:
    """Integrate sampled values along an axis by Simpson's rule.

    Each two neighbouring intervals are integrated by the parabola through their three values. If the number of
    intervals is odd, the last one is integrated by the parabola through the last three values.

    Args:
        y: As in `trapezoid`.
        x: As in `trapezoid`. Where two neighbouring points are equal, the trapezoidal rule is used.
        dx: As in `trapezoid`.
        axis: The axis.

    Returns:
        An array of the promoted data type, without the axis. 0 for fewer than two values; for two, the result of the
        trapezoidal rule.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, points of the wrong shape, or arrays on two devices.

    Source: `scipy.integrate.simpson`; K. V. Cartwright, Simpson's rule cumulative integration with MS Excel and
    irregularly-spaced data, Journal of Mathematical Sciences and Mathematics Education 12 (2017).

    >>> import numpy as np
    >>> float(simpson(np.asarray([0.0, 1.0, 8.0, 27.0, 64.0])))
    64.0
    """
    xp, rows, steps = _sampled("simpson", y, x, dx, axis)
    size = rows.shape[-1]
    if size < 3:
        return _sum_of_trapezoids(xp, rows, steps)
    odd = size - 1 + size % 2  # the number of values in whole pairs of intervals
    first, middle, last = rows[..., 0 : odd - 2 : 2], rows[..., 1 : odd - 1 : 2], rows[..., 2:odd:2]
    if x is None:
        total = xp.sum(first + 4.0 * middle + last, axis=-1) * (steps / 3.0)
    else:
        before, after = steps[..., 0 : odd - 2 : 2], steps[..., 1 : odd - 1 : 2]
        total = xp.sum(_parabolas(xp, first, middle, last, before, after), axis=-1)
    if size % 2:
        return total
    last_three = rows[..., -3], rows[..., -2], rows[..., -1]
    if x is None:
        first, middle, last = last_three
        return total + (5.0 * last + 8.0 * middle - first) * (steps / 12.0)
    return total + _last_interval(xp, *last_three, steps[..., -2], steps[..., -1])


def unwrap(x: Array, /, *, discont: float | None = None, axis: int = -1, period: float = 2 * math.pi) -> Array:
    """Remove jumps of phases: add multiples of the period such that neighbours differ by at most half a period.

    Args:
        x: The phases: an array of a real floating-point or signed integer data type. Integers need an integer period.
        discont: The smallest difference of neighbours that is a jump; by default, and at least, half the period.
        axis: The axis along which phases are neighbours.
        period: The period, a positive number.

    Returns:
        An array of the shape and data type of `x`. After an infinity or NaN, all elements are NaN. The multiples are
        counted, so that rounding errors do not grow with the number of jumps.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or a period that isn't positive and finite.

    Source: `numpy.unwrap`.

    >>> import numpy as np
    >>> unwrap(np.asarray([0, 3, 6, 1, 4]), period=8)
    array([ 0,  3,  6,  9, 12])
    """
    xp = _arguments.namespace_of("unwrap", x=x)
    kind = _arguments.dtype("unwrap", "x", xp, x, _arguments.REAL_VALUED)
    if kind == "unsigned":
        raise TypeError(f"unwrap: x must be signed, since it is subtracted, got {x.dtype}; convert it with `xp.astype`")
    axis = _arguments.axis("unwrap", axis, x.ndim)
    takes = int if kind == "signed" else (int, float)
    for name, value in (("period", period), ("discont", period if discont is None else discont)):
        if isinstance(value, bool) or not isinstance(value, takes):
            whole = "an integer for integers" if kind == "signed" else "a number"
            raise TypeError(f"unwrap: {name} must be {whole}, got {value!r} ({describe(value)})")
    if not 0 < period < math.inf:
        raise ValueError(f"unwrap: period must be positive and finite, got {period}")
    rows = xp.moveaxis(x, axis, -1)
    if rows.shape[-1] < 2:
        return xp.asarray(x, copy=True)
    difference = rows[..., 1:] - rows[..., :-1]
    half: Any = period / 2 if kind == "real" else period // 2
    # A difference of exactly half a period keeps its sign.
    turns = xp.floor_divide(difference + half, period)
    if kind == "real" or period % 2 == 0:
        turns = turns - xp.astype((difference > 0) & (difference - turns * period == -half), x.dtype)
    if discont is not None:
        turns = xp.where(xp.abs(difference) < discont, xp.zeros_like(turns), turns)
    shift = xp.cumulative_sum(turns, axis=-1, dtype=x.dtype) * period
    return xp.moveaxis(xp.concat([rows[..., :1], rows[..., 1:] - shift], axis=-1), -1, axis)


def _sampled(name: str, y: Array, x: Array | None, dx: Any, axis: int) -> tuple[Namespace, Array, Any]:
    """Check the arguments; return the values with the axis last, and the distances of their points."""
    xp = _arguments.namespace_of(name, y=y) if x is None else _arguments.together(name, y=y, x=x)
    _arguments.dtype(name, "y", xp, y, _arguments.FLOATING)
    axis = _arguments.axis(name, axis, y.ndim)
    shape = _arguments.known_shape(name, "y", y)
    rows = xp.moveaxis(y, axis, -1)
    if x is None:
        _arguments.scalar(name, "dx", xp, dx, y, "y")
        return xp, rows, dx
    _arguments.dtype(name, "x", xp, x, _arguments.REAL)
    points = _arguments.known_shape(name, "x", x)
    if points != shape[axis : axis + 1]:
        if len(points) != len(shape) or points[axis] != shape[axis] or not _arguments.broadcasts_to(points, shape):
            raise ValueError(
                f"{name}: x must have the shape ({shape[axis]},), a point for each value along axis {axis}, or the "
                f"shape of y, {shape}; got {points}"
            )
        x = xp.moveaxis(x, axis, -1)
    return xp, rows, x[..., 1:] - x[..., :-1] if shape[axis] else x


def _trapezoids(rows: Array, steps: Scalar | Array) -> Array:
    """Integrate over each interval."""
    return (rows[..., 1:] + rows[..., :-1]) * 0.5 * steps


def _sum_of_trapezoids(xp: Namespace, rows: Array, steps: Scalar | Array) -> Array:
    return xp.sum(_trapezoids(rows, steps) if rows.shape[-1] else rows * steps, axis=-1)


def _parabolas(xp: Namespace, first: Array, middle: Array, last: Array, before: Array, after: Array) -> Array:
    """Integrate over each two intervals, of the lengths `before` and `after`."""
    proper = (before != 0.0) & (after != 0.0)
    one = xp.ones_like(before)
    a, b = xp.where(proper, before, one), xp.where(proper, after, one)
    ratio, both = a / b, a + b
    parabola = (both / 6.0) * (first * (2.0 - b / a) + middle * ((both / a) * (both / b)) + last * (2.0 - ratio))
    return xp.where(proper, parabola, 0.5 * (before * (first + middle) + after * (middle + last)))


def _last_interval(xp: Namespace, first: Array, middle: Array, last: Array, before: Array, here: Array) -> Array:
    """Integrate over the last interval by the parabola through the last three values."""
    proper = (before != 0.0) & (before + here != 0.0)
    one = xp.ones_like(before)
    a, b = xp.where(proper, before, one), xp.where(proper, here, one)
    both = a + b
    parabola = (
        last * (b * (2.0 * b + 3.0 * a) / (6.0 * both))
        + middle * (b * (b + 3.0 * a) / (6.0 * a))
        - first * (b * (b / both) * (b / a) / 6.0)
    )
    return xp.where(proper, parabola, 0.5 * here * (middle + last))
