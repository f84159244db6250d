"""The distributions on JAX: its own."""

from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array, DType


def exponential(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.exponential(key, shape, dtype)


def gumbel(key: Array, /, shape: Any = (), dtype: DType | None = None, mode: Any = None) -> Array:
    return jax.random.gumbel(key, shape, dtype, mode)


def laplace(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.laplace(key, shape, dtype)


def logistic(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.logistic(key, shape, dtype)


def cauchy(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.cauchy(key, shape, dtype)


def maxwell(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.maxwell(key, shape, dtype)


def truncated_normal(key: Array, /, lower: Array, upper: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.truncated_normal(key, lower, upper, shape, dtype)


def pareto(key: Array, /, b: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.pareto(key, b, shape, dtype)


def rayleigh(key: Array, /, scale: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.rayleigh(key, scale, shape, dtype)


def weibull_min(
    key: Array, /, scale: Array, concentration: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    return jax.random.weibull_min(key, scale, concentration, shape, dtype)


def wald(key: Array, /, mean: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.wald(key, mean, shape, dtype)


def triangular(
    key: Array, /, left: Array, mode: Array, right: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    return jax.random.triangular(key, left, mode, right, shape, dtype)


def lognormal(key: Array, /, sigma: Array | float = 1.0, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.lognormal(key, sigma, shape, dtype)


def gamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.gamma(key, a, shape, dtype)


def loggamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.loggamma(key, a, shape, dtype)


def beta(key: Array, /, a: Array, b: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.beta(key, a, b, shape, dtype)


def dirichlet(key: Array, /, alpha: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.dirichlet(key, alpha, shape, dtype)


def chisquare(key: Array, /, df: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.chisquare(key, df, shape, dtype)


def t(key: Array, /, df: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.t(key, df, shape, dtype)


def f(key: Array, /, dfnum: Array, dfden: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.f(key, dfnum, dfden, shape, dtype)


def categorical(
    key: Array,
    /,
    logits: Array,
    axis: int = -1,
    shape: Any = None,
    replace: bool = True,
    mode: Any = None,
) -> Array:
    return jax.random.categorical(key, logits, axis, shape, replace, mode).astype(jnp.int_)


def poisson(key: Array, /, lam: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.poisson(key, jax.lax.stop_gradient(lam), shape, dtype)


def binomial(key: Array, /, n: Array, p: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    # The loop has no derivative by reverse mode; that of a count is 0.
    return jax.random.binomial(key, *jax.lax.stop_gradient((n, p)), shape, dtype)


def geometric(key: Array, /, p: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return jax.random.geometric(key, p, shape, dtype)


def multinomial(key: Array, /, n: Array, p: Array, *, shape: Any = None, dtype: DType | None = None) -> Array:
    n, p = jax.lax.stop_gradient((n, p))
    return jax.random.multinomial(key, n, p, shape=(*shape, p.shape[-1]), dtype=dtype)


def multivariate_normal(
    key: Array,
    /,
    mean: Array,
    cov: Array,
    shape: Any = None,
    dtype: DType | None = None,
    method: Any = "cholesky",
) -> Array:
    return jax.random.multivariate_normal(key, mean, cov, shape, dtype, method).astype(dtype)


def orthogonal(key: Array, /, n: int, shape: Any = (), dtype: DType | None = None, m: int | None = None) -> Array:
    return jax.random.orthogonal(key, n, shape, dtype, m)


def ball(key: Array, /, d: int, p: Array | float = 2.0, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.ball(key, d, p, shape, dtype)


def generalized_normal(key: Array, /, p: Array, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.generalized_normal(key, p, shape, dtype)
