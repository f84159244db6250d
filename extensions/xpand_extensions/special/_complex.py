"""Functions of complex numbers in terms of the standard, whose derivatives are then each library's own."""

import math

from xpand import array_namespace
from xpand.extend import Array


def rsqrt(z: Array) -> Array:
    xp = array_namespace(z)
    zero, infinite = z == 0.0, xp.isinf(z)
    # Elsewhere no division by zero or infinity, of which NumPy warns.
    ordinary = 1.0 / xp.sqrt(xp.where(zero | infinite, 1.0, z))
    return xp.where(zero, complex(math.inf, 0.0), xp.where(infinite, 0.0, ordinary))


def exp2(z: Array) -> Array:
    return array_namespace(z).exp(z * math.log(2.0))


def sigmoid(z: Array) -> Array:
    xp = array_namespace(z)
    left = xp.real(z) < 0.0
    e = xp.exp(xp.where(left, z, -z))  # at most 1, so that nothing overflows
    return xp.where(left, e, 1.0) / (1.0 + e)
