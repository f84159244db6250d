"""Bessel functions on JAX: the generic functions compiled. JAX's own are twice as far off, and NaN at infinity."""

import jax

from xpand_extensions.generic import special as generic

i0 = jax.jit(generic.i0)
i0e = jax.jit(generic.i0e)
i1 = jax.jit(generic.i1)
i1e = jax.jit(generic.i1e)
