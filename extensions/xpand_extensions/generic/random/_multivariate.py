"""Vectors and matrices for any library, of normal numbers."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType

from ..._dtypes import plain_sum
from ...random._continuous import exponential
from ...random._gamma import generalized_normal
from ...random._keys import split
from ...random._uniform import normal


def multivariate_normal(
    key: Array, /, mean: Array, cov: Array, shape: Any = None, dtype: Any = None, method: Any = "cholesky"
) -> Array:
    xp = array_namespace(key, mean, cov)
    factor = _factor(cov, method)
    x = xp.astype(normal(key, (*shape, mean.shape[-1]), dtype), xp.result_type(dtype, cov.dtype))
    moved = xp.matmul(xp.astype(factor, x.dtype), xp.expand_dims(x, axis=-1))[..., 0]
    return xp.astype(xp.add(mean, moved), dtype)


def _factor(cov: Array, method: str) -> Array:
    """Return a matrix whose product with its transpose is `cov`."""
    xp = array_namespace(cov)
    if method == "cholesky":
        return xp.linalg.cholesky(cov)
    if method == "svd":
        vectors, values, _ = xp.linalg.svd(cov)
    else:
        values, vectors = xp.linalg.eigh(cov)
        # Rounding may make those of a singular matrix negative.
        values = xp.maximum(values, xp.zeros_like(values))
    return vectors * xp.expand_dims(xp.sqrt(values), axis=-2)


def orthogonal(key: Array, /, n: int, shape: Any = (), dtype: DType | None = None, m: int | None = None) -> Array:
    xp = array_namespace(key)
    columns = n if m is None else m
    x = normal(key, (*shape, max(n, columns), min(n, columns)), dtype)
    q, r = xp.linalg.qr(x)
    diagonal = xp.linalg.diagonal(r)
    # The factorization's choice of signs would not be uniform.
    q = q * xp.expand_dims(xp.sign(diagonal), axis=-2)
    return xp.matrix_transpose(q) if n < columns else q


def ball(key: Array, /, d: int, p: Array | float = 2.0, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key, p)
    keys = split(key)
    x = generalized_normal(keys[0, ...], p, (*shape, d), dtype)
    norm = plain_sum(xp, xp.abs(x) ** p, axis=-1) + exponential(keys[1, ...], shape, dtype)
    return x / xp.expand_dims(norm ** (1.0 / p), axis=-1)
