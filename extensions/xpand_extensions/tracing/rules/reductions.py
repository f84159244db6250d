"""Rules of reductions and of cumulative functions."""

import math
from collections.abc import Callable
from typing import Any, Final

from xpand.extend import device_of

from ... import (
    control_flow as control_flow,  # has `associative_scan`
    statistics as statistics,  # has `reduce`
)
from ..._dispatch import for_library
from ...extend._derivatives import LINEAR, contribution
from ._derived import Axes, axes_of, axis_of

Function = Callable[..., Any]


def spread_out(xp: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Add the reduced axes again, with length 1."""
    if keepdims:
        return y
    axes = axes_of("reduction", axis, len(x.shape))
    return xp.reshape(y, tuple(1 if i in axes else length for i, length in enumerate(x.shape)))


def _count(x: Any, axis: Any) -> int:
    return math.prod(x.shape[i] for i in axes_of("reduction", axis, len(x.shape)))


def _nan_for_zero(xp: Any, x: Any) -> Any:
    """Replace zeros by NaN. Division then gives JAX's result without a warning."""
    return xp.where(xp.equal(x, xp.zeros_like(x)), xp.full_like(x, math.nan), x)


# Derivatives of reductions


def _sum_transposed(xp: Any, ct: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return xp.broadcast_to(spread_out(xp, ct, x, axis, keepdims), tuple(x.shape))


def _mean_transposed(xp: Any, ct: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return _sum_transposed(xp, ct / max(_count(x, axis), 1), x, axis, None, keepdims)


def _extremum(xp: Any, t: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Push a tangent through a maximum or minimum: average over elements equal to it. NaN equals no element."""
    is_it = xp.astype(xp.equal(x, spread_out(xp, out, x, axis, keepdims)), x.dtype)
    count = xp.sum(is_it, axis=axis, keepdims=keepdims)
    return xp.sum(t * is_it, axis=axis, keepdims=keepdims) / _nan_for_zero(xp, count)


def _variance(
    xp: Any, t: Any, out: Any, x: Any, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Any:
    # The tangent of the mean cancels, since distances from the mean sum to zero.
    distance = xp.subtract(x, xp.mean(x, axis=axis, keepdims=True))
    part = xp.real(t * xp.conj(distance)) if xp.isdtype(x.dtype, "complex floating") else t * distance
    left = _count(x, axis) - correction
    return xp.sum(part, axis=axis, keepdims=keepdims) * (2 / left if left > 0 else math.nan)


def _deviation(xp: Any, t: Any, out: Any, x: Any, **params: Any) -> Any:
    zero = out == 0  # JAX's derivative is NaN here
    found = _variance(xp, t, out, x, **params) / xp.where(zero, xp.ones_like(out), 2 * out)
    return xp.where(zero, xp.zeros_like(found), found)


def _product(xp: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Multiply in pairs. The derivative consists of products of the other elements, so it is right at zeros."""
    x = x if dtype is None else xp.astype(x, dtype)
    return for_library("statistics.reduce")(x, xp.multiply, 1, axis=axes_of("prod", axis, x.ndim), keepdims=keepdims)


# Cumulative functions


def scanned(function: Function, x: Any, axis: int) -> Any:
    """Combine the elements up to each position, in JAX's order."""
    scan = for_library("control_flow.associative_scan")
    return scan(lambda a, b: (function(a[0], b[0]),), (x,), axis=axis)[0]


def _line_axis(function: str, axis: int | None, ndim: int) -> int:
    """Return the axis of a cumulative function. It may be omitted for arrays with one axis."""
    if axis is None and ndim > 1:
        raise ValueError(f"{function}: x has {ndim} axes; with more than one, name the axis: axis=0")
    return 0 if axis is None else axis_of(function, axis, ndim)


def _part(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop), ...)]


def _sums_transposed(
    xp: Any, ct: Any, x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    """Sum from the end to each element."""
    position = _line_axis("cumulative_sum", axis, len(x.shape))
    ct = _part(ct, position, 1, None) if include_initial else ct
    back = xp.flip(xp.cumulative_sum(xp.flip(ct, axis=position), axis=position, dtype=ct.dtype), axis=position)
    return xp.reshape(back, tuple(x.shape))


def _products(xp: Any, x: Any, axis: int | None = None, dtype: Any = None, include_initial: bool = False) -> Any:
    """Multiply in pairs, so the derivative is right after a zero."""
    position = _line_axis("cumulative_prod", axis, x.ndim)
    x = x if dtype is None else xp.astype(x, dtype)
    x = x if x.ndim else xp.reshape(x, (1,))
    found = scanned(xp.multiply, x, position)
    if not include_initial:
        return found
    shape = tuple(1 if i == position else length for i, length in enumerate(x.shape))
    return xp.concat([xp.ones(shape, dtype=x.dtype, device=device_of(x)), found], axis=position)


def _differences(xp: Any, x: Any, prepend: Any, append: Any, axis: int = -1, n: int = 1) -> Any:
    if n < 0:
        raise ValueError(f"diff: n must be non-negative, got {n}")
    if not x.ndim:
        raise ValueError("diff: x must have at least one axis")
    position = axis_of("diff", axis, x.ndim)
    if n and (prepend is not None or append is not None):
        x = xp.concat([part for part in (prepend, x, append) if part is not None], axis=position)
    for _ in range(min(n, x.shape[position])):
        x = xp.subtract(_part(x, position, 1, None), _part(x, position, None, -1))
    return x


DERIVATIVES: Final[dict[str, Any]] = {
    "cumulative_sum": (LINEAR,),
    "max": (contribution(_extremum),),
    "mean": (LINEAR,),
    "min": (contribution(_extremum),),
    "std": (contribution(_deviation),),
    "sum": (LINEAR,),
    "var": (contribution(_variance),),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "cumulative_sum": (_sums_transposed,),
    "mean": (_mean_transposed,),
    "sum": (_sum_transposed,),
}

DECOMPOSITIONS: Final[dict[str, Any]] = {"cumulative_prod": _products, "diff": _differences, "prod": _product}

CONSTANT: Final[dict[str, str]] = {
    **dict.fromkeys(["all", "any"], "its result is boolean"),
    "count_nonzero": "its result is a number of elements",
    **dict.fromkeys(["argmax", "argmin"], "its result is an index"),
}


def nonempty(name: str) -> Function:
    """Make the check that a reduction has at least one element."""

    def check(lengths: Any, **params: Any) -> None:
        if 0 in lengths["axis"]:
            raise ValueError(f"{name}: x has no elements along axis {params.get('axis')}, and so no result")

    return check


def initial(lengths: Any, include_initial: bool = False, **params: Any) -> dict[str, int]:
    """Return the length of the axis of a cumulative function."""
    return {"k": lengths["axis"][0] + include_initial}


def _line(name: str) -> Axes:
    positions = lambda ndim, axis=None, **params: _line_axis(name, axis, ndim)
    return Axes("...[(axis)]->...[(axis:k)]", sizes=initial, positions=positions)


AXES: Final[dict[str, Axes]] = {
    **dict.fromkeys(("all", "any", "count_nonzero", "mean", "prod", "sum"), Axes("...(axis)->...")),
    **{name: Axes("...(axis)->...", check=nonempty(name)) for name in ("max", "min")},
    **dict.fromkeys(("std", "var"), Axes("...[(axis)]->...")),
    **{name: Axes("...[(axis)]->...", flat=True, check=nonempty(name)) for name in ("argmax", "argmin")},
    **{name: _line(name) for name in ("cumulative_prod", "cumulative_sum")},
}
