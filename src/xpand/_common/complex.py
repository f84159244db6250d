"""Complex elementwise functions with the standard's special cases.

Each function computes the library's own result, and replaces it only for arguments that the standard lists under
*Special cases* and that libraries get wrong: infinities, NaNs, and for some functions zeros. Ordinary values keep the
library's accuracy and gradients, because the other branch gets safe values there.

`xp` is a namespace with the library's own functions. (xpand's namespace would call these functions again.)
`combine` makes complex numbers of two real arrays; the default uses only the standard's operations. `native` is the
library's own result, if the caller has already computed it.
"""

from collections.abc import Callable
from functools import partial
from math import inf, nan, pi
from typing import Any, TypeAlias

from ..typing import Array, Namespace

Parts: TypeAlias = tuple[Array, Array]
Combine: TypeAlias = Callable[[Array, Array], Array] | None


def _imaginary(b: Array, like: Array, xp: Namespace) -> Array:
    """Return the complex numbers `-0 + b j`. Adding the real part -0 changes no number.

    A product with `1j` turns infinities into NaN and loses signs of zeros, so these are replaced by constants.
    """
    lower = xp.astype(xp.where(xp.isfinite(b), -xp.abs(b), xp.zeros_like(b)), like.dtype) * 1j
    for found, value in (
        (b == 0, complex(-0.0, -0.0)),
        (xp.isinf(b), complex(-0.0, -inf)),
        (xp.isnan(b), complex(-0.0, nan)),
    ):
        lower = xp.where(found, xp.full_like(lower, value), lower)
    return xp.where(xp.signbit(b), lower, xp.conj(lower))


def combine_parts(a: Array, b: Array, like: Array, xp: Namespace) -> Array:
    """Return `a + b j` in the data type of `like`, where each part keeps its signed zeros, infinities and NaNs."""
    return xp.conj(xp.astype(a, like.dtype)) + _imaginary(b, like, xp)


def _finite(a: Array, b: Array, xp: Namespace) -> Array:
    return xp.isfinite(a) & xp.isfinite(b)


def _finite_nonzero(a: Array, b: Array, xp: Namespace) -> Array:
    return _finite(a, b, xp) & ((a != 0) | (b != 0))


def _corrected(
    x: Array,
    native: Array,
    special: Callable[[Array, Array, Namespace], Parts],
    xp: Namespace,
    combine: Combine,
    ordinary: Callable[[Array, Array, Namespace], Array] = _finite,
) -> Array:
    """Return `native` for ordinary arguments, and `special` of the real and imaginary parts for others."""
    a, b = xp.real(x), xp.imag(x)
    keep = ordinary(a, b, xp)
    # Zeros replace ordinary arguments, so that the gradient of the unused branch cannot be NaN.
    re, im = special(xp.where(keep, xp.zeros_like(a), a), xp.where(keep, xp.zeros_like(b), b), xp)
    return xp.where(keep, native, combine(re, im) if combine else combine_parts(re, im, x, xp))


def _constant(value: float, like: Array, xp: Namespace) -> Array:
    return xp.full_like(like, value)


def _infinite(a: Array, b: Array, xp: Namespace) -> Array:
    return xp.isinf(a) | xp.isinf(b)


def _angle(a: Array, b: Array, xp: Namespace) -> Array:
    """Return `atan2(b, a)` for infinite, NaN or zero parts. Selecting constants is faster than `atan2`."""
    slanted = xp.where(a > 0, _constant(pi / 4, a, xp), _constant(3 * pi / 4, a, xp))
    steep = xp.where(xp.isinf(a), slanted, _constant(pi / 2, a, xp))
    flat = xp.where(xp.signbit(a), _constant(pi, a, xp), _constant(0.0, a, xp))
    size = xp.where(xp.isinf(b), steep, flat)
    return xp.where(xp.isnan(a) | xp.isnan(b), _constant(nan, a, xp), xp.copysign(size, b))


def _turn(parts: Parts) -> Parts:
    """Return the parts of `-1j * z`, with which the standard defines circular functions by hyperbolic ones."""
    re, im = parts
    return im, -re


def _cis(b: Array, xp: Namespace) -> Parts:
    # Also computed for ordinary values: there, a compiler shares the result with the native function.
    return xp.cos(b), xp.sin(b)


def _exp(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    bounded, gone, zero = xp.isfinite(b), a == -inf, _constant(0.0, a, xp)
    size = xp.where(gone, zero, a)
    re = xp.where(bounded, size * cis[0], xp.where(xp.isinf(a), size, _constant(nan, a, xp)))
    im = xp.where(b == 0, b, xp.where(gone & ~bounded, zero, size * cis[1]))
    return re, im


def _expm1(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    re, im = _exp(a, b, xp, cis)
    return re - 1, im


def _log(a: Array, b: Array, xp: Namespace) -> Parts:
    unknown = _constant(nan, a, xp)
    re = xp.where(_infinite(a, b, xp), _constant(inf, a, xp), unknown)
    return xp.where((a == 0) & (b == 0), -_constant(inf, a, xp), re), _angle(a, b, xp)


def _sqrt(a: Array, b: Array, xp: Namespace) -> Parts:
    zero, large, unknown = _constant(0.0, a, xp), _constant(inf, a, xp), _constant(nan, a, xp)
    re = xp.where((a == -inf) & ~xp.isnan(b), zero, unknown)
    re = xp.where((a == inf) | xp.isinf(b), large, re)
    im = xp.where((a == inf) & ~xp.isnan(b), xp.copysign(zero, b), unknown)
    im = xp.where((a == -inf) | xp.isinf(b), xp.copysign(large, b), im)
    return re, im


def _cosh(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    size, zero = xp.abs(a), _constant(0.0, a, xp)
    re = xp.where(xp.isinf(a) & ~xp.isfinite(b), size, size * cis[0])
    signed = xp.copysign(zero, a) * xp.copysign(_constant(1.0, b, xp), b)
    return re, xp.where((a == 0) | (b == 0), signed, a * cis[1])


def _sinh(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    exact = (a == 0) | (xp.isinf(a) & ~xp.isfinite(b))
    return xp.where(exact, a, a * cis[0]), xp.where(b == 0, b, xp.abs(a) * cis[1])


def _tanh(a: Array, b: Array, xp: Namespace) -> Parts:
    zero, one, unknown = _constant(0.0, a, xp), _constant(1.0, a, xp), _constant(nan, a, xp)
    re = xp.where(xp.isinf(a), xp.copysign(one, a), xp.where(a == 0, a, unknown))
    return re, xp.where(xp.isinf(a) | (b == 0), xp.copysign(zero, b), unknown)


def _asinh(a: Array, b: Array, xp: Namespace) -> Parts:
    re = xp.where(_infinite(a, b, xp), xp.copysign(_constant(inf, a, xp), a), _constant(nan, a, xp))
    return re, xp.where(b == 0, b, _angle(xp.abs(a), b, xp))


def _acosh(a: Array, b: Array, xp: Namespace) -> Parts:
    re = xp.where(_infinite(a, b, xp), _constant(inf, a, xp), _constant(nan, a, xp))
    return re, xp.where((a == 0) & xp.isnan(b), _constant(pi / 2, a, xp), _angle(a, b, xp))


def _acos(a: Array, b: Array, xp: Namespace) -> Parts:
    im = xp.where(_infinite(a, b, xp), _constant(inf, a, xp), _constant(nan, a, xp))
    # At zero use pi/2 - x, which also has the correct derivative.
    im = xp.where((a == 0) & (b == 0), -b, xp.copysign(im, -b))
    return xp.where((a == 0) & ~xp.isinf(b), _constant(pi / 2, a, xp) - a, _angle(a, xp.abs(b), xp)), im


def _atanh(a: Array, b: Array, xp: Namespace) -> Parts:
    zero, unknown = _constant(0.0, a, xp), _constant(nan, a, xp)
    re = xp.where(_infinite(a, b, xp) | (a == 0), xp.copysign(zero, a), unknown)
    lost = xp.isnan(b) | (xp.isnan(a) & xp.isfinite(b))
    return re, xp.where(lost, unknown, xp.copysign(_constant(pi / 2, a, xp), b))


def _sign(a: Array, b: Array, xp: Namespace) -> Parts:
    part = xp.where((a == 0) & (b == 0), _constant(0.0, a, xp), _constant(nan, a, xp))
    return part, part


def _sign_ordinary(a: Array, b: Array, xp: Namespace) -> Array:
    return ((a != 0) | (b != 0)) & ~(xp.isnan(a) | xp.isnan(b))


# The standard defines circular functions by hyperbolic ones: `sin(z)` is `-1j * sinh(1j * z)`.


def _sin(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    return _turn(_sinh(-b, a, xp, cis))


def _cos(a: Array, b: Array, xp: Namespace, cis: Parts) -> Parts:
    return _cosh(-b, a, xp, cis)


def _tan(a: Array, b: Array, xp: Namespace) -> Parts:
    return _turn(_tanh(-b, a, xp))


def _asin(a: Array, b: Array, xp: Namespace) -> Parts:
    return _turn(_asinh(-b, a, xp))


def _atan(a: Array, b: Array, xp: Namespace) -> Parts:
    return _turn(_atanh(-b, a, xp))


def _function(
    name: str,
    special: Callable[..., Parts],
    *,
    ordinary: Callable[[Array, Array, Namespace], Array] = _finite,
    angle: str | None = None,
) -> Callable[..., Array]:
    """Make the function of a name. `special` also gets cosine and sine of the part `angle`, "real" or "imag"."""

    def function(x: Array, xp: Namespace, combine: Combine = None, native: Array | None = None) -> Array:
        of_parts = special if angle is None else partial(special, cis=_cis(getattr(xp, angle)(x), xp))
        return _corrected(x, getattr(xp, name)(x) if native is None else native, of_parts, xp, combine, ordinary)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `xp.{name}` with the special cases of the standard for complex arguments."
    return function


exp = _function("exp", _exp, angle="imag")
expm1 = _function("expm1", _expm1, angle="imag")
log = _function("log", _log, ordinary=_finite_nonzero)
log1p = _function("log1p", _log)
sqrt = _function("sqrt", _sqrt)
sinh = _function("sinh", _sinh, angle="imag")
cosh = _function("cosh", _cosh, angle="imag")
tanh = _function("tanh", _tanh)
asinh = _function("asinh", _asinh)
acosh = _function("acosh", _acosh)
acos = _function("acos", _acos, ordinary=_finite_nonzero)
atanh = _function("atanh", _atanh)
sin = _function("sin", _sin, angle="real")
cos = _function("cos", _cos, angle="real")
tan = _function("tan", _tan)
asin = _function("asin", _asin)
atan = _function("atan", _atan)
sign = _function("sign", _sign, ordinary=_sign_ordinary)

NEAR = 0.7
"""Below this, `log(abs(1 + x))` is computed by `log_of_size`."""


def log_of_size(a: Any, b: Any, log1p: Callable[[Any], Any]) -> Any:
    """Return `log(abs(1 + a + b j))` where it is near zero, by `abs(1 + a + b j)**2 = 1 + 2 a + a**2 + b**2`.

    The terms cancel if `a` is near `-b**2 / 2`, so they are added with their rounding errors. `a` and `b` are Python
    floats or arrays of double precision, `log1p` is a function of these.
    """
    (aa, error_a), (bb, error_b) = _square(a), _square(b)
    total, error = _sum(2 * a, bb)
    total, more = _sum(total, aa)
    return log1p(total + (error + more + error_a + error_b)) / 2


def _square(x: Any) -> tuple[Any, Any]:
    """Return a square and its rounding error, from halves of the digits, whose products are exact."""
    square, upper = x * x, x * 134217729.0  # 2**27 + 1
    upper = upper - (upper - x)
    lower = x - upper
    return square, ((upper * upper - square) + 2 * upper * lower) + lower * lower


def _sum(x: Any, y: Any) -> tuple[Any, Any]:
    """Return a sum and its rounding error."""
    total = x + y
    rest = total - x
    return total, (x - (total - rest)) + (y - rest)
