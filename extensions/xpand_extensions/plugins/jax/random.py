"""Random numbers on JAX, by its own functions, which are already compiled."""

from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array, Device, DType, Namespace, checks
from xpand_extensions.generic.random import _continuous, _gamma, _uniform as generic
from xpand_extensions.random._generators import Generator

bernoulli = jax.random.bernoulli
beta = jax.random.beta
bits = jax.random.bits
cauchy = jax.random.cauchy
chisquare = jax.random.chisquare
choice = jax.random.choice
dirichlet = jax.random.dirichlet
exponential = jax.random.exponential
fold_in = jax.random.fold_in
gamma = jax.random.gamma
geometric = jax.random.geometric
gumbel = jax.random.gumbel
key_of_seed = jax.random.PRNGKey
laplace = jax.random.laplace
loggamma = jax.random.loggamma
logistic = jax.random.logistic
lognormal = jax.random.lognormal
maxwell = jax.random.maxwell
normal = jax.random.normal
orthogonal = jax.random.orthogonal
pareto = jax.random.pareto
permutation = jax.random.permutation
rademacher = jax.random.rademacher
split = jax.random.split
weibull_min = jax.random.weibull_min

# JAX's formulas cancel, overflow or underflow, or return infinity.
ball = jax.jit(_continuous.ball, static_argnums=(1, 3, 4))
f = jax.jit(_gamma.f, static_argnums=(3, 4))
generalized_normal = jax.jit(_gamma.generalized_normal, static_argnums=(2, 3))
rayleigh = jax.jit(_continuous.rayleigh, static_argnums=(2, 3))
t = jax.jit(_gamma.t, static_argnums=(2, 3))
triangular = jax.jit(_continuous.triangular, static_argnums=(4, 5))
wald = jax.jit(_continuous.wald, static_argnums=(2, 3))
_between = jax.jit(_continuous.between, static_argnums=(3, 4, 5))
_below = jax.jit(_continuous.below)


def truncated_normal(key: Array, /, lower: Array, upper: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return _between(key, lower, upper, shape, dtype, _continuous.in_a_tail(lower, upper))


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
    x = jax.random.uniform(key, shape, dtype, minval, maxval)
    if not checks.is_array(minval) and not checks.is_array(maxval) and not _continuous.may_round_up(minval, maxval):
        return x
    return _below(x, *(jnp.asarray(bound, x.dtype) for bound in (minval, maxval)))


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return Generator(seed, xp="jax", device=device)


def key_data(key: Array, /) -> Array:
    return jax.random.key_data(key) if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def randint(key: Array, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    info = jnp.iinfo(dtype)
    # JAX wraps bounds beyond 32 bits if the data type is narrower, and accepts no integers beyond 64 bits.
    low, high = (_clipped(x, info.min, info.max + 1) for x in (minval, maxval))
    if any(not checks.is_array(x) and x >= 2**63 for x in (low, high)):
        return generic.randint(key, shape, low, high, dtype)
    return jax.random.randint(key, shape, low, high, dtype)


def _clipped(x: Any, low: int, high: int) -> Any:
    if not checks.is_array(x):
        return min(max(x, low), high)
    info = jnp.iinfo(x.dtype)
    return x if info.bits <= 32 or high > 2**31 else jnp.clip(x, max(low, info.min), high)


def categorical(
    key: Array, /, logits: Array, axis: int = -1, shape: Any = None, replace: bool = True, mode: Any = None
) -> Array:
    return jax.random.categorical(key, logits, axis, shape, replace, mode).astype(int)


def poisson(key: Array, /, lam: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.poisson(key, jax.lax.stop_gradient(lam), shape, dtype)


def binomial(key: Array, /, n: Array, p: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    # Reverse mode can't differentiate the loop. The derivative of a count is 0.
    return jax.random.binomial(key, *jax.lax.stop_gradient((n, p)), shape, dtype)


def multinomial(key: Array, /, n: Array, p: Array, *, shape: Any = None, dtype: DType | None = None) -> Array:
    n, p = jax.lax.stop_gradient((n, p))
    return jax.random.multinomial(key, n, p, shape=(*shape, p.shape[-1]), dtype=dtype)


def multivariate_normal(
    key: Array, /, mean: Array, cov: Array, shape: Any = None, dtype: Any = None, method: Any = "cholesky"
) -> Array:
    return jax.random.multivariate_normal(key, mean, cov, shape, dtype, method).astype(dtype)
