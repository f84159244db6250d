"""Complex elementwise functions, signed zeros included.

JAX ignores the sign of a zero part, so that the lower lip of a branch cut gets the value of the upper one:
`sqrt(-1 - 0j)` is `1j`. The standard asks for `f(conj(x)) == conj(f(x))`, of odd functions for `f(-x) == -f(x)` too. So
negative zeros are reflected, in the argument and in the result; derivatives then are right on either side.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Literal, TypeAlias

import jax
import jax.numpy as jnp
from jax import lax

from .._common import complex as special_cases
from .._typing import LibraryArray as Array

Parity: TypeAlias = Literal["odd", "even", None]


def _reflection(part: Array) -> Array:
    """-1 for a negative zero, 1 for everything else."""
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
    """The products of `cosh(a)` and `sinh(a)` with `cos(b)` and `sin(b)`, also where the first alone overflows."""
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


def _slope_of_asin(x: Array) -> Array:
    return 1 / (_root(lax.complex(1 - x.real, -x.imag)) * _root(lax.complex(1 + x.real, x.imag)))


def _slope_of_acosh(x: Array) -> Array:
    return 1 / (_root(lax.complex(x.real - 1, x.imag)) * _root(lax.complex(x.real + 1, x.imag)))


def _sloped(native: Callable[[Array], Array], slope: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Give `native` a custom derivative: JAX takes one root of the product, which is on another branch for some."""
    function = jax.custom_jvp(native)
    function.defjvps(lambda tangent, result, x: tangent * slope(x))
    return function


# In place of JAX's own: its `sinh` and `cosh` subtract exponentials, which near zero leaves half of the digits, and its
# `atan` has a negative zero as imaginary part on the whole real axis.
_BETTER: dict[str, Callable[[Array], Array]] = {
    "sinh": _sinh,
    "cosh": _cosh,
    "atan": _atan,
    "asin": _sloped(jnp.asin, _slope_of_asin),
    "acos": _sloped(jnp.acos, lambda x: -_slope_of_asin(x)),
    "acosh": _sloped(jnp.acosh, _slope_of_acosh),
}


def corrected(name: str, parity: Parity = None) -> Callable[[Array], Array]:
    """JAX's function of that name, with the standard's special cases where the argument is complex.

    It is compiled as a whole and chooses by data type while it is traced: an eager call costs as much as JAX's own.
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
    # JAX returns the zeros as they are, signs included, where the standard has 0; NaNs and infinities are right.
    out = jnp.sign(x)
    return jnp.where(out == 0, jnp.zeros_like(out), out) if jnp.issubdtype(out.dtype, jnp.inexact) else out


sign = jax.jit(wraps(jnp.sign)(_sign), inline=True)
