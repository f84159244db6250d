"""Elementwise functions with wrong special values in CuPy, and `clip`, whose result CuPy promotes.

These functions never wait for the device: they select by data type, not by values.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import cupy as cp

from .._common import complex as _complex
from .._common.division import remainder as _remainder
from .._common.limits import representable
from ..typing import Array, Namespace, Scalar

# Types of bounds that do not promote a floating-point array.
_WEAK = frozenset((float, int, type(None)))


def _combine(re: Array, im: Array) -> Array:
    result = cp.empty(re.shape, cp.result_type(re.dtype, cp.complex64))
    result.real, result.imag = re, im
    return result


# CuPy's own functions under the standard's names, for the formulas in `_common`.
_SAME = "abs copysign cos cosh exp full_like imag isfinite isinf isnan log log1p real signbit sin sinh sqrt tanh where"
_NATIVE = cast(
    Namespace,
    SimpleNamespace(
        **{name: getattr(cp, name) for name in _SAME.split()},
        acosh=cp.arccosh,
        atan2=cp.arctan2,
        zeros_like=cp.zeros_like,
    ),
)


def _corrected(native: Any, correct: Callable[..., Array]) -> Callable[..., Array]:
    """Add the standard's special cases for complex zeros, infinities and NaNs to a function of CuPy."""

    def function(x: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
        if not isinstance(x, cp.ndarray) or x.dtype.kind != "c":
            return native(x, out=out, **kwargs)
        result = correct(x, _NATIVE, _combine)
        return result if out is None and not kwargs else cp.positive(result, out=out, **kwargs)

    function.__name__ = function.__qualname__ = correct.__name__.lstrip("_")
    function.__doc__ = correct.__doc__
    return function


def _log1p(x: Array, xp: Namespace, combine: Callable[[Array, Array], Array]) -> Array:
    """Return `log(1 + x)`. CuPy's own function adds the one first, which loses the real part of small numbers."""
    native = cast(Any, cp.log1p(x))
    a, b = cp.real(x).astype(float), cp.imag(x).astype(float)
    size = _complex.log_of_size(a, b, cp.log1p).astype(native.real.dtype)
    native = combine(cp.where(cp.abs(native.real) < _complex.NEAR, size, native.real), native.imag)
    return _complex.log1p(x, xp, combine, native)


acosh = _corrected(cp.arccosh, _complex.acosh)
log = _corrected(cp.log, _complex.log)
log1p = _corrected(cp.log1p, _log1p)
sqrt = _corrected(cp.sqrt, _complex.sqrt)
tanh = _corrected(cp.tanh, _complex.tanh)


def remainder(x1: Array, x2: Array, /, out: Array | None = None, **kwargs: Any) -> Array:
    """Return the remainder of floor division, with the sign of the divisor.

    CuPy's result is inexact for floating-point numbers, because it uses the rounded quotient. For an infinite divisor
    it is NaN, but the standard has "If x1_i is a positive finite number and x2_i is +infinity, the result is x1_i".
    """
    dtype = cp.result_type(x1, x2)
    if dtype.kind != "f":
        return cp.remainder(x1, x2, out=out, **kwargs)
    result = _remainder(cp.asarray(x1, dtype=dtype), cp.asarray(x2, dtype=dtype), cp)
    return result if out is None and not kwargs else cp.positive(result, out=out, **kwargs)


def clip(
    x: Array, /, min: Array | Scalar | None = None, max: Array | Scalar | None = None, *, out: Array | None = None
) -> Array:
    """Limit the values of `x` to the interval from `min` to `max`; the result has the data type of `x`.

    Bounds out of the range of an integer data type become its smallest or largest value. `out` must have the data type
    of `x`.
    """
    dtype = x.dtype
    if out is not None and out.dtype != dtype:
        raise ValueError(f"clip: out must have the data type of x, {dtype}, got {out.dtype}")
    if dtype.kind != "f" or type(min) not in _WEAK:
        min = representable(min, dtype, cp)
    if dtype.kind != "f" or type(max) not in _WEAK:
        max = representable(max, dtype, cp)
    # Unlike CuPy's `clip`, these two functions return NaN for a bound of NaN.
    result = x if min is None else cp.maximum(x, min)
    result = result if max is None else cp.minimum(result, max)
    return cp.positive(result, out=out) if out is not None or result is x else result
