"""The logistic function and related functions on JAX: its own, compiled."""

from functools import partial
from typing import Any

import jax
import jax.scipy.special

from xpand.extend import Array
from xpand_extensions.generic import special as generic

from .._derivatives import with_derivatives_of

sigmoid = expit = jax.jit(jax.nn.sigmoid)
log_sigmoid = jax.jit(jax.nn.log_sigmoid)
softplus = jax.jit(jax.nn.softplus)
logit = jax.jit(jax.scipy.special.logit)
entr = jax.jit(jax.scipy.special.entr)
xlogy = with_derivatives_of(generic.xlogy, jax.scipy.special.xlogy)  # JAX's are NaN where both factors are 0
xlog1py = with_derivatives_of(generic.xlog1py, jax.scipy.special.xlog1py)
softmax = jax.jit(jax.nn.softmax, static_argnames="axis")
log_softmax = jax.jit(jax.nn.log_softmax, static_argnames="axis")


@partial(jax.jit, static_argnames=("axis", "keepdims"))
def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    if b is not None:
        # JAX's is NaN where an infinity meets a negative weight elsewhere.
        return generic.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
    return jax.nn.logsumexp(x, axis=axis, keepdims=keepdims)
