"""Flat indices and multi-indices with the standard alone."""

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks
from xpand_extensions._bounds import Mode, resolve
from xpand_extensions._rows import row_kernels


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
    if mode in (None, "raise") and is_concrete(index):
        if math.prod(index.shape):
            low, high = bounds(index)
            if low < 0 or high >= size:
                found = high if high >= size else low
                takes = (
                    f"takes 0 to {size - 1}, or choose mode='fill', 'clip' or 'wrap'" if size else "choose mode='fill'"
                )
                raise IndexError(f"{function}: index {found} is out of bounds for {where}; {takes}")
        mode = "clip" if size else "drop"
    return resolve(function, array_namespace(index), index, size, mode, bounds, axis=0, from_end=False)
