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
    xp = array_namespace(x)
    rows = xp.reshape(x, (-1,)) if axis is None else to_last(xp, x, axis)
    device = checks.device_of(x)
    real = checks.kind(xp, x.dtype) == "real"
    dtype = default_dtype(xp, device=device) if real or method == "average" else index_dtype(xp, device)
    if not math.prod(rows.shape):
        return xp.zeros(rows.shape if axis is None else x.shape, dtype=dtype, device=device)
    order = xp.argsort(rows, axis=-1)  # the order of NaN is open, but its slice has no ranks
    values = xp.take_along_axis(rows, order, axis=-1)
    back = xp.argsort(order, axis=-1)
    if method == "ordinal":
        ranks = xp.astype(back + 1, dtype)
    else:
        new = _is_new(xp, values)
        if method == "dense":
            found = xp.cumulative_sum(xp.astype(new, back.dtype), axis=-1, dtype=back.dtype)
        else:
            first, last = _group(xp, new)
            found = {"min": first + 1, "max": last + 1, "average": first + last}[method]
        ranks = xp.take_along_axis(xp.astype(found, dtype), back, axis=-1)
        ranks = 0.5 * ranks + 1.0 if method == "average" else ranks
    if real:
        ranks = xp.where(xp.any(xp.isnan(rows), axis=-1, keepdims=True), math.nan, ranks)
    return ranks if axis is None else from_last(xp, ranks, axis)


def mode(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Mode:
    return mode_by(_sorted, x, axis, keepdims)


def mode_by(sort: Callable[[Array], Array], x: Array, axis: Any, keepdims: bool) -> Mode:
    """Find the mode with a function that sorts along the last axis, with NaN as the largest value."""
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
    first, last = _group(xp, new)
    count = last - first + 1
    most = xp.argmax(count, axis=-1, keepdims=True)
    results = [xp.reshape(xp.take_along_axis(found, most, axis=-1), shape) for found in (values, count)]
    return Mode(*results)


def _sorted(rows: Array) -> Array:
    return sorting.top_k.native(rows)(rows, rows.shape[-1], axis=rows.ndim - 1, largest=False).values


def _is_new(xp: Namespace, values: Array) -> Array:
    """Return whether each sorted value differs from the one before."""
    first = xp.ones_like(values[..., :1], dtype=xp.bool)
    return xp.concat([first, values[..., 1:] != values[..., :-1]], axis=-1)


def _group(xp: Namespace, new: Array) -> tuple[Array, Array]:
    """Return the positions of the first and the last of the equal values at each position."""
    size = new.shape[-1]
    device = checks.device_of(new)
    position = xp.arange(size, dtype=index_dtype(xp, device), device=device)
    axis = new.ndim - 1
    starts = xp.where(new, position, xp.zeros_like(position))
    first = cumulative_max.native(starts)(starts, axis=axis, include_initial=False)
    # A group ends before the next one starts.
    is_last = xp.concat([new[..., 1:], xp.ones_like(new[..., :1])], axis=-1)
    ends = xp.flip(xp.where(is_last, position, xp.full_like(position, size)), axis=-1)
    last = xp.flip(cumulative_min.native(ends)(ends, axis=axis, include_initial=False), axis=-1)
    return first, last
