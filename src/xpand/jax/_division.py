"""Division with a floor: `floor_divide` and `remainder`."""

from functools import partial, wraps

import jax
import jax.numpy as jnp
from jax import lax

from .._typing import Array

# Patterns of as many bits as the type has, and how many low bits of its significand to clear for a half that multiplies
# exactly with another.
_HALVES = {"float64": (jnp.uint64, 27), "float32": (jnp.uint32, 12)}


def _upper_half(x: Array) -> Array:
    """The leading half of the significand. Bits are cleared, since a compiler may contract a product with a sum."""
    pattern, low = _HALVES[x.dtype.name]
    bits = lax.bitcast_convert_type(x, pattern)
    return lax.bitcast_convert_type((bits >> low) << low, x.dtype)


def _floor(x: Array, y: Array) -> Array:
    """The floor of the exact quotient: that of the rounded one, which at an integer may be one off, corrected.

    The products of the halves are exact, hence so is the remainder. That takes a hundredth of the time of `fmod`, which
    JAX computes; it follows CPython otherwise.
    """
    info = jnp.finfo(x.dtype)
    quotient = jnp.floor(x / y)
    # Both by the same power of two, so that no product of halves underflows.
    scale = jnp.where(jnp.abs(y) < float(info.tiny) * 4.0**info.nmant, 4.0**info.nmant, 1.0)
    x_scaled, y_scaled = x * scale, y * scale
    q_upper, y_upper = _upper_half(quotient), _upper_half(y_scaled)
    q_lower, y_lower = quotient - q_upper, y_scaled - y_upper
    rest = ((x_scaled - q_upper * y_upper) - q_upper * y_lower - q_lower * y_upper) - q_lower * y_lower
    correction = jnp.where((rest != 0) & (jnp.signbit(rest) != jnp.signbit(y)), -1.0, 0.0)
    # One too small it is where the compiler multiplies by the reciprocal of a constant; not where |x| < |y|, whose
    # remainder may be rounded to y.
    short = (jnp.abs(rest) >= jnp.abs(y_scaled)) & (jnp.abs(x_scaled) >= jnp.abs(y_scaled))
    correction = jnp.where((correction == 0) & short, 1.0, correction)
    # Larger quotients are integers as they are; the special cases of the standard are those of the plain quotient.
    ordinary = (jnp.abs(quotient) < 2.0**info.nmant) & jnp.isfinite(y) & (x != 0)
    return jnp.where(ordinary & (correction != 0), quotient + correction, quotient)


def _special_floor(x: Array, y: Array, quotient: Array) -> Array:
    if not jnp.isdtype(quotient.dtype, "real floating"):
        return quotient
    ordinary = jnp.isfinite(x) & jnp.isfinite(y) & (x != 0)
    return jnp.where(ordinary, quotient, jnp.floor(jnp.divide(x, y)))


@partial(jax.jit, inline=True)
def floor_divide(x1: Array, x2: Array, /) -> Array:
    """Round the quotient down.

    Infinities and signed zeros give the special cases of the standard, where JAX gives NaNs: `inf // 2` is `inf`, and
    `-1 // inf` is `-0`.
    """
    native = jnp.floor_divide(x1, x2)
    if native.dtype.name not in _HALVES:
        return _special_floor(x1, x2, native)
    # `where` promotes and broadcasts like an operator: a result of Python scalars stays weakly typed.
    return _floor(jnp.where(True, x1, x2), jnp.where(False, x1, x2))


@partial(jax.jit, inline=True)
@wraps(jnp.remainder)
def remainder(x1: Array, x2: Array, /) -> Array:
    rest = jnp.remainder(x1, x2)
    if not jnp.isdtype(rest.dtype, "real floating"):
        return rest
    return _with_sign_of_zeros(rest, x2)


def _sign_zeros(rest: Array, divisor: Array) -> Array:
    """A zero has the sign of the divisor by the standard; JAX keeps the dividend's."""
    return jnp.where(rest == 0, jnp.copysign(rest, divisor), rest)


_with_sign_of_zeros = jax.custom_jvp(_sign_zeros)
# The remainder's own derivative: that of `copysign` is negative where the sign changes.
_with_sign_of_zeros.defjvps(lambda tangent, result, rest, divisor: tangent, None)


mod = remainder
