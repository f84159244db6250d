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
    axis: int | str | None,
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
        axis: The indexed axis, for messages; None for segments; another place, in which negative numbers are out of
            bounds, in words.
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
            raise needs_values(function, "the indices")
    if size == 0 and not empty and mode in ("clip", "wrap"):
        raise IndexError(f"{function}: mode={mode!r} has no index to move to: the size is 0")
    index = signed(xp, index, size, dtype, wraps=mode == "wrap")
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


def signed(xp: Namespace, index: Array, size: int, dtype: DType, *, wraps: bool) -> Array:
    """Convert an index to the data type for indices. Numbers beyond `size` stay beyond it, or wrap around."""
    if checks.integer_range(xp, index.dtype)[1] > checks.integer_range(xp, dtype)[1]:
        # uint64: the conversion would make the largest numbers negative.
        cap = xp.full((), size, dtype=index.dtype, device=checks.device_of(index))
        index = xp.remainder(index, cap) if wraps and size else xp.minimum(index, cap)
    return xp.astype(index, dtype, copy=False)


def checked_mode(function: str, name: str, mode: Mode, size_name: str, *, has_none: bool, concrete: bool) -> Mode:
    """Check that a mode can treat numbers out of bounds; return "drop" for "fill".

    Args:
        function: The name for messages.
        name: The numbers, for messages.
        mode: The given mode.
        size_name: The argument that is their bound, for messages.
        has_none: Whether there are numbers, but the bound is 0.
        concrete: Whether the values of the numbers are known.

    Raises:
        ValueError: The mode is "raise", and the values are not known.
        IndexError: The mode moves numbers, and the bound is 0.
    """
    if mode == "raise" and not concrete:
        raise needs_values(function, name)
    if mode in ("clip", "wrap") and has_none:
        raise IndexError(f"{function}: mode={mode!r} has nowhere to move {name} to: {size_name} is 0")
    return "drop" if mode == "fill" else mode


def needs_values(function: str, name: str) -> ValueError:
    """Make the error for the mode "raise" where values aren't known."""
    return ValueError(
        f"{function}: mode='raise' needs the values of {name}, which aren't known here (under jit or vmap, or in a "
        "lazy array); omit mode to drop those out of bounds, or choose 'drop', 'clip' or 'wrap'"
    )


def out_of_bounds(function: str, index: int, axis: int | str | None, size: int) -> IndexError:
    """Make the error for an index out of bounds."""
    modes = "'clip' or 'wrap'" if axis is None else "'clip', 'wrap' or 'fill'"
    first, place = 0, f"num_segments={size}" if axis is None else axis
    if isinstance(axis, int):
        first, place = -size, f"axis {axis} of size {size}"
    where = f"{'segment id' if axis is None else 'index'} {index} is out of bounds for {place}"
    if not size:
        return IndexError(f"{function}: {where}, which takes none; choose mode='drop' to ignore it")
    return IndexError(f"{function}: {where}; takes {first} to {size - 1}, or choose mode='drop', {modes}")
