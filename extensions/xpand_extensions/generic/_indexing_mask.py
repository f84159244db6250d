"""Selections by a mask with the standard alone."""

import math

from xpand import _arguments, array_namespace
from xpand._typing import Array, Scalar
from xpand_extensions._bounds import index_dtype

from ._rows import kin


def boolean_mask(
    x: Array,
    mask: Array,
    /,
    *,
    axis: int = 0,
    size: int | None = None,
    fill_value: Array | Scalar | None = None,
) -> Array:
    xp = array_namespace(x)
    before, after = tuple(x.shape[:axis]), tuple(x.shape[axis + mask.ndim :])
    count = math.prod(mask.shape)
    flat = xp.reshape(x, (*before, count, *after))
    mask = xp.reshape(mask, (count,))
    if size is None:
        return xp.take(flat, xp.nonzero(mask)[0], axis=axis)
    shape = (*before, size, *after)
    fill = kin(x)._scalar(False if fill_value is None else fill_value)
    if 0 in shape or not count:
        return xp.asarray(xp.broadcast_to(fill, shape), copy=True)
    index = places(mask, size)
    inside = index < count
    found = xp.take(flat, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    return xp.where(xp.reshape(inside, (-1,) + (1,) * len(after)), found, fill)


def nonzero(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Array, ...]:
    xp = array_namespace(x)
    device = _arguments.device_of(x)
    dtype = index_dtype(xp, device)
    if size is None:
        return tuple([xp.astype(part, dtype, copy=False) for part in xp.nonzero(x)])
    count = math.prod(x.shape)
    if not size or not count:
        return tuple([xp.full((size,), fill_value, dtype=dtype, device=device) for _ in x.shape])
    index = places(xp.reshape(xp.astype(x, xp.bool, copy=False), (count,)), size)
    inside = index < count
    fill = xp.full((), fill_value, dtype=dtype, device=device)
    found = []
    stride = count
    for length in x.shape:
        stride //= length
        found.append(xp.where(inside, index // stride % length, fill))
    return tuple(found)


def argwhere(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> Array:
    return array_namespace(x).stack(nonzero(x, size=size, fill_value=fill_value), axis=1)


def places(mask: Array, size: int) -> Array:
    """Find the first places where a mask holds, then its length as often as places are missing."""
    xp = array_namespace(mask)
    device = _arguments.device_of(mask)
    dtype = index_dtype(xp, device)
    rank = xp.cumulative_sum(xp.astype(mask, dtype))
    return xp.astype(xp.searchsorted(rank, xp.arange(1, size + 1, dtype=dtype, device=device), side="left"), dtype)
