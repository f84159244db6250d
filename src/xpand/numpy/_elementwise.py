"""Elementwise functions with wrong special values in NumPy, and `clip`, whose result NumPy promotes."""

import cmath
from math import inf, isfinite, log1p as log1p_of_number
from typing import Any

import numpy as np

from .._common import complex as _complex
from .._common.limits import representable
from .._namespace import namespace_of_traced
from ..typing import LibraryArray as Array, Scalar

# Looked up once: reading an attribute of a module takes a tenth of a small call.
_ndarray, _divide, _floor_divide = np.ndarray, np.divide, np.floor_divide
_expm1, _log1p, _tanh = np.expm1, np.log1p, np.tanh

# Up to this size, a search in a Python list is faster than a ufunc and a reduction.
_SMALL = 32

# Up to this size, arithmetic with Python numbers is faster than tens of ufuncs.
_FEW = 16

# A few arrays of this size fit into a core's cache.
_BLOCK = 16384

_INFINITIES = frozenset((inf, -inf))

# Only these types are corrected. Other subclasses (masked arrays, arrays with units) get NumPy's own results.
_PLAIN = frozenset((np.ndarray, np.memmap, *np.sctypeDict.values(), bool, int, float, complex))

# Kinds of data types with the standard's rules of division. NumPy has other rules for durations and objects.
_REAL = "fiub"
_BOOL = np.dtype(bool)

# Types of bounds that do not promote a floating-point array.
_WEAK = frozenset((float, int, type(None)))


def _has_infinity(x: Any) -> bool:
    """Return whether an operand of a plain type has an infinity. Only floating-point data needs a pass over it."""
    if type(x) is np.ndarray or type(x) is np.memmap:
        if x.dtype.kind != "f":
            return False
        if x.size <= _SMALL:
            return not _INFINITIES.isdisjoint(x.ravel().tolist())
        return bool(np.isinf(x).any())
    return type(x) in _PLAIN and x in _INFINITIES


def _whole(x: Any) -> Array:
    """Return, for each element, whether it is an integer that double precision represents exactly."""
    return (np.floor(x) == x) & (np.abs(x) < 2**53)


def _floor_of_quotient(x1: Array, x2: Array) -> Array:
    """Return the floor division of many floating-point numbers, from the quotient instead of `fmod`.

    Rounding can raise the quotient to an integer, but not above. So its floor is correct unless the quotient is an
    integer. Then NumPy's exact algorithm is used (`1.0 // 0.1` is 9), except for integers divided by integers, whose
    quotients are never so close to the next integer. NumPy's algorithm takes tens of times as long as a division, so
    this is faster than `np.floor_divide` for most data, and as fast in the worst case.

    If an operand is infinite, the quotient satisfies the standard's special cases of `floor_divide`: "If x1_i is
    +infinity and x2_i is a positive finite number", and the following ones.
    """
    quotient = _divide(x1, x2)
    result = np.floor(quotient)
    doubtful = result == quotient
    if doubtful.any():
        doubtful &= np.isfinite(quotient)
        doubtful &= np.isfinite(x2)
        if result.dtype.char == "d":
            doubtful &= ~(_whole(x1) & _whole(x2))
        with np.errstate(all="ignore"):  # the division has already raised all warnings
            _floor_divide(x1, x2, out=result, where=doubtful)
    return result


def _in_blocks(x1: Array, x2: Array) -> Array:
    """Compute `_floor_of_quotient` in blocks. Their intermediate results fit into the cache: five times as fast."""
    arrays = [x for x in (x1, x2) if np.ndim(x)]
    shape = arrays[0].shape
    if arrays[0].size <= _BLOCK or any(x.shape != shape or not x.flags.c_contiguous for x in arrays):
        return _floor_of_quotient(x1, x2)
    result = np.empty(shape, np.result_type(x1, x2))
    flat = result.reshape(-1)
    x1, x2 = (np.asarray(x).reshape(-1) if np.ndim(x) else x for x in (x1, x2))
    for start in range(0, flat.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        flat[block] = _floor_of_quotient(*(x[block] if np.ndim(x) else x for x in (x1, x2)))
    return result


def _correct_infinities(x1: Array, x2: Array) -> Array:
    infinite = np.isinf(x1) | np.isinf(x2)
    result = np.empty(infinite.shape, np.result_type(x1, x2))
    _floor_divide(x1, x2, out=result, where=~infinite)
    _divide(x1, x2, out=result, where=infinite)
    return result[()]


def _is_real(x: Any) -> bool:
    return type(x) in _PLAIN and getattr(x, "dtype", _BOOL).kind in _REAL and type(x) is not complex


def _floor_divide_any(x1: Array, x2: Array) -> Array:
    if not (_is_real(x1) and _is_real(x2) and np.result_type(x1, x2).kind == "f"):
        return _floor_divide(x1, x2)
    if max(np.size(x1), np.size(x2)) > _SMALL:
        return _in_blocks(x1, x2)
    return _correct_infinities(x1, x2) if _has_infinity(x1) or _has_infinity(x2) else _floor_divide(x1, x2)


def floor_divide(x1: Array, x2: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
    """Return the floor of the quotient; for an infinite operand the limit, not NaN or -1 as in `np.floor_divide`.

    The special cases are "If x1_i is +infinity and x2_i is a positive finite number, the result is +infinity" and the
    following ones in the standard's `floor_divide`. `out` and the keywords are the same as for the ufunc.
    """
    if out is not None or kwargs:
        if _has_infinity(x1) or _has_infinity(x2):
            return np.positive(_floor_divide_any(x1, x2), out, **kwargs)
        return _floor_divide(x1, x2, out, **kwargs)
    # A shortcut for two small arrays, or one and a number, without the checks of the general case.
    if type(x1) is _ndarray and x1.size <= _SMALL:
        if type(x2) is _ndarray:
            if x2.size <= _SMALL:
                k1, k2 = x1.dtype.kind, x2.dtype.kind
                if (k1 != "f" and k2 != "f") or k1 not in _REAL or k2 not in _REAL:
                    return _floor_divide(x1, x2)
                total = sum(x1.ravel().tolist(), sum(x2.ravel().tolist()))
                if isfinite(total):
                    return _floor_divide(x1, x2)
        elif type(x2) is float or type(x2) is int:
            if x1.dtype.kind not in _REAL:
                return _floor_divide(x1, x2)
            total = sum(x1.ravel().tolist(), x2)
            if isfinite(total):
                return _floor_divide(x1, x2)
    return _floor_divide_any(x1, x2)


def _combine(re: Array, im: Array) -> Array:
    result = np.empty(re.shape, np.result_type(re, np.complex64))
    result.real, result.imag = re, im
    return result


def _has_special(x: Array, zeros: bool) -> bool:
    """Return whether a complex array has infinities, NaNs or (with `zeros`) zeros."""
    if x.size > _SMALL:
        return not np.isfinite(x).all() or (zeros and not x.all())
    values = x.ravel().tolist()
    # If the sum overflows, ordinary values get the slower formula, with the same result.
    return not cmath.isfinite(sum(values)) or (zeros and 0 in values)


def _plain_complex(x: Any) -> Array | None:
    """Return a complex array or number of a plain type as an array, and None for others."""
    if type(x) is not _ndarray and type(x) not in _PLAIN:
        return None
    x = np.asarray(x)
    return x if x.dtype.kind == "c" else None


def _expm1_special(x: Array) -> Array:
    result = np.asarray(_complex.expm1(x, np, _combine))
    # "If a is either +0 or -0 and b is +0, the result is 0 + 0j": adding +0 to -0 gives +0.
    result.real += 0.0
    return result[()]


def expm1(x: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
    """Return `exp(x) - 1`, with the standard's special cases for complex zeros, infinities and NaNs."""
    if type(x) is _ndarray and x.dtype.kind == "f":
        return _expm1(x, out, **kwargs) if kwargs or out is not None else _expm1(x)
    z = _plain_complex(x)
    if z is not None and _has_special(z, zeros=True):
        with np.errstate(all="ignore"):
            return np.positive(_expm1_special(z), out, **kwargs)
    return _expm1(x, out, **kwargs)


def tanh(x: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
    """Return the hyperbolic tangent, with the standard's special cases for complex infinities and NaNs."""
    if type(x) is _ndarray and x.dtype.kind == "f":
        return _tanh(x, out, **kwargs) if kwargs or out is not None else _tanh(x)
    z = _plain_complex(x)
    if z is not None and _has_special(z, zeros=False):
        with np.errstate(all="ignore"):
            return np.positive(_complex.tanh(z, np, _combine), out, **kwargs)
    return _tanh(x, out, **kwargs)


def log1p(x: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
    """Return `log(1 + x)`, also accurate for small complex numbers; NumPy's loses their real part."""
    if type(x) is _ndarray and x.dtype.kind == "f":
        return _log1p(x, out, **kwargs) if kwargs or out is not None else _log1p(x)
    z = _plain_complex(x)
    if z is None or z.dtype.char == "G":
        return _log1p(x, out, **kwargs)
    result = np.asarray(_log1p(z))
    if z.size <= _FEW:
        for i, (number, found) in enumerate(zip(z.ravel().tolist(), result.ravel().tolist(), strict=True)):
            if abs(found.real) < _complex.NEAR:
                result.flat[i] = complex(_complex.log_of_size(number.real, number.imag, log1p_of_number), found.imag)
    elif (near := np.abs(result.real) < _complex.NEAR).any():
        with np.errstate(all="ignore"):
            size = _complex.log_of_size(z.real.astype(np.float64), z.imag.astype(np.float64), _log1p)
        np.copyto(result.real, size, where=near, casting="same_kind")
    return np.positive(result[()], out, **kwargs) if kwargs or out is not None else result[()]


def clip(
    x: Array,
    /,
    min: Array | Scalar | None = None,
    max: Array | Scalar | None = None,
    *,
    out: Array | None = None,
    **kwargs: Any,
) -> Array:
    """Limit the values of `x` to the interval from `min` to `max`; the result has the data type of `x`.

    Bounds out of the range of an integer data type become its smallest or largest value. `out` must have the data type
    of `x`. The other keywords are the same as for `np.clip`.
    """
    dtype = x.dtype
    if out is not None and out.dtype != dtype:
        raise ValueError(f"clip: out must have the data type of x, {dtype}, got {out.dtype}")
    if dtype.kind == "f":
        try:
            if type(min) not in _WEAK:
                min = np.asarray(min, dtype=dtype)
            if type(max) not in _WEAK:
                max = np.asarray(max, dtype=dtype)
        except TypeError:
            traced = namespace_of_traced(min, max)
            if traced is None or out is not None or kwargs:
                raise
            return traced.clip(x, min, max)
    else:
        min, max = representable(min, dtype, np), representable(max, dtype, np)
    if min is None and max is None:
        if out is None:
            return x.copy()[()]
        np.copyto(out, x)
        return out
    return x.clip(min, max, out=out, **kwargs)
