"""Cumulative operations with the standard alone. Each pass doubles the length of partial results."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace, is_concrete
from xpand.extend import Array, Namespace, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions.statistics._arguments import with_initial

from .._last_axis import from_last, to_last


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    return with_initial(_accumulated(xp, xp.maximum, x, axis), "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    return with_initial(_accumulated(xp, xp.minimum, x, axis), "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    # Exclude NaN from the sums, where NumPy would warn, and insert it again from the first NaN on.
    nan = xp.isnan(x)
    total = _accumulated(xp, xp.logaddexp, xp.where(nan, xp.zeros_like(x), x), axis)
    seen = xp.cumulative_sum(xp.astype(nan, index_dtype(xp, checks.device_of(x))), axis=axis) > 0
    total = xp.where(seen, math.nan, total)
    return with_initial(total, "logcumsumexp", axis, include_initial)


def _accumulated(xp: Namespace, function: Callable[[Array, Array], Array], x: Array, axis: int) -> Array:
    rows = to_last(xp, x, axis)
    shift = 1
    while shift < rows.shape[-1]:
        rows = xp.concat([rows[..., :shift], function(rows[..., :-shift], rows[..., shift:])], axis=-1)
        shift *= 2
    return from_last(xp, rows, axis)


def gradient(f: Array, /, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    xp = array_namespace(f, *spacing)
    return tuple(_along(xp, f, step, item, edge_order) for step, item in zip(spacing, axis))


def _along(xp: Namespace, f: Array, step: Any, axis: int, edge_order: int) -> Array:
    rows = to_last(xp, f, axis)
    if not isinstance(step, float):
        step = xp.astype(step, xp.real(f).dtype if checks.kind(xp, f.dtype) == "complex" else f.dtype, copy=False)
    steps = None if isinstance(step, float) or not step.ndim else step[1:] - step[:-1]
    if steps is None:
        inner = (rows[..., 2:] - rows[..., :-2]) / (2 * step)
        first = last = step
    else:
        inner = _uneven(rows, steps)
        first, last = steps[0], steps[-1]
    left = (rows[..., 1:2] - rows[..., :1]) / first
    right = (rows[..., -1:] - rows[..., -2:-1]) / last
    if edge_order == 2:
        # Compute the slope of the parabola through three samples at an outer one.
        second, before = (step, step) if steps is None else (steps[1:2], steps[-2:-1])
        left = left + (left - (rows[..., 2:3] - rows[..., 1:2]) / second) * (first / (first + second))
        right = right + (right - (rows[..., -2:-1] - rows[..., -3:-2]) / before) * (last / (last + before))
    return from_last(xp, xp.concat([left, inner, right], axis=-1), axis)


def _uneven(rows: Array, steps: Array) -> Array:
    """Compute the slopes of parabolas at middle samples: the slope of each side, weighted by the other's distance."""
    xp = array_namespace(rows, steps)
    before, after = steps[:-1], steps[1:]
    slopes = (rows[..., 1:] - rows[..., :-1]) / steps
    slope = (slopes[..., :-1] * after + slopes[..., 1:] * before) / (before + after)
    if is_concrete(slope) and not bool(xp.isnan(xp.sum(slope))):
        return slope
    # An infinite sample in the middle, which has the weight 0 if both distances are equal, was subtracted from itself.
    low, middle, high = rows[..., :-2], rows[..., 1:-1], rows[..., 2:]
    weight = (after - before) / (before * after)
    zero = xp.zeros_like(middle)
    safe = xp.where(xp.isfinite(middle), zero, low), xp.where(xp.isfinite(middle), zero, high)
    others = (safe[1] / after * before - safe[0] / before * after) / (before + after)
    is_even = weight == 0.0
    special = xp.where(is_even, others, others + weight * xp.where(is_even, zero, middle))
    return xp.where(xp.isfinite(middle), slope, special)
