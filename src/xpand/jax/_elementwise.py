"""Elementwise functions: complex ones whose special values JAX gets wrong, and `nextafter`, which has no derivative."""

import jax
import jax.numpy as jnp

from .._typing import Array
from ._complex import corrected, sign

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
    "log",
    "log1p",
    "nextafter",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
]

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
