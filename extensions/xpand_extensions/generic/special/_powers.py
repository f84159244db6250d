"""Powers, roots and sinc in terms of the standard."""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, checks
from xpand_extensions._width import widened

from .._rational import polynomial

# sin(πx)/(πx) in x², to 1e-18 for |x| <= 1/4.
_SINC: Final = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(10))


@widened
def sinc(x: Array, /) -> Array:
    xp = array_namespace(x)
    near = xp.abs(x) < 0.25
    series = polynomial(xp.where(near, x, 0.0) ** 2, _SINC)
    # sin(πx) of the fraction of x, of which only the sign matters: exact for large x.
    y = xp.where(near | xp.isinf(x), 1.0, x)
    whole = xp.round(y)
    sign = 1.0 - 2.0 * (whole - 2.0 * xp.floor(0.5 * whole))
    far = sign * xp.sin(math.pi * (y - whole)) / math.pi / y
    return xp.where(near, series, far)


@widened
def cbrt(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    ordinary = (a > 0.0) & (a < xp.inf)
    a = xp.where(ordinary, a, 1.0)
    y = a ** (1.0 / 3.0)
    y = y - (y - a / (y * y)) / 3.0  # a step of Newton's: 1/3 was rounded, which large exponents show
    y = xp.where(x < 0.0, -y, y)
    # The square root's derivative at 0 is infinite, too.
    zero = xp.sqrt(xp.where(x == 0.0, x, 1.0))
    infinite = xp.where(x > 0.0, xp.inf, xp.where(x < 0.0, -xp.inf, xp.full_like(x, xp.nan)))
    end = xp.where(x == 0.0, zero, infinite)
    return xp.where(ordinary, y, end)


@widened
def rsqrt(x: Array, /) -> Array:
    xp = array_namespace(x)
    positive = x > 0.0
    end = xp.where(x == 0.0, xp.copysign(xp.full_like(x, xp.inf), x), xp.full_like(x, xp.nan))
    return xp.where(positive, 1.0 / xp.sqrt(xp.where(positive, x, 1.0)), end)


@widened
def exp2(x: Array, /) -> Array:
    xp = array_namespace(x)
    return xp.pow(xp.asarray(2.0, dtype=x.dtype, device=checks.device_of(x)), x)
