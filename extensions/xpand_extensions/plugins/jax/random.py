"""Random numbers on JAX, by its own functions, which are already compiled."""

from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array, Device, DType, Namespace, checks
from xpand_extensions.generic.random import _continuous, _uniform as generic
from xpand_extensions.random._generators import Generator

ball = jax.random.ball
bernoulli = jax.random.bernoulli
beta = jax.random.beta
bits = jax.random.bits
cauchy = jax.random.cauchy
chisquare = jax.random.chisquare
choice = jax.random.choice
dirichlet = jax.random.dirichlet
exponential = jax.random.exponential
f = jax.random.f
fold_in = jax.random.fold_in
gamma = jax.random.gamma
generalized_normal = jax.random.generalized_normal
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
rayleigh = jax.random.rayleigh
split = jax.random.split
t = jax.random.t
triangular = jax.random.triangular
truncated_normal = jax.random.truncated_normal
uniform = jax.random.uniform
wald = jax.jit(_continuous.wald, static_argnums=(2, 3))  # JAX's cancels for a large mean
weibull_min = jax.random.weibull_min


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
