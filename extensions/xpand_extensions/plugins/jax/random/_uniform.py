"""Uniform and normal numbers, integers and booleans on JAX: its own."""

from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array, DType, checks
from xpand_extensions.generic.random import _uniform as generic


def uniform(
    key: Array,
    /,
    shape: Any = (),
    dtype: DType | None = None,
    minval: Array | float = 0.0,
    maxval: Array | float = 1.0,
) -> Array:
    return jax.random.uniform(key, shape, dtype, minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.normal(key, shape, dtype)


def randint(key: Array, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    info = jnp.iinfo(dtype)
    # JAX wraps bounds beyond 32 bits where the data type is narrower than that, and takes no integers beyond 64.
    low, high = (_clipped(x, info.min, info.max + 1) for x in (minval, maxval))
    if any(not checks.is_array(x) and x >= 2**63 for x in (low, high)):
        return generic.randint(key, shape, low, high, dtype)
    return jax.random.randint(key, shape, low, high, dtype)


def _clipped(x: Any, low: int, high: int) -> Any:
    if not checks.is_array(x):
        return min(max(x, low), high)
    info = jnp.iinfo(x.dtype)
    return x if info.bits <= 32 or high > 2**31 else jnp.clip(x, max(low, info.min), high)


def bernoulli(key: Array, /, p: Array | float = 0.5, shape: Any = None, mode: Any = "low") -> Array:
    return jax.random.bernoulli(key, p, shape, mode)


def rademacher(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.rademacher(key, shape, dtype)
