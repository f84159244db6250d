"""Division with the standard alone."""

import math

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks


def divide_no_nan(x: Array, y: Array, /) -> Array:
    xp = array_namespace(x)
    zero = y == 0
    # Divide zero by one instead of replacing the result: NumPy would warn, and derivatives would be NaN.
    return xp.divide(xp.where(zero, xp.zeros_like(x), x), xp.where(zero, xp.ones_like(y), y))


def quotient(x: Array, y: Array, /) -> Array:
    xp = array_namespace(x)
    return _truncated(xp, x, y)[0]


def truncated_remainder(x: Array, y: Array, /) -> Array:
    xp = array_namespace(x)
    if checks.kind(xp, x.dtype) != "real":
        return _truncated(xp, x, y)[1]
    size = xp.abs(x)
    defined = xp.isfinite(size) & (y != 0) & ~xp.isnan(y)
    bounded = defined & ~xp.isinf(y)
    part = xp.remainder(xp.where(bounded, size, xp.zeros_like(size)), xp.where(bounded, xp.abs(y), xp.ones_like(y)))
    return xp.where(defined, xp.copysign(xp.where(bounded, part, size), x), math.nan)


def _truncated(xp: Namespace, x: Array, y: Array) -> tuple[Array, Array]:
    """Divide integers. Divisors 0 and -1 are handled separately, since libraries warn, raise or crash for them."""
    zero = xp.equal(y, xp.zeros_like(y))
    if checks.kind(xp, x.dtype) == "unsigned":
        divisor = xp.where(zero, xp.ones_like(y), y)
        whole, rest = xp.floor_divide(x, divisor), xp.remainder(x, divisor)
    else:
        minus_one = y == -1
        divisor = xp.where(zero | minus_one, xp.ones_like(y), y)
        whole, rest = xp.floor_divide(x, divisor), xp.remainder(x, divisor)
        rounded_down = (rest != 0) & ((x < 0) != (divisor < 0))
        whole = whole + xp.astype(rounded_down, whole.dtype)
        rest = xp.where(rounded_down, rest - divisor, rest)
        # The negative of the smallest number overflows to itself.
        smallest = checks.integer_range(xp, x.dtype)[0]
        negated = -xp.where(x == smallest, xp.zeros_like(x), x)
        whole = xp.where(minus_one, xp.where(x == smallest, x, negated), whole)
    return xp.where(zero, xp.zeros_like(whole), whole), xp.where(zero, x, rest)
