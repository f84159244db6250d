"""Uniform and normal numbers on JAX: its own."""

from typing import Any

import jax

from xpand._typing import Array, DType


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
    return jax.random.randint(key, shape, minval, maxval, dtype)


def bernoulli(key: Array, /, p: Array | float = 0.5, shape: Any = None, mode: Any = "low") -> Array:
    return jax.random.bernoulli(key, p, shape, mode)


def rademacher(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.rademacher(key, shape, dtype)
