"""Slices with dynamic starts, and repeated elements, with the standard alone."""

from collections.abc import Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions._index import Basic
from xpand_extensions._rows import copied, row_kernels
from xpand_extensions.indexing._slice import SliceMode

from ..scatter._offsets import segment_ids


def dynamic_slice(x: Array, /, starts: Any, sizes: Any, *, strides: Any = None, mode: Any = None) -> Array:
    assert strides is not None, "the facade fills them in"
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


def repeat(
    x: Array, /, repeats: int | Array, *, axis: int | None = None, total_repeat_length: int | None = None
) -> Array:
    assert axis is not None, "the facade fills it in"
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
