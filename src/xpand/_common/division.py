"""Remainders of real floating-point numbers with the standard's special cases."""

from ..typing import Array, LibraryNamespace


def remainder(x1: Array, x2: Array, xp: LibraryNamespace) -> Array:
    """Return the exact remainder of floor division, with the sign of the divisor, by `xp.fmod`.

    The special cases are "If x1_i is a positive finite number and x2_i is -infinity, the result is x2_i", the similar
    ones, and those for zeros, which get the sign of the divisor.
    """
    result = xp.fmod(x1, x2)
    opposite = xp.signbit(result) != xp.signbit(x2)
    moved = xp.where(opposite & (result != 0), result + x2, result)
    return xp.where(result == 0, xp.copysign(result, x2), moved)
