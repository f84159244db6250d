"""The logistic function and its kin on JAX: its own, compiled."""

import jax
import jax.scipy.special

sigmoid = expit = jax.jit(jax.nn.sigmoid)
log_sigmoid = jax.jit(jax.nn.log_sigmoid)
softplus = jax.jit(jax.nn.softplus)
logit = jax.jit(jax.scipy.special.logit)
entr = jax.jit(jax.scipy.special.entr)
xlogy = jax.jit(jax.scipy.special.xlogy)
xlog1py = jax.jit(jax.scipy.special.xlog1py)
logsumexp = jax.jit(jax.nn.logsumexp, static_argnames=("axis", "keepdims"))
softmax = jax.jit(jax.nn.softmax, static_argnames="axis")
log_softmax = jax.jit(jax.nn.log_softmax, static_argnames="axis")
