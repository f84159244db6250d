"""Powers, roots and sinc on JAX."""

import math

import jax
import jax.numpy as jnp

from xpand.extend import Array
from xpand_extensions._width import widened
from xpand_extensions.generic import special as generic

from .._derivatives import compiled

rsqrt = jax.jit(jax.lax.rsqrt)
# In float32 JAX's own is wrong below the smallest normal number, even its sign; such numbers are equal to 0 there.
cbrt = compiled(lambda x: jnp.where(x == 0.0, x * 0.0, generic.cbrt(x)), lambda x, y: 1.0 / (3.0 * y * y))
sinc = jax.jit(generic.sinc)  # JAX's is NaN at infinities


def _exp2(x: Array) -> Array:
    """Scale a power between 1/√2 and √2 by whole powers of 2, made of their bits.

    JAX's exp2, an exponential of x log(2), is off by 600 ulps for large x.
    """
    bits, mantissa, bias, most = (
        (jnp.int64, 52, 1023, 1100.0) if x.dtype == jnp.float64 else (jnp.int32, 23, 127, 160.0)
    )
    whole = jnp.round(jnp.clip(x, -most, most))
    # In two steps: the whole power may be too large, or too small, where the result is not.
    half = jnp.floor(0.5 * whole)
    result = jnp.exp((x - whole) * math.log(2.0))
    for part in (half, whole - half):
        result *= jax.lax.bitcast_convert_type((part.astype(bits) + bias) << mantissa, x.dtype)
    return result


exp2 = jax.jit(widened(_exp2))
