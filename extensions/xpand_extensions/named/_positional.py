"""Positional functions that the standard and the capabilities lack."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks, is_array

from ..arithmetic import promote


def copy(x: Array, /) -> Array:
    """Copy the elements."""
    return array_namespace(x).asarray(x, copy=True)


def astype(x: Array, /, *, dtype: DType) -> Array:
    """Convert to a data type of the library, which may be given by name."""
    xp = array_namespace(x)
    return xp.astype(x, checks.named_dtype("astype", xp, dtype))


def _is_complex(xp: Namespace, x: Array) -> bool:
    return bool(xp.isdtype(x.dtype, "complex floating"))


def real(x: Array, /) -> Array:
    """Return the real part."""
    xp = array_namespace(x)
    return xp.real(x) if _is_complex(xp, x) else x


def imag(x: Array, /) -> Array:
    """Return the imaginary part, zero for real numbers."""
    xp = array_namespace(x)
    return xp.imag(x) if _is_complex(xp, x) else xp.zeros_like(x)


def iscomplex(x: Array, /) -> Array:
    """Return whether imaginary parts are not zero."""
    xp = array_namespace(x)
    return xp.imag(x) != 0 if _is_complex(xp, x) else xp.zeros_like(x, dtype=xp.bool)


def isreal(x: Array, /) -> Array:
    """Return whether imaginary parts are zero."""
    xp = array_namespace(x)
    return xp.imag(x) == 0 if _is_complex(xp, x) else xp.ones_like(x, dtype=xp.bool)


def isposinf(x: Array, /) -> Array:
    """Return whether real numbers are positive infinity."""
    return _is_infinity(x, math.inf)


def isneginf(x: Array, /) -> Array:
    """Return whether real numbers are negative infinity."""
    return _is_infinity(x, -math.inf)


def _is_infinity(x: Array, infinity: float) -> Array:
    xp = array_namespace(x)
    return x == infinity if xp.isdtype(x.dtype, "real floating") else xp.zeros_like(x, dtype=xp.bool)


def around(x: Array, /, *, decimals: int = 0) -> Array:
    """Round to a number of decimals."""
    xp = array_namespace(x)
    if decimals == 0:
        return xp.round(x)
    if xp.isdtype(x.dtype, "integral"):
        return x if decimals > 0 else _rounded_integers(xp, x, 10 ** abs(decimals))
    scale = 10.0 ** abs(decimals)
    return xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale


def _rounded_integers(xp: Namespace, x: Array, scale: int) -> Array:
    """Round integers to multiples of a number, halves to even multiples."""
    if scale > xp.iinfo(x.dtype).max:
        return xp.zeros_like(x)
    quotient = x // scale
    rest = x - quotient * scale
    is_up = (rest > scale - rest) | ((rest == scale - rest) & (quotient % 2 == 1))
    return (quotient + xp.astype(is_up, x.dtype)) * scale


def _both(x1: Any, x2: Any) -> tuple[Namespace, Array, Array]:
    x1, x2 = promote(x1, x2)
    return array_namespace(x1, x2), x1, x2


def float_power(x1: Any, x2: Any, /) -> Array:
    """Compute powers in at least double precision."""
    arrays = [x for x in (x1, x2) if is_array(x)]
    xp = array_namespace(*arrays)
    is_complex = isinstance(x1, complex) or isinstance(x2, complex) or any(_is_complex(xp, x) for x in arrays)
    kind = "complex floating" if is_complex else "real floating"
    available = xp.__array_namespace_info__().dtypes(kind=kind)  # JAX may have no 64-bit types
    dtype = max(available.values(), key=lambda dtype: xp.finfo(dtype).bits)
    x1, x2 = [xp.astype(x, dtype) if is_array(x) else x for x in (x1, x2)]
    return xp.pow(x1, x2)


def fmax(x1: Any, x2: Any, /) -> Array:
    """Return the larger element; if one is NaN, the other."""
    xp, x1, x2 = _both(x1, x2)
    return _number_of(xp, xp.maximum(x1, x2), x1, x2)


def fmin(x1: Any, x2: Any, /) -> Array:
    """Return the smaller element; if one is NaN, the other."""
    xp, x1, x2 = _both(x1, x2)
    return _number_of(xp, xp.minimum(x1, x2), x1, x2)


def _number_of(xp: Namespace, found: Array, x1: Array, x2: Array) -> Array:
    if not xp.isdtype(found.dtype, "real floating"):
        return found
    return xp.where(xp.isnan(x1), x2, xp.where(xp.isnan(x2), x1, found))


def logaddexp2(x1: Any, x2: Any, /) -> Array:
    """Compute log2(2**x1 + 2**x2)."""
    xp, x1, x2 = _both(x1, x2)
    scale = math.log(2.0)
    return xp.logaddexp(x1 * scale, x2 * scale) / scale


def frexp(x: Array, /) -> tuple[Array, Array]:
    """Split x = mantissa * 2**exponent into mantissas, with absolute values in [0.5, 1), and exponents."""
    xp = array_namespace(x)
    # Scale subnormal numbers to find the exponent, because their logarithm is inexact.
    info = xp.finfo(x.dtype)
    tiny = xp.abs(x) < info.smallest_normal
    digits = round(-math.log2(info.eps))
    scaled = xp.where(tiny, xp.where(tiny, x, xp.zeros_like(x)) * 2.0**digits, x)
    usable = xp.isfinite(x) & (x != 0)
    safe = xp.abs(xp.where(usable, scaled, xp.ones_like(x)))
    exponent = xp.floor(xp.log2(safe)) + 1
    # Two steps, because 2**exponent overflows for the largest numbers.
    half = xp.floor(exponent / 2)
    mantissa = safe / _power_of_two(xp, half) / _power_of_two(xp, exponent - half)
    # A rounded logarithm may be off by one.
    over, under = mantissa >= 1, mantissa < 0.5
    mantissa = xp.where(over, mantissa / 2, xp.where(under, mantissa * 2, mantissa))
    exponent = exponent + xp.astype(over, x.dtype) - xp.astype(under, x.dtype)
    exponent = exponent - xp.where(tiny, xp.full_like(x, digits), xp.zeros_like(x))
    mantissa = xp.where(usable, xp.where(x < 0, -mantissa, mantissa), x)
    return mantissa, xp.astype(xp.where(usable, exponent, xp.zeros_like(x)), xp.int32)


def _power_of_two(xp: Namespace, exponent: Array) -> Array:
    return xp.round(xp.pow(xp.full_like(exponent, 2.0), xp.abs(exponent))) ** xp.sign(exponent)


def clip(x: Array, low: Any = None, high: Any = None, /) -> Array:
    """Limit values from below and above; None sets no limit."""
    return array_namespace(*[each for each in (x, low, high) if is_array(each)]).clip(x, low, high)
