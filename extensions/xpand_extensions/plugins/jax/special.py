"""Special functions on JAX, all compiled: JAX's own if they are exact, otherwise the generic ones."""

import math
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp
import jax.scipy.special

from xpand.extend import Array
from xpand_extensions._dtypes import widened
from xpand_extensions.generic import special as generic
from xpand_extensions.generic.special._error import erfcx

from ._derivatives import compiled, with_derivatives_of

# JAX's own Bessel functions have twice the error, and are NaN at infinity.

i0 = jax.jit(generic.i0)
i0e = jax.jit(generic.i0e)
i1 = jax.jit(generic.i1)
i1e = jax.jit(generic.i1e)

# JAX's `erfinv` is off by 3e5 ulps near 1 in float64, its `log_ndtr` by 3e8 near 6, and its `ndtr` is slower.

_DENSITY: Final = math.sqrt(0.5 / math.pi)
"""The density of the normal distribution at 0."""


def _density_over_ndtr(x: Array, y: Array) -> Array:
    """Return the derivative of y = log_ndtr(x). Far below 0, avoid the usual quotient: both parts vanish."""
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

# Errors of JAX's functions of the gamma family: `gammaln` 3e9 ulps near 1 and 2, `digamma` 3e3 near its zero,
# `polygamma` unbounded on the negative axis, `gammainc` 4e4, `betaln` 8e8, `betainc` 5e5. Its `zeta` has no derivative
# in s, and its `betainc` none in a and b.

betainc = jax.jit(generic.betainc)
betaln = jax.jit(generic.betaln)
digamma = jax.jit(generic.digamma)
factorial = jax.jit(generic.factorial)
gammainc = jax.jit(generic.gammainc)
gammaincc = jax.jit(generic.gammaincc)
gammaln = compiled(generic.gammaln, lambda x, value: generic.digamma(x))  # JAX's derivative is 0 at the poles
polygamma = jax.jit(generic.polygamma, static_argnums=0)
zeta = jax.jit(generic.zeta)

sigmoid = expit = jax.jit(jax.nn.sigmoid)
log_sigmoid = jax.jit(jax.nn.log_sigmoid)
softplus = jax.jit(jax.nn.softplus)
logit = jax.jit(jax.scipy.special.logit)
entr = jax.jit(jax.scipy.special.entr)
xlogy = with_derivatives_of(generic.xlogy, jax.scipy.special.xlogy)  # JAX's values are NaN if both factors are 0
xlog1py = with_derivatives_of(generic.xlog1py, jax.scipy.special.xlog1py)
softmax = jax.jit(jax.nn.softmax, static_argnames="axis")
log_softmax = jax.jit(jax.nn.log_softmax, static_argnames="axis")


@partial(jax.jit, static_argnames=("axis", "keepdims"))
def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    if b is not None:
        # JAX's result is NaN if one element is infinite and another weight is negative.
        return generic.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
    return jax.nn.logsumexp(x, axis=axis, keepdims=keepdims)


rsqrt = jax.jit(jax.lax.rsqrt)
# In float32, JAX's own function is wrong below the smallest normal number, even in its sign. Treat such numbers as 0.
cbrt = compiled(lambda x: jnp.where(x == 0.0, x * 0.0, generic.cbrt(x)), lambda x, y: 1.0 / (3.0 * y * y))
sinc = jax.jit(generic.sinc)  # JAX's is NaN at ±infinity


def _exp2(x: Array) -> Array:
    """Compute the power of a fraction, between 1/√2 and √2, times an integer power of 2, made from its bits.

    JAX's exp2, an exponential of x log(2), is off by 600 ulps for large x.
    """
    bits, mantissa, bias, most = (
        (jnp.int64, 52, 1023, 1100.0) if x.dtype == jnp.float64 else (jnp.int32, 23, 127, 160.0)
    )
    whole = jnp.round(jnp.clip(x, -most, most))
    # Multiply in two steps: the integer power may overflow or underflow even if the result does not.
    half = jnp.floor(0.5 * whole)
    result = jnp.exp((x - whole) * math.log(2.0))
    for part in (half, whole - half):
        result *= jax.lax.bitcast_convert_type((part.astype(bits) + bias) << mantissa, x.dtype)
    return result


exp2 = jax.jit(widened(_exp2))
