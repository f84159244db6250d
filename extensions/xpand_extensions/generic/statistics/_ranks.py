"""Ranks and most common values by a sort, with the standard alone."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks, default_dtype
from xpand_extensions import sorting
from xpand_extensions._bounds import index_dtype
from xpand_extensions.statistics import cumulative_max, cumulative_min
from xpand_extensions.statistics._ranks import Mode

from .._last_axis import as_last, from_last, to_last


def rankdata(x: Array, /, method: str = "average", *, axis: Any = None) -> Array:
    return rank_by(_in_order, x, method, axis)


def _in_order(order: Array, values: Array) -> Array:
    xp = array_namespace(order)
    return xp.take_along_axis(values, xp.argsort(order, axis=-1, stable=False), axis=-1)


def rank_by(place: Callable[[Array, Array], Array], x: Array, method: str, axis: Any) -> Array:
    """Rank with a function that returns an array with given values at the indices of a permutation of the last axis."""
    xp = array_namespace(x)
    rows = xp.reshape(x, (-1,)) if axis is None else to_last(xp, x, axis)
    device = checks.device_of(x)
    real = checks.kind(xp, x.dtype) == "real"
    dtype = default_dtype(xp, device=device) if real or method == "average" else index_dtype(xp, device)
    if not math.prod(rows.shape):
        return xp.zeros(rows.shape if axis is None else x.shape, dtype=dtype, device=device)
    # The order of NaN is open, but its slice has no ranks.
    order = xp.argsort(rows, axis=-1, stable=method == "ordinal")
    if method == "ordinal":
        found = xp.broadcast_to(_positions(xp, order) + 1, order.shape)
    else:
        new = _is_new(xp, xp.take_along_axis(rows, order, axis=-1))
        if method == "dense":
            found = xp.cumulative_sum(xp.astype(new, order.dtype), axis=-1, dtype=order.dtype)
        elif method == "min":
            found = _first(xp, new) + 1
        else:
            last = _last(xp, new)
            found = last + 1 if method == "max" else _first(xp, new) + last
    ranks = place(order, xp.astype(found, dtype))
    ranks = 0.5 * ranks + 1.0 if method == "average" else ranks
    if real:
        ranks = xp.where(xp.any(xp.isnan(rows), axis=-1, keepdims=True), math.nan, ranks)
    return ranks if axis is None else from_last(xp, ranks, axis)


def mode(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Mode:
    return mode_by(_sorted, longest, x, axis, keepdims)


def mode_by(
    sort: Callable[[Array], Array],
    longest: Callable[[Namespace, Array], tuple[Array, Array]],
    x: Array,
    axis: Any,
    keepdims: bool,
) -> Mode:
    """Find the mode with a function that sorts along the last axis, with NaN as the largest value, and `longest`."""
    xp = array_namespace(x)
    rows = as_last(xp, x, axis)
    shape = tuple([1 if i in axis else n for i, n in enumerate(x.shape)]) if keepdims else rows.shape[:-1]
    device = checks.device_of(x)
    dtype = index_dtype(xp, device)
    if not math.prod(rows.shape):
        # There are no slices, or slices without elements.
        value = xp.sum(rows, axis=-1) + math.nan if not rows.shape[-1] else rows[..., 0]
        return Mode(xp.reshape(xp.astype(value, x.dtype), shape), xp.zeros(shape, dtype=dtype, device=device))
    values = sort(rows)
    new = _is_new(xp, values)
    if checks.kind(xp, x.dtype) == "real":
        missing = xp.isnan(values)
        new = new & ~xp.concat([xp.zeros_like(missing[..., :1]), missing[..., 1:] & missing[..., :-1]], axis=-1)
    position, count = longest(xp, new)
    return Mode(xp.reshape(xp.take_along_axis(values, position, axis=-1), shape), xp.reshape(count, shape))


def longest(xp: Namespace, new: Array) -> tuple[Array, Array]:
    """Return the position of one of the most common values, and their number."""
    # At the last of equal values, this is their number.
    count = _positions(xp, new) - _first(xp, new) + 1
    most = xp.argmax(count, axis=-1, keepdims=True)
    return most, xp.take_along_axis(count, most, axis=-1)


def _sorted(rows: Array) -> Array:
    return sorting.top_k.native(rows)(rows, rows.shape[-1], axis=rows.ndim - 1, largest=False).values


def _is_new(xp: Namespace, values: Array) -> Array:
    """Return whether each sorted value differs from the one before."""
    first = xp.ones_like(values[..., :1], dtype=xp.bool)
    return xp.concat([first, values[..., 1:] != values[..., :-1]], axis=-1)


def _positions(xp: Namespace, x: Array) -> Array:
    device = checks.device_of(x)
    return xp.arange(x.shape[-1], dtype=index_dtype(xp, device), device=device)


def _first(xp: Namespace, new: Array) -> Array:
    """Return the position of the first of the equal values at each position."""
    position = _positions(xp, new)
    starts = xp.where(new, position, 0)
    return cumulative_max.native(starts)(starts, axis=new.ndim - 1, include_initial=False)


def _last(xp: Namespace, new: Array) -> Array:
    """Return the position of the last of the equal values at each position: they end before the next ones start."""
    position = _positions(xp, new)
    is_last = xp.concat([new[..., 1:], xp.ones_like(new[..., :1])], axis=-1)
    ends = xp.flip(xp.where(is_last, position, new.shape[-1]), axis=-1)
    return xp.flip(cumulative_min.native(ends)(ends, axis=new.ndim - 1, include_initial=False), axis=-1)
