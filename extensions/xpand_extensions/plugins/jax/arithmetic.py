"""Division on JAX, compiled: eager, it would be many small operations."""

import jax

from xpand._typing import Array
from xpand_extensions.generic import arithmetic as generic

_divide_no_nan = jax.jit(generic.divide_no_nan)
_quotient = jax.jit(generic.quotient)
_truncated_remainder = jax.jit(generic.truncated_remainder)


def divide_no_nan(x: Array, y: Array, /) -> Array:
    return _divide_no_nan(x, y)


def quotient(x: Array, y: Array, /) -> Array:
    return _quotient(x, y)


def truncated_remainder(x: Array, y: Array, /) -> Array:
    return _truncated_remainder(x, y)
