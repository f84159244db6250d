"""Uniform and normal numbers, integers and booleans for any library, from the bits that a key makes.

Unsigned integers are added and compared by functions, since PyTorch has no operators for the larger ones.
"""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import DType, LibraryArray as Array, Namespace, checks

from ...arithmetic import integer_width
from ...random._arguments import arrays_of, plain_dtype, probability_dtype
from ...random._keys import bits, split
from ...random._uniform import bernoulli as _bernoulli, normal as _normal, uniform as _uniform
from ._continuous import scaled
from ._normal import lowest, normal_of


def fractions(xp: Namespace, key: Array, shape: tuple[int, ...], dtype: DType) -> Array:
    """Make multiples of epsilon from 0 to below 1."""
    info = xp.finfo(dtype)
    mantissa = -round(math.log2(float(info.eps)))
    width = 8 if mantissa < 8 else info.bits
    words = bits.native(key)(key, shape, plain_dtype(xp, getattr(xp, f"uint{width}")))
    # This is exact: there are at most as many bits as in the mantissa.
    return xp.astype(xp.bitwise_right_shift(words, width - mantissa), dtype) * 2.0**-mantissa


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
    xp = array_namespace(key)
    return scaled(key, fractions(xp, key, shape, dtype), minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    if xp.isdtype(dtype, "complex floating"):
        real = xp.real(xp.zeros(0, dtype=dtype)).dtype
        x, y = (_normal.native(each)(each, shape, real) for each in _two(key))
        return (xp.astype(x, dtype) + xp.astype(y, dtype) * 1j) / math.sqrt(2.0)
    u = _uniform.native(key)(key, shape, dtype, lowest(float(xp.finfo(dtype).eps)), 1.0)
    return normal_of(xp, u, dtype)


def _two(key: Array) -> tuple[Array, Array]:
    keys = split.native(key)(key, (2,))
    return keys[..., 0, :], keys[..., 1, :]


def randint(key: Array, /, shape: Any, minval: Any, maxval: Any, dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    # In narrower types, a remainder would favour small numbers.
    width = max(32, integer_width(xp, dtype))
    unsigned = plain_dtype(xp, xp.uint32 if width == 32 else xp.uint64)
    full = shape or (1,)  # NumPy warns if scalars wrap
    higher, lower = (bits.native(each)(each, full, unsigned) for each in _two(key))
    limits = checks.integer_range(xp, dtype)
    if arrays_of(minval, maxval):
        first, span = spans(xp, key, minval, maxval, limits, xp.int32 if width > integer_width(xp, dtype) else dtype)
        offset = offsets(xp, higher, lower, xp.astype(span, unsigned), width)
        first = xp.astype(first, unsigned)
    else:
        first, known = known_span(minval, maxval, limits, width)
        offset = offsets_of_known(xp, higher, lower, known, width)
    return xp.reshape(xp.astype(xp.add(offset, first), dtype), shape)


def known_span(minval: int, maxval: int, limits: tuple[int, int], width: int) -> tuple[int, int]:
    """Return the first integer, modulo 2**width, and the number of integers."""
    low, high = limits
    first = min(max(minval, low), high)
    last = min(max(maxval, low), high + 1)
    return first % 2**width, max(last - first, 1)


def offsets_of_known(xp: Namespace, higher: Array, lower: Array, span: int, width: int) -> Array:
    """Compute numbers of twice the width modulo a number, with all steps in the single width."""
    if span == 2**width:
        return lower
    multiplier = (2 ** (width // 2) % span) ** 2 % 2**width % span
    if not multiplier:
        return xp.remainder(lower, span)
    return xp.remainder(xp.add(xp.multiply(xp.remainder(higher, span), multiplier), xp.remainder(lower, span)), span)


def spans(
    xp: Namespace, key: Array, minval: Array | int, maxval: Array | int, limits: tuple[int, int], sampled: DType
) -> tuple[Array, Array]:
    """Return the first integers and the numbers of integers, modulo 2**width, in the data type of the bounds."""
    low, high = limits
    # If the bounds have a wider type, the upper bound may be one above the largest integer.
    most = min(high + 1, checks.integer_range(xp, sampled)[1])
    first = _clipped(xp, key, minval, low, high, sampled)
    last = _clipped(xp, key, maxval, low, most, sampled)
    span = xp.subtract(last, first)
    if most == high:
        span = xp.add(span, xp.astype(_exceeds(xp, key, maxval, high), sampled))
    return first, xp.where(xp.greater(last, first), span, xp.ones_like(span))


def _clipped(xp: Namespace, key: Array, x: Any, low: int, high: int, dtype: DType) -> Array:
    if not checks.is_array(x):
        return xp.asarray([min(max(x, low), high)], dtype=dtype, device=checks.device_of(key))
    least, most = checks.integer_range(xp, x.dtype)
    # Make an array, since NumPy warns if a scalar wraps.
    return xp.astype(xp.clip(xp.reshape(x, x.shape or (1,)), max(low, least), min(high, most)), dtype)


def _exceeds(xp: Namespace, key: Array, x: Any, high: int) -> Array:
    if not checks.is_array(x) or checks.integer_range(xp, x.dtype)[1] <= high:
        exceeds = not checks.is_array(x) and x > high
        return xp.asarray([exceeds], dtype=xp.bool, device=checks.device_of(key))
    return xp.reshape(xp.greater(x, high), x.shape or (1,))


def offsets(xp: Namespace, higher: Array, lower: Array, span: Array, width: int) -> Array:
    """Compute numbers of twice the width modulo others, with all steps in the single width."""
    one = xp.ones_like(span)
    none = xp.equal(span, 0)
    divisor = xp.where(none, one, span)
    multiplier = xp.remainder(xp.bitwise_left_shift(one, width // 2), divisor)
    multiplier = xp.remainder(xp.multiply(multiplier, multiplier), divisor)
    product = xp.multiply(xp.remainder(higher, divisor), multiplier)
    return xp.where(none, lower, xp.remainder(xp.add(product, xp.remainder(lower, divisor)), divisor))


def bernoulli(key: Array, /, p: Array | float = 0.5, shape: Any = None, mode: Any = "low") -> Array:
    xp = array_namespace(key)
    dtype = probability_dtype(xp, p)
    if mode == "low":
        return _uniform.native(key)(key, shape, dtype) < p
    both = _uniform.native(key)(key, (2, *shape), dtype)
    return both[1, ...] * float(xp.finfo(both.dtype).eps) < p - both[0, ...]


def rademacher(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    return 2 * xp.astype(_bernoulli.native(key)(key, 0.5, shape), dtype) - 1
