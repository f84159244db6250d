"""Reads and writes at indices, slices and masks with the standard alone."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, ArrayLike, checks
from xpand_extensions._bounds import Mode, index_dtype, resolve
from xpand_extensions._index import Basic, Rows
from xpand_extensions._rows import copied, fill_value as fill_of, row_kernels, rows_along, rows_at
from xpand_extensions.indexing._mask import nonzero as nonzero_of
from xpand_extensions.indexing._slice import SliceMode

from ..scatter._offsets import segment_ids


def take(x: Array, indices: Array, /, *, axis: Any = None, mode: Any = None, fill_value: Any = None) -> Array:
    return along("take", array_namespace(x).take, x, indices, axis, mode, fill_value)


def gather(
    x: Array, indices: Array, /, *, axis: int = 0, batch_dims: int = 0, mode: Any = None, fill_value: Any = None
) -> Array:
    if batch_dims == 0:
        return along("gather", array_namespace(x).take, x, indices, axis, mode, fill_value)
    chosen, after = rows_along("gather", x, indices, axis, batch_dims, mode)
    return _read(x, chosen, chosen.shape + after, fill_value)


def gather_nd(
    x: Array, indices: Array, /, *, batch_dims: int = 0, axes: Any = None, mode: Any = None, fill_value: Any = None
) -> Array:
    table, chosen, after, _ = rows_at("gather_nd", x, indices, tuple(axes), batch_dims, mode)
    return _read(table, chosen, chosen.shape + after, fill_value)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1, mode: Any = None, fill_value: Any = None) -> Array:
    xp = array_namespace(x)
    size = x.shape[axis]
    index, dropped = resolve(
        "take_along_axis", xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True
    )
    others = checks.broadcast(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*index.shape[:axis], 1, *index.shape[axis + 1 :])
    )
    shape = (*others[:axis], index.shape[axis], *others[axis + 1 :])
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    fill = _scalar(x, fill_of(x, fill_value))
    if not size:
        return copied(xp.broadcast_to(fill, shape))
    x = xp.broadcast_to(x, (*others[:axis], size, *others[axis + 1 :]))
    index = xp.broadcast_to(index, shape)
    if not dropped:
        return xp.take_along_axis(x, index, axis=axis)
    inside = index < size
    return xp.where(inside, xp.take_along_axis(x, xp.where(inside, index, xp.zeros_like(index)), axis=axis), fill)


def along(
    function: str,
    read: Callable[..., Array],
    x: Array,
    indices: Array,
    axis: int,
    mode: Mode | None,
    fill_value: ArrayLike | None,
) -> Array:
    """Take the same indices everywhere along an axis, which libraries do without a flat index.

    `function` is the name for messages, `read` the library's `take`, which gets one axis of indices, all within bounds.
    """
    xp = array_namespace(x)
    size = x.shape[axis]
    index, dropped = resolve(function, xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True)
    before, after = tuple(x.shape[:axis]), tuple(x.shape[axis + 1 :])
    shape = before + tuple(indices.shape) + after
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    index = index if index.ndim == 1 else xp.reshape(index, (-1,))
    if not dropped:
        found = read(x, index, axis=axis)
        return found if indices.ndim == 1 else xp.reshape(found, shape)
    fill = _scalar(x, fill_of(x, fill_value))
    if not size:
        return copied(xp.broadcast_to(fill, shape))
    inside = index < size
    found = read(x, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    inside = xp.reshape(inside, (-1,) + (1,) * len(after))
    return xp.reshape(xp.where(inside, found, fill), shape)


def _read(x: Array, chosen: Rows, shape: tuple[int, ...], fill_value: ArrayLike | None) -> Array:
    """Read rows."""
    xp = array_namespace(x)
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    table = xp.reshape(x, (chosen.count, chosen.width))
    return xp.reshape(row_kernels(x)._read_rows(table, chosen, fill_of(x, fill_value)), shape)


def _scalar(x: Array, value: ArrayLike) -> Array:
    return row_kernels(x)._scalar(value)


def dynamic_slice(x: Array, /, starts: Any, sizes: Any, *, strides: Any = None, mode: Any = None) -> Array:
    xp = array_namespace(x)
    device = checks.device_of(x)
    key, taken = [], []
    for axis, (start, size, step) in enumerate(zip(starts, sizes, strides)):
        stop = start + (size - 1) * step + 1 if size else start
        if isinstance(start, int) and stop <= x.shape[axis]:
            key.append(slice(start, stop, step))
        else:
            key.append(slice(None))
            taken.append(axis)
    found = x[tuple(key)]
    for axis in taken:
        index = xp.arange(sizes[axis], dtype=index_dtype(xp, device), device=device) * strides[axis] + starts[axis]
        if mode == "wrap":
            index = xp.remainder(index, xp.full((), x.shape[axis], dtype=index.dtype, device=device))
        found = xp.take(found, index, axis=axis)
    return found if taken else copied(found)


def put_slice(x: Array, values: Array, /, starts: Sequence[int | Array], *, mode: SliceMode | None = None) -> Array:
    xp = array_namespace(x)
    values = xp.astype(values, x.dtype, copy=False)
    if 0 in values.shape:
        return copied(x)
    sizes = tuple(values.shape)
    if all(isinstance(s, int) and s + n <= total for s, n, total in zip(starts, sizes, x.shape)):
        key = tuple([slice(start, start + size, 1) for start, size in zip(starts, sizes)])
        return row_kernels(x)._write_basic(Basic(key, sizes, sizes), values)
    # Each element of the array computes its position in the slice, which avoids a scatter.
    device = checks.device_of(x)
    inside = xp.ones((1,) * x.ndim, dtype=xp.bool, device=device)
    for axis, start in enumerate(starts):
        position = xp.arange(x.shape[axis], dtype=index_dtype(xp, device), device=device) - start
        if mode == "wrap":
            position = xp.remainder(position, xp.full((), x.shape[axis], dtype=position.dtype, device=device))
        within = (position >= 0) & (position < sizes[axis])
        inside = inside & xp.reshape(within, (-1,) + (1,) * (x.ndim - axis - 1))
        values = xp.take(values, xp.clip(position, 0, sizes[axis] - 1), axis=axis)
    return xp.where(inside, values, x)


def repeat(x: Array, /, repeats: int | Array, *, axis: Any = None, total_repeat_length: int | None = None) -> Array:
    xp = array_namespace(x)
    size = x.shape[axis]
    if total_repeat_length is None:
        if not size:
            return copied(x)
        return xp.repeat(
            x, repeats if isinstance(repeats, int) or repeats.ndim else xp.reshape(repeats, (1,)), axis=axis
        )
    if total_repeat_length == 0:
        return x[(*(slice(None),) * axis, slice(0, 0), ...)]
    device = checks.device_of(x)
    dtype = index_dtype(xp, device)
    if isinstance(repeats, int):
        position = xp.arange(total_repeat_length, dtype=dtype, device=device)
        index = position // repeats if repeats else xp.full_like(position, size - 1)
        return xp.take(x, xp.clip(index, 0, size - 1), axis=axis)
    number = xp.maximum(xp.astype(repeats, dtype, copy=False), xp.zeros((), dtype=dtype, device=device))
    if number.ndim == 0 or number.shape[0] != size:
        number = xp.broadcast_to(number, (size,))
    # The copies of element i are a segment that starts at the sum of the repeats before it.
    index = segment_ids(xp.reshape(xp.cumulative_sum(number, include_initial=True), (1, size + 1)), total_repeat_length)
    return xp.take(x, xp.clip(xp.reshape(index, (total_repeat_length,)), 0, size - 1), axis=axis)


def boolean_mask(x: Array, mask: Array, /, *, axis: int = 0, size: int | None = None, fill_value: Any = None) -> Array:
    xp = array_namespace(x)
    if size is not None:
        return masked(positions, x, mask, axis, size, fill_value)
    count = math.prod(mask.shape)
    flat = xp.reshape(x, (*x.shape[:axis], count, *x.shape[axis + mask.ndim :]))
    return xp.take(flat, xp.nonzero(xp.reshape(mask, (count,)))[0], axis=axis)


def nonzero(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Array, ...]:
    xp = array_namespace(x)
    if size is not None:
        return nonzero_padded(positions, x, size, fill_value)
    dtype = index_dtype(xp, checks.device_of(x))
    return tuple([xp.astype(part, dtype, copy=False) for part in xp.nonzero(x)])


def argwhere(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> Array:
    return array_namespace(x).stack(nonzero_of.native(x)(x, size=size, fill_value=fill_value), axis=1)


Positions: TypeAlias = Callable[[Array, int], Array]
"""Finds the first true positions of a mask with one axis. The length of the mask stands for missing positions."""


def masked(positions: Positions, x: Array, mask: Array, axis: int, size: int, fill_value: ArrayLike | None) -> Array:
    """Compute `boolean_mask` for a given size."""
    xp = array_namespace(x)
    before, after = tuple(x.shape[:axis]), tuple(x.shape[axis + mask.ndim :])
    count, shape = math.prod(mask.shape), (*before, size, *after)
    fill = row_kernels(x)._scalar(False if fill_value is None else fill_value)
    if 0 in shape or not count:
        return copied(xp.broadcast_to(fill, shape))
    index = positions(xp.reshape(mask, (count,)), size)
    inside = index < count
    flat = xp.reshape(x, (*before, count, *after))
    found = xp.take(flat, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    return xp.where(xp.reshape(inside, (-1,) + (1,) * len(after)), found, fill)


def nonzero_padded(positions: Positions, x: Array, size: int, fill_value: int) -> tuple[Array, ...]:
    """Compute `nonzero` for a given size."""
    xp = array_namespace(x)
    device = checks.device_of(x)
    dtype = index_dtype(xp, device)
    count = math.prod(x.shape)
    if not size or not count:
        return tuple([xp.full((size,), fill_value, dtype=dtype, device=device) for _ in x.shape])
    # The standard cannot cast complex numbers to booleans, or compare booleans with numbers.
    mask = x if xp.isdtype(x.dtype, "bool") else x != xp.zeros((), dtype=x.dtype, device=device)
    index = positions(xp.reshape(mask, (count,)), size)
    inside = index < count
    fill = xp.full((), fill_value, dtype=dtype, device=device)
    found = []
    stride = count
    for length in x.shape:
        stride //= length
        found.append(xp.where(inside, index // stride % length, fill))
    return tuple(found)


def positions(mask: Array, size: int) -> Array:
    xp = array_namespace(mask)
    device = checks.device_of(mask)
    dtype = index_dtype(xp, device)
    rank = xp.cumulative_sum(xp.astype(mask, dtype))
    return xp.astype(xp.searchsorted(rank, xp.arange(1, size + 1, dtype=dtype, device=device), side="left"), dtype)


def unravel_index(
    indices: Array, /, shape: Sequence[int], *, mode: Mode | None = None, fill_value: int = -1
) -> tuple[Array, ...]:
    xp = array_namespace(indices)
    count = math.prod(shape)
    index, dropped = _resolve("unravel_index", indices, count, mode, f"shape {tuple(shape)} with {count} elements")
    fill = xp.full((), fill_value, dtype=index.dtype, device=checks.device_of(index))
    inside = index < count
    found = []
    stride = count
    for axis, size in enumerate(shape):
        stride = stride // size if size else 1
        part = index // max(stride, 1)
        part = part % size if axis and size else part
        found.append(xp.where(inside, part, fill) if dropped else part)
    return tuple(found)


def ravel_multi_index(
    multi_index: Sequence[Array], /, shape: Sequence[int], *, mode: Mode | None = None, fill_value: int = -1
) -> Array:
    xp = array_namespace(multi_index[0])
    parts = [
        _resolve("ravel_multi_index", part, size, mode, f"axis {axis} of size {size}")
        for axis, (part, size) in enumerate(zip(multi_index, shape))
    ]
    flat = parts[0][0]
    for size, (part, _) in zip(shape[1:], parts[1:]):
        flat = flat * size + part
    tests = [part < size for size, (part, dropped) in zip(shape, parts) if dropped]
    if not tests:
        return flat
    fill = xp.full((), fill_value, dtype=flat.dtype, device=checks.device_of(flat))
    return xp.where(reduce(and_, tests), flat, fill)


def _resolve(function: str, index: Array, size: int, mode: Mode | None, where: str) -> tuple[Array, bool]:
    """Bring indices within bounds. Negative ones are out of bounds, since an offset has no end to count from."""
    bounds = row_kernels(index).bounds
    return resolve(function, array_namespace(index), index, size, mode, bounds, axis=where, from_end=False)
