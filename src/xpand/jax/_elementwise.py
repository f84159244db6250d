"""Elementwise functions: complex functions, floor division, and `nextafter`, which has no derivative in JAX.

JAX ignores the sign of a zero part, so the lower side of a branch cut gets the value of the upper side: `sqrt(-1 - 0j)`
is `1j`. The standard requires `f(conj(x)) == conj(f(x))`, and for odd functions `f(-x) == -f(x)`. So arguments with
negative zeros are reflected, and the results are reflected back. This also corrects derivatives on both sides.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from .._common import complex as special_cases
from ..typing import LibraryArray as Array

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor_divide",
    "log",
    "log1p",
    "mod",
    "nextafter",
    "remainder",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

Parity: TypeAlias = Literal["odd", "even", None]


def _reflection(part: Array) -> Array:
    """Return -1 for a negative zero, otherwise 1."""
    return jnp.where((part == 0) & jnp.signbit(part), -jnp.ones_like(part), jnp.ones_like(part))


def _reflected(upper: Callable[[Array], Array], x: Array, parity: Parity) -> Array:
    a, b = x.real, x.imag
    by_imag = _reflection(b)
    if parity is None:
        z = upper(lax.complex(a, b * by_imag))
        return lax.complex(z.real, z.imag * by_imag)
    by_real = _reflection(a)
    z = upper(lax.complex(a * by_real, b * by_imag))
    if parity == "odd":
        return lax.complex(z.real * by_real, z.imag * by_imag)
    return lax.complex(z.real, z.imag * by_real * by_imag)


def _hyperbolic(a: Array, b: Array) -> tuple[Array, Array, Array, Array]:
    """Return the products of `cosh(a)` and `sinh(a)` with `cos(b)` and `sin(b)`, also if only `cosh(a)` overflows."""
    size, slope, half = jnp.cosh(a), jnp.sinh(a), jnp.exp(jnp.abs(a) / 2)
    over, signed = jnp.isinf(size), jnp.copysign(half, a) / 2
    c, s = jnp.cos(b), jnp.sin(b)
    return (
        jnp.where(over, half / 2 * c * half, size * c),
        jnp.where(over, half / 2 * s * half, size * s),
        jnp.where(over, signed * c * half, slope * c),
        jnp.where(over, signed * s * half, slope * s),
    )


def _sinh(x: Array) -> Array:
    _, im, re, _ = _hyperbolic(x.real, x.imag)
    return lax.complex(re, im)


def _cosh(x: Array) -> Array:
    re, _, _, im = _hyperbolic(x.real, x.imag)
    return lax.complex(re, im)


def _atan(x: Array) -> Array:
    return jnp.conj(jnp.atan(jnp.conj(x)))


def _log1p(x: Array) -> Array:
    """Return `log(1 + x)`. Near -1, JAX squares both parts of `1 + x`, which underflows."""
    total = lax.complex(1 + x.real, x.imag)
    near = jnp.abs(total.real) + jnp.abs(total.imag) < 0.5
    return jnp.where(near, jnp.log(total), jnp.log1p(x))


def _slope_of_asin(x: Array) -> Array:
    return 1 / (_root(lax.complex(1 - x.real, -x.imag)) * _root(lax.complex(1 + x.real, x.imag)))


def _slope_of_acosh(x: Array) -> Array:
    return 1 / (_root(lax.complex(x.real - 1, x.imag)) * _root(lax.complex(x.real + 1, x.imag)))


def _sloped(native: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Give `native` a custom derivative. JAX takes the root of a product, which may be on another branch."""
    function = jax.custom_jvp(native)
    function.defjvps(lambda tangent, result, x: tangent * slope(x))
    return function


# These replace JAX's functions: its `sinh` and `cosh` subtract exponentials, which loses half of the digits near zero.
# Its `log1p` is infinite near -1. Its `atan` returns a negative zero as imaginary part on the whole real axis. Others
# have wrong derivatives.
_BETTER: dict[str, Callable[[Array], Array]] = {
    "sinh": _sinh,
    "cosh": _cosh,
    "atan": _atan,
    "log1p": _sloped(_log1p, lambda x: 1 / (1 + x)),
    "asin": _sloped(jnp.asin, _slope_of_asin),
    "acos": _sloped(jnp.acos, lambda x: -_slope_of_asin(x)),
    "acosh": _sloped(jnp.acosh, _slope_of_acosh),
}


def corrected(name: str, parity: Parity = None) -> Callable[[Array], Array]:
    """Make JAX's function of a name, with the standard's special cases for complex arguments.

    It is compiled, and selects by data type while it is traced. So an eager call takes as long as JAX's own.
    """
    native, correct = getattr(jnp, name), getattr(special_cases, name)
    ordinary = _BETTER.get(name, native)

    @partial(jax.jit, inline=True)
    @wraps(native)
    def function(x: Array, /) -> Array:
        if not jnp.iscomplexobj(x):
            return native(x)
        return _reflected(lambda z: correct(z, jnp, lax.complex, ordinary(z)), jnp.asarray(x), parity)

    return function


_root = corrected("sqrt")


def _sign(x: Array, /) -> Array:
    # JAX returns signed zeros, but the standard requires 0. NaNs and infinities are correct.
    out = jnp.sign(x)
    return jnp.where(out == 0, jnp.zeros_like(out), out) if jnp.issubdtype(out.dtype, jnp.inexact) else out


sign = jax.jit(wraps(jnp.sign)(_sign), inline=True)


exp = corrected("exp")
expm1 = corrected("expm1")
log = corrected("log")
log1p = corrected("log1p")
sqrt = corrected("sqrt")
sin = corrected("sin", "odd")
cos = corrected("cos", "even")
tan = corrected("tan", "odd")
sinh = corrected("sinh", "odd")
cosh = corrected("cosh", "even")
tanh = corrected("tanh", "odd")
asin = arcsin = corrected("asin", "odd")
acos = arccos = corrected("acos")
atan = arctan = corrected("atan", "odd")
asinh = arcsinh = corrected("asinh", "odd")
acosh = arccosh = corrected("acosh")
atanh = arctanh = corrected("atanh", "odd")


_known = jax.custom_jvp(jnp.nextafter)
_known.defjvps(lambda tangent, out, x1, x2: jnp.broadcast_to(tangent, out.shape).astype(out.dtype), None)
_nextafter = jax.jit(_known)


def nextafter(x1: Array, x2: Array, /) -> Array:
    """Return the next representable number after `x1` towards `x2`. The derivative in `x1` is 1; JAX has none."""
    return _nextafter(x1, x2)


# For each data type: the integer type of its size, and the number of low bits to clear, which leaves half of the
# significand. The product of two halves is exact.
_HALVES = {"float64": (jnp.uint64, 27), "float32": (jnp.uint32, 12)}


def _upper_half(x: Array) -> Array:
    """Return numbers with half of the significand. Clearing bits is safe; compilers may fuse products with sums."""
    pattern, low = _HALVES[x.dtype.name]
    bits = lax.bitcast_convert_type(x, pattern)
    return lax.bitcast_convert_type((bits >> low) << low, x.dtype)


def _floor(x: Array, y: Array) -> Array:
    """Return the floor of the exact quotient. The floor of the rounded quotient may be off by one, and is corrected.

    The sign of the remainder decides. It is exact, because products of halves are exact. This takes a hundredth of the
    time of `fmod`, which JAX's function uses. The rest follows CPython.
    """
    info = jnp.finfo(x.dtype)
    quotient = jnp.floor(x / y)
    # Scale both by the same power of two, so that no product of halves underflows.
    scale = jnp.where(jnp.abs(y) < float(info.tiny) * 4.0**info.nmant, 4.0**info.nmant, 1.0)
    x_scaled, y_scaled = x * scale, y * scale
    q_upper, y_upper = _upper_half(quotient), _upper_half(y_scaled)
    q_lower, y_lower = quotient - q_upper, y_scaled - y_upper
    rest = ((x_scaled - q_upper * y_upper) - q_upper * y_lower - q_lower * y_upper) - q_lower * y_lower
    correction = jnp.where((rest != 0) & (jnp.signbit(rest) != jnp.signbit(y)), -1.0, 0.0)
    # The quotient may be too small by one if the compiler multiplies by the reciprocal of a constant. It is correct if
    # |x| < |y|; there, the remainder may be rounded to y.
    short = (jnp.abs(rest) >= jnp.abs(y_scaled)) & (jnp.abs(x_scaled) >= jnp.abs(y_scaled))
    correction = jnp.where((correction == 0) & short, 1.0, correction)
    # Larger quotients are integers, and the plain quotient has the standard's special cases.
    ordinary = (jnp.abs(quotient) < 2.0**info.nmant) & jnp.isfinite(y) & (x != 0)
    return jnp.where(ordinary & (correction != 0), quotient + correction, quotient)


def _special_floor(x: Array, y: Array, quotient: Array) -> Array:
    if not jnp.isdtype(quotient.dtype, "real floating"):
        return quotient
    ordinary = jnp.isfinite(x) & jnp.isfinite(y) & (x != 0)
    return jnp.where(ordinary, quotient, jnp.floor(jnp.divide(x, y)))


@partial(jax.jit, inline=True)
def floor_divide(x1: Array, x2: Array, /) -> Array:
    """Return the floor of the quotient, with the standard's special cases for infinities and signed zeros.

    For example, `inf // 2` is `inf`, and `-1 // inf` is `-0`. JAX returns NaN.
    """
    native = jnp.floor_divide(x1, x2)
    if native.dtype.name not in _HALVES:
        return _special_floor(x1, x2, native)
    # `where` promotes and broadcasts like an operator. The result of Python scalars stays weakly typed.
    return _floor(jnp.where(True, x1, x2), jnp.where(False, x1, x2))


@partial(jax.jit, inline=True)
@wraps(jnp.remainder)
def remainder(x1: Array, x2: Array, /) -> Array:
    rest = jnp.remainder(x1, x2)
    if not jnp.isdtype(rest.dtype, "real floating"):
        return rest
    return _with_sign_of_zeros(rest, x2)


def _sign_zeros(rest: Array, divisor: Array) -> Array:
    """Give zeros the sign of the divisor, as in the standard. JAX keeps the dividend's sign."""
    return jnp.where(rest == 0, jnp.copysign(rest, divisor), rest)


_with_sign_of_zeros = jax.custom_jvp(_sign_zeros)
# The derivative of the remainder: the derivative of `copysign` would be negative if the sign changes.
_with_sign_of_zeros.defjvps(lambda tangent, result, rest, divisor: tangent, None)


mod = remainder
