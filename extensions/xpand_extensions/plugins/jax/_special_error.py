"""The error function's family on JAX: its own where it is exact, else the generic functions compiled.

JAX's `erfinv` is off by 3e5 ulps near 1 in float64, its `log_ndtr` by 3e8 near 6.
"""

import jax
import jax.scipy.special

from xpand_extensions.generic import special as generic

erf = jax.jit(jax.scipy.special.erf)
erfc = jax.jit(jax.scipy.special.erfc)
ndtr = jax.jit(jax.scipy.special.ndtr)
ndtri = jax.jit(jax.scipy.special.ndtri)
erfinv = jax.jit(generic.erfinv)
erfcinv = jax.jit(generic.erfcinv)
log_ndtr = jax.jit(generic.log_ndtr)
