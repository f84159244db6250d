"""Distributions without parameters for any library, in terms of uniform and normal numbers."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace

from ..._sums import plain_sum
from ...random._keys import bits
from ...random._uniform import normal, uniform


def exponential(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    return -xp.log1p(-uniform(key, shape, dtype=dtype))


def gumbel(key: Array, /, shape: Any = (), dtype: DType | None = None, mode: Any = None) -> Array:
    xp = array_namespace(key)
    info = xp.finfo(dtype)
    if mode == "highest" and dtype == xp.float32:
        return _gumbel_of_integers(xp, key, shape)
    if mode == "low":
        return -xp.log(-xp.log(uniform(key, shape, dtype=dtype, minval=float(info.smallest_normal), maxval=1.0)))
    both = uniform(key, (2, *shape), dtype=dtype)
    high, low = both[0, ...], both[1, ...]
    fine = float(info.eps) * low + float(info.smallest_normal)
    return -xp.log(-xp.log1p(-xp.where(high >= 0.5, high, high + fine)))


def _gumbel_of_integers(xp: Namespace, key: Array, shape: tuple[int, ...]) -> Array:
    """Take 64 bits for a sample, and of them, or of 1 less them, 24 from the first that is set."""
    words = bits(key, (2, *shape), dtype=xp.uint32)
    words = xp.astype(words, xp.int64)
    high, low = words[0, ...], words[1, ...]
    is_low = high < 2**31
    borrow = xp.where(low == 0, xp.zeros_like(low), xp.ones_like(low))
    x = _truncated(xp, xp.where(is_low, high, 2**32 - high - borrow), xp.where(is_low, low, borrow * 2**32 - low))
    # Each logarithm takes what is below 1/2, where it is exact.
    low_ = -xp.log(-xp.log1p(-xp.where(is_low, x, 0.25 * xp.ones_like(x))))
    return xp.where(is_low, low_, -xp.log(-xp.log(xp.where(is_low, 0.25 * xp.ones_like(x), x))))


def _truncated(xp: Namespace, high: Array, low: Array) -> Array:
    """Make float32 of (2³² high + low) / 2⁶⁴, rounded towards 0; 2⁻⁶⁵ of 0."""
    # Exact in float64: where there are more than 53 bits, the last are not among the 24 that count.
    low = xp.where(high < 2**21, low, low // 2**11 * 2**11)
    wide = xp.astype(high, xp.float64) * 2.0**-32 + xp.astype(low, xp.float64) * 2.0**-64
    narrow = xp.astype(wide, xp.float32)
    # The product is the next smaller number, whatever the mantissa.
    narrow = xp.where(xp.astype(narrow, xp.float64) > wide, narrow * (1.0 - 2.0**-24), narrow)
    return xp.where(narrow == 0.0, xp.full_like(narrow, 2.0**-65), narrow)


def laplace(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    info = xp.finfo(dtype)
    u = uniform(key, shape, dtype=dtype, minval=-1.0 + 0.5 * float(info.eps), maxval=1.0)
    return xp.sign(u) * xp.log1p(-xp.abs(u))


def logistic(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    u = uniform(key, shape, dtype=dtype, minval=float(xp.finfo(dtype).smallest_normal), maxval=1.0)
    return xp.log(u) - xp.log1p(-u)


def cauchy(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    u = uniform(key, shape, dtype=dtype, minval=float(xp.finfo(dtype).eps), maxval=1.0)
    return xp.tan(math.pi * (u - 0.5))


def maxwell(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    x = normal(key, (*shape, 3), dtype=dtype)
    return xp.sqrt(plain_sum(xp, x * x, axis=-1))
