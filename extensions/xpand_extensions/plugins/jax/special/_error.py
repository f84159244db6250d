"""The error function's family on JAX: its own where it is exact, else the generic functions compiled.

JAX's `erfinv` is off by 3e5 ulps near 1 in float64, its `log_ndtr` by 3e8 near 6, and its `ndtr` takes longer.
"""

import math
from typing import Final

import jax
import jax.numpy as jnp
import jax.scipy.special

from xpand.extend import Array
from xpand_extensions._width import widened
from xpand_extensions.generic import special as generic
from xpand_extensions.generic.special._error import erfcx

from .._derivatives import compiled

_DENSITY: Final = math.sqrt(0.5 / math.pi)
"""The normal distribution's density at 0."""


def _density_over_ndtr(x: Array, y: Array) -> Array:
    """The derivative of log_ndtr, y = log_ndtr(x): for x far below 0 not by the quotient, of which both vanish."""
    below = x <= -0.75
    far = math.sqrt(2.0 / math.pi) / erfcx(jnp.where(below, -x, 1.0) * math.sqrt(0.5))
    z = jnp.where(below, 0.0, x)
    return jnp.where(below, far, _DENSITY * jnp.exp(-0.5 * z * z - jnp.where(below, 0.0, y)))


erf = jax.jit(jax.scipy.special.erf)
erfc = jax.jit(jax.scipy.special.erfc)
erfinv = compiled(generic.erfinv, lambda x, y: math.sqrt(math.pi) / 2 * jnp.exp(y * y))
erfcinv = compiled(generic.erfcinv, lambda x, y: -math.sqrt(math.pi) / 2 * jnp.exp(y * y))
ndtr = compiled(generic.ndtr, lambda x, y: _DENSITY * jnp.exp(-0.5 * x * x))
ndtri = compiled(widened(jax.scipy.special.ndtri), lambda x, y: jnp.exp(0.5 * y * y) / _DENSITY)
log_ndtr = compiled(generic.log_ndtr, _density_over_ndtr)
