"""The treatment of indices out of bounds, the same for all libraries."""

import math
from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from xpand import is_concrete
from xpand.extend import Array, Device, DType, Namespace, checks, default_dtype

Mode: TypeAlias = Literal["raise", "drop", "clip", "wrap", "fill"]
"""The treatment of indices out of bounds."""

MODES: Final = (None, "raise", "drop", "clip", "wrap", "fill")

Bounds: TypeAlias = Callable[[Array], tuple[int, int]]
"""Returns the smallest and the largest element of a concrete, non-empty integer array."""


def index_dtype(xp: Namespace, device: Device = None) -> DType:
    """Return the library's data type for indices on a device. `precision` does not change it."""
    return default_dtype(xp, "indexing", device)


def resolve(
    function: str,
    xp: Namespace,
    index: Array,
    size: int,
    mode: Mode | None,
    bounds: Bounds,
    *,
    axis: int | None,
    from_end: bool,
) -> tuple[Array, bool]:
    """Bring the indices of an integer array within `0 <= index < size`, as `mode` says.

    Args:
        function: The name for messages.
        xp: The namespace of `index`.
        index: Integers of any type and shape.
        size: The size of the axis.
        mode: As in `select`.
        bounds: As in `select`.
        axis: The indexed axis, for messages; None for segments.
        from_end: Whether negative numbers count from the end. Otherwise they are out of bounds.

    Returns:
        The index, in the library's data type for indices, and whether it may hold `size`, which marks dropped indices.
    """
    dtype = index.dtype if index.dtype == xp.int64 else index_dtype(xp, checks.device_of(index))
    empty = math.prod(index.shape) == 0
    if mode in (None, "raise"):
        if is_concrete(index):
            if empty:
                return xp.astype(index, dtype, copy=False), False
            low, high = bounds(index)
            if low < (-size if from_end else 0) or high >= size:
                raise out_of_bounds(function, high if high >= size else low, axis, size)
            index = xp.astype(index, dtype, copy=False)
            return (xp.where(index < 0, index + size, index) if low < 0 else index), False
        if mode == "raise":
            raise ValueError(
                f"{function}: mode='raise' needs the values of the indices, which aren't known here (under jit or "
                "vmap, or in a lazy array); omit mode to drop indices out of bounds, or choose 'drop', 'clip' or "
                "'wrap'"
            )
    if size == 0 and not empty and mode in ("clip", "wrap"):
        raise IndexError(f"{function}: mode={mode!r} has no index to move to: the size is 0")
    if checks.integer_range(xp, index.dtype)[1] > checks.integer_range(xp, dtype)[1]:
        # uint64: the conversion would make the largest numbers negative.
        cap = xp.full((), size, dtype=index.dtype, device=checks.device_of(index))
        index = xp.remainder(index, cap) if mode == "wrap" and size else xp.minimum(index, cap)
    index = xp.astype(index, dtype, copy=False)
    if mode == "wrap":
        return (
            index if empty else xp.remainder(index, xp.full((), size, dtype=dtype, device=checks.device_of(index)))
        ), False
    if from_end:
        index = xp.where(index < 0, index + size, index)
    if mode == "clip":
        return (index if empty else xp.clip(index, 0, size - 1)), False
    beyond = xp.full((), size, dtype=dtype, device=checks.device_of(index))
    return xp.where((index >= 0) & (index < size), index, beyond), True


def out_of_bounds(function: str, index: int, axis: int | None, size: int) -> IndexError:
    """Make the error for an index out of bounds."""
    if axis is None:
        where, first, modes = f"segment id {index} is out of bounds for num_segments={size}", 0, "'clip' or 'wrap'"
    else:
        where, first, modes = (
            f"index {index} is out of bounds for axis {axis} of size {size}",
            -size,
            "'clip', 'wrap' or 'fill'",
        )
    if not size:
        return IndexError(f"{function}: {where}, which takes none; choose mode='drop' to ignore it")
    return IndexError(f"{function}: {where}; takes {first} to {size - 1}, or choose mode='drop', {modes}")
