"""Elementwise functions: complex ones whose special values JAX gets wrong, and `nextafter`, which has no derivative."""

import jax
import jax.numpy as jnp

from .._typing import Array
from ._complex import mended, sign

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


_known = jax.custom_jvp(jnp.nextafter)
_known.defjvps(lambda tangent, out, x1, x2: jnp.broadcast_to(tangent, out.shape).astype(out.dtype), None)
_nextafter = jax.jit(_known)


def nextafter(x1: Array, x2: Array, /) -> Array:
    """Return the next representable number after `x1` towards `x2`. The derivative in `x1` is 1; JAX has none."""
    return _nextafter(x1, x2)
