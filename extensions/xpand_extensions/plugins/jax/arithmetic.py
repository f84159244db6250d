"""Division on JAX, compiled: run eagerly, it would be many small operations."""

import jax

from xpand_extensions.generic import arithmetic as generic

divide_no_nan = jax.jit(generic.divide_no_nan)
quotient = jax.jit(generic.quotient)
truncated_remainder = jax.jit(generic.truncated_remainder)
