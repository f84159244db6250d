"""Selections by a mask with the standard alone."""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, ArrayLike, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions._rows import copied, row_kernels


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
    return array_namespace(x).stack(nonzero(x, size=size, fill_value=fill_value), axis=1)


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
