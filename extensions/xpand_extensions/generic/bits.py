"""The bits of integers with the standard alone, which cannot view an array as another data type."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions.arithmetic import integer_width

from ._last_axis import from_last, to_last


def population_count(x: Array, /) -> Array:
    xp = array_namespace(x)
    bits = integer_width(xp, x.dtype)
    shift = 1
    while shift < bits:
        # Add neighbouring fields. The masks omit the highest bit, so signs don't matter.
        mask = _constant(xp, x, _mask(bits, shift))
        x = xp.add(xp.bitwise_and(x, mask), xp.bitwise_and(xp.bitwise_right_shift(x, _constant(xp, x, shift)), mask))
        shift *= 2
    return x


def _mask(bits: int, shift: int) -> int:
    """Return the number with alternating bits: `shift` zeros, the highest bits, then `shift` ones, and so on."""
    return sum((2**shift - 1) << start for start in range(0, bits, 2 * shift))


def _constant(xp: Namespace, x: Array, value: int) -> Array:
    return xp.full((), value, dtype=x.dtype, device=checks.device_of(x))


def count_leading_zeros(x: Array, /) -> Array:
    xp = array_namespace(x)
    bits = integer_width(xp, x.dtype)
    shift = 1
    while shift < bits:
        # Set every bit below the highest 1.
        x = xp.bitwise_or(x, xp.bitwise_right_shift(x, _constant(xp, x, shift)))
        shift *= 2
    return population_count(xp.bitwise_invert(x))


def shift_left(x: Array, n: Array, /) -> Array:
    xp = array_namespace(x)
    inside, positions = _positions(xp, x, n)
    shifted = xp.bitwise_left_shift(x, positions)
    return xp.where(inside, shifted, xp.zeros_like(shifted))


def shift_right(x: Array, n: Array, /) -> Array:
    xp = array_namespace(x)
    inside, positions = _positions(xp, x, n)
    last = _constant(xp, n, integer_width(xp, n.dtype) - 1)
    shifted = xp.bitwise_right_shift(x, xp.where(inside, positions, last))
    if checks.kind(xp, x.dtype) == "signed":
        return shifted
    return xp.where(inside, shifted, xp.zeros_like(shifted))


def shift_right_logical(x: Array, n: Array, /) -> Array:
    xp = array_namespace(x)
    if checks.kind(xp, x.dtype) == "unsigned":
        return shift_right(x, n)
    inside, positions = _positions(xp, x, n)
    # Shift by one, clear the sign, and shift the rest like a positive number.
    largest = _constant(xp, x, checks.integer_range(xp, x.dtype)[1])
    once = xp.bitwise_and(xp.bitwise_right_shift(x, xp.ones_like(x)), largest)
    more = xp.bitwise_right_shift(once, xp.where(positions > 0, positions - 1, positions))
    shifted = xp.where(positions == 0, x, more)
    return xp.where(inside, shifted, xp.zeros_like(shifted))


def _positions(xp: Namespace, x: Array, n: Array) -> tuple[Array, Array]:
    """Return a mask of the shifts smaller than the width of the type, and the shifts with all others replaced by 0."""
    inside = xp.less(n, _constant(xp, n, integer_width(xp, n.dtype)))
    if checks.kind(xp, n.dtype) == "signed":
        inside = inside & (n >= 0)
    return inside, xp.where(inside, n, xp.zeros_like(n))


def packbits(x: Array, /, *, axis: int | None = None, bitorder: Any = "big") -> Array:
    xp = array_namespace(x)
    x = xp.astype(x, xp.bool, copy=False)
    x = xp.reshape(x, (math.prod(x.shape),)) if axis is None else to_last(xp, x, axis)
    *rest, size = x.shape
    missing = -size % 8
    if missing:
        x = xp.concat([x, xp.zeros((*rest, missing), dtype=x.dtype, device=checks.device_of(x))], axis=-1)
    bits = xp.astype(xp.reshape(x, (*rest, (size + missing) // 8, 8)), xp.uint8)
    packed = xp.sum(xp.bitwise_left_shift(bits, _order(xp, bits, bitorder)), axis=-1, dtype=xp.uint8)
    return packed if axis is None else from_last(xp, packed, axis)


def unpackbits(x: Array, /, *, axis: int | None = None, count: int | None = None, bitorder: Any = "big") -> Array:
    xp = array_namespace(x)
    x = xp.reshape(x, (math.prod(x.shape),)) if axis is None else to_last(xp, x, axis)
    *rest, size = x.shape
    bits = xp.bitwise_right_shift(xp.expand_dims(x, axis=-1), _order(xp, x, bitorder))
    bits = xp.reshape(xp.bitwise_and(bits, _constant(xp, x, 1)), (*rest, 8 * size))
    if count is not None and count <= 8 * size:
        bits = bits[..., :count]
    elif count is not None:
        zeros = xp.zeros((*rest, count - 8 * size), dtype=x.dtype, device=checks.device_of(x))
        bits = xp.concat([bits, zeros], axis=-1)
    return bits if axis is None else from_last(xp, bits, axis)


def _order(xp: Namespace, x: Array, bitorder: str) -> Array:
    """Return the positions of the eight bits of a byte."""
    positions = xp.arange(8, dtype=xp.uint8, device=checks.device_of(x))
    return positions if bitorder == "little" else xp.flip(positions)
