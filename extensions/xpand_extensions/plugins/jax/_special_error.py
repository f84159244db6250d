"""The error function's family on JAX: its own where it is exact, else the generic functions compiled.

JAX's `erfinv` is off by 3e5 ulps near 1 in float64, its `log_ndtr` by 3e8 near 6, and its `ndtr` takes longer.
"""

import math

import jax
import jax.numpy as jnp
import jax.scipy.special

from xpand_extensions.generic import special as generic
from xpand_extensions.generic._width import widened

from ._derivatives import compiled

erf = jax.jit(jax.scipy.special.erf)
erfc = jax.jit(jax.scipy.special.erfc)
erfinv = compiled(generic.erfinv, lambda x, y: math.sqrt(math.pi) / 2 * jnp.exp(y * y))
erfcinv = compiled(generic.erfcinv, lambda x, y: -math.sqrt(math.pi) / 2 * jnp.exp(y * y))
ndtr = compiled(generic.ndtr, lambda x, y: math.sqrt(0.5 / math.pi) * jnp.exp(-0.5 * x * x))
ndtri = jax.jit(widened(jax.scipy.special.ndtri))
log_ndtr = jax.jit(generic.log_ndtr)
