"""Order among values with the standard alone: stable sorts, and bisection for all values together.

Unique values: a stable sort moves equal values next to each other.
"""

import math
from typing import Any

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, Namespace, Scalar, checks
from xpand_extensions import sorting
from xpand_extensions._bounds import index_dtype
from xpand_extensions.sorting import Side, TopK

from .._dtypes import plain_sum


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    xp = array_namespace(x)
    order = _argsort(xp, x, axis, descending=largest)
    indices = order[(slice(None),) * axis + (slice(k), ...)]
    return TopK(xp.take_along_axis(x, indices, axis=axis), indices)


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    xp = array_namespace(x)
    return xp.take_along_axis(x, _argsort(xp, x, axis), axis=axis)


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return _argsort(array_namespace(x), x, axis)


def _argsort(xp: Namespace, x: Array, axis: int, *, descending: bool = False) -> Array:
    """Sort stably, with NaN as the largest value. The standard leaves the order of NaN open."""
    order = xp.argsort(x, axis=axis, descending=descending, stable=True)
    if checks.kind(xp, x.dtype) != "real":
        return order
    missing = xp.take_along_axis(xp.astype(xp.isnan(x), xp.uint8), order, axis=axis)
    return xp.take_along_axis(order, xp.argsort(missing, axis=axis, descending=descending, stable=True), axis=axis)


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    """Halve the intervals of all values together. The number of steps depends only on the size."""
    xp = array_namespace(x1, x2)
    if sorter is not None:
        x1 = xp.take_along_axis(x1, xp.astype(sorter, index_dtype(xp, checks.device_of(x1)), copy=False), axis=-1)
    size = x1.shape[-1]
    if x1.ndim == 1:
        return xp.reshape(_bisect(xp, x1, xp.reshape(x2, (-1,)), size, side), x2.shape)
    lead = checks.broadcast(tuple(x1.shape[:-1]), tuple(x2.shape[:-1]))
    x1, x2 = xp.broadcast_to(x1, (*lead, size)), xp.broadcast_to(x2, (*lead, x2.shape[-1]))
    return _bisect(xp, x1, x2, size, side)


def _bisect(xp: Namespace, x1: Array, x2: Array, size: int, side: Side) -> Array:
    device = checks.device_of(x2)
    dtype = index_dtype(xp, device)
    # Elements up to `low` are before the value; elements from `low + length` on are not.
    low = xp.zeros_like(x2, dtype=dtype)
    length = size
    while length > 0:
        half = length // 2
        middle = low + half
        before = _before(xp, xp.take_along_axis(x1, middle, axis=-1), x2, side)
        # The two halves may differ by one element. The longer length for both costs nothing, and is fixed.
        low = xp.where(before, low + (length - half), low)
        length = half
    return low


def _before(xp: Namespace, element: Array, value: Array, side: Side) -> Array:
    """Return whether an element of the sorted array lies before the position of a value."""
    if checks.kind(xp, value.dtype) != "real":
        return element < value if side == "left" else element <= value
    if side == "left":
        return (element < value) | (xp.isnan(value) & ~xp.isnan(element))
    return (element <= value) | xp.isnan(value)


def unique(
    x: Array,
    /,
    *,
    axis: int | None = None,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    size: int | None = None,
    fill_value: Scalar | None = None,
) -> Any:
    if size is None and not is_concrete(x):
        raise ValueError(
            "unique: size must be given where the values of x aren't known (under jit or vmap), since it is the size "
            "of the result"
        )
    xp = array_namespace(x)
    slices = xp.reshape(x, (-1,)) if axis is None else xp.moveaxis(x, axis, 0)
    device = checks.device_of(x)
    dtype = index_dtype(xp, device)
    number = slices.shape[0]
    order, new = _sorted(xp, slices)
    # Number the groups of equal slices from 1.
    group = xp.cumulative_sum(xp.astype(new, dtype), axis=0, dtype=dtype)
    if size is None:
        (start,) = xp.nonzero(new)
        start = xp.astype(start, dtype, copy=False)
        size = start.shape[0]
        present = xp.ones((size,), dtype=xp.bool, device=device)
        stop = xp.concat([start, xp.full((1,), number, dtype=dtype, device=device)])[1:]
    else:
        count = plain_sum(xp, xp.astype(new, dtype))
        wanted = xp.arange(1, size + 2, dtype=dtype, device=device)
        bounds = sorting.searchsorted.native(group)(group, wanted)
        present = wanted[:-1] <= count
        start, stop = xp.astype(bounds[:-1], dtype, copy=False), xp.astype(bounds[1:], dtype, copy=False)
    first = _first(xp, order, start, present)
    results = [_values(xp, slices, first, present, fill_value)]
    if axis is not None:
        back_in_place = (*range(1, axis + 1), 0, *range(axis + 1, x.ndim))
        results[0] = xp.permute_dims(results[0], back_in_place)
    if return_index:
        results.append(first)
    if return_inverse:
        back = xp.argsort(order)
        cap = xp.full((), size, dtype=dtype, device=device)
        inverse = xp.take(xp.minimum(group - 1, cap), back, axis=0) if number else group
        results.append(xp.reshape(inverse, x.shape) if axis is None else inverse)
    if return_counts:
        results.append(stop - start)
    return tuple(results) if len(results) > 1 else results[0]


def _sorted(xp: Namespace, slices: Array) -> tuple[Array, Array]:
    """Sort slices along the first axis; return their order, and which of them differ from the previous one."""
    number = slices.shape[0]
    device = checks.device_of(slices)
    order = xp.arange(number, dtype=index_dtype(xp, device), device=device)
    first = new = order < 1
    if not number:
        return order, new
    columns = _columns(xp, xp.reshape(slices, (number, math.prod(slices.shape[1:]))))
    for column in columns[::-1]:
        order = xp.take(order, xp.argsort(xp.take(column, order, axis=0), stable=True), axis=0)
    for column in columns:
        column = xp.take(column, order, axis=0)
        new = new | xp.concat([first[:1], column[1:] != column[:-1]])
    return order, new


def _columns(xp: Namespace, table: Array) -> list[Array]:
    """List the sort keys of rows: arrays of real numbers, the most significant first."""
    columns = [table[:, i] for i in range(table.shape[1])]
    kind = checks.kind(xp, table.dtype)
    if kind == "bool":
        return [xp.astype(column, xp.uint8) for column in columns]
    if kind == "complex":
        return [part(column) for column in columns for part in (xp.real, xp.imag)]
    return columns


def _first(xp: Namespace, order: Array, start: Array, present: Array) -> Array:
    """Find the first position of each unique slice; missing slices get that of the first slice."""
    none = xp.zeros_like(start)
    return xp.take(order, xp.where(present, start, none), axis=0) if order.shape[0] else none


def _values(xp: Namespace, slices: Array, first: Array, present: Array, fill_value: Scalar | None) -> Array:
    if not slices.shape[0]:
        fill = fill_value or 0
        if checks.kind(xp, slices.dtype) == "bool":
            fill = bool(fill)
        shape = (first.shape[0], *slices.shape[1:])
        return xp.full(shape, fill, dtype=slices.dtype, device=checks.device_of(slices))
    values = xp.take(slices, first, axis=0)
    if fill_value is None:
        return values
    filler = xp.full((), fill_value, dtype=slices.dtype, device=checks.device_of(slices))
    return xp.where(xp.reshape(present, (-1, *(1 for _ in slices.shape[1:]))), values, filler)
