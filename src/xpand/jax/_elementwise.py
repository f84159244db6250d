"""Elementwise functions whose special values JAX gets wrong."""

from functools import partial

import jax
import jax.numpy as jnp

from xpand._typing import Array
from xpand.jax._complex import mended, sign

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
    "remainder",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

exp = mended("exp")
expm1 = mended("expm1")
log = mended("log")
log1p = mended("log1p")
sqrt = mended("sqrt")
sin = mended("sin", "odd")
cos = mended("cos", "even")
tan = mended("tan", "odd")
sinh = mended("sinh", "odd")
cosh = mended("cosh", "even")
tanh = mended("tanh", "odd")
asin = arcsin = mended("asin", "odd")
acos = arccos = mended("acos")
atan = arctan = mended("atan", "odd")
asinh = arcsinh = mended("asinh", "odd")
acosh = arccosh = mended("acosh")
atanh = arctanh = mended("atanh", "odd")


@partial(jax.jit, inline=True)
def floor_divide(x1: Array, x2: Array, /) -> Array:
    """Round the quotient down. Infinities and zeros give the special cases of the standard, where JAX gives NaNs."""
    quotient = jnp.floor_divide(x1, x2)
    if not jnp.isdtype(quotient.dtype, "real floating"):
        return quotient
    plain = jnp.isfinite(x1) & jnp.isfinite(x2) & (x1 != 0)
    return jnp.where(plain, quotient, jnp.floor(jnp.divide(x1, x2)))


@partial(jax.jit, inline=True)
def remainder(x1: Array, x2: Array, /) -> Array:
    """The remainder of `floor_divide`, with the sign of the divisor: a zero too, where JAX keeps the dividend's."""
    rest = jnp.remainder(x1, x2)
    if not jnp.isdtype(rest.dtype, "real floating"):
        return rest
    return jnp.where(rest == 0, jnp.copysign(rest, x2), rest)


mod = remainder
