"""Division on JAX, compiled: run eagerly, it would be many small operations.

XLA's division of integers truncates and never traps: the smallest number divided by -1 is itself.
"""

import jax
import jax.numpy as jnp

from xpand.extend import Array
from xpand_extensions.generic import arithmetic as generic


def _quotient(x: Array, y: Array, /) -> Array:
    return jnp.where(y == 0, 0, jax.lax.div(*jnp.broadcast_arrays(x, y)))


divide_no_nan = jax.jit(generic.divide_no_nan)
quotient = jax.jit(_quotient)
truncated_remainder = jax.jit(generic.truncated_remainder)
