"""Keys and bits on JAX: its own, whose functions are compiled already."""

from typing import Any

import jax

from xpand.extend import Array, DType


def key_of_seed(seed: Array, /) -> Array:
    return jax.random.PRNGKey(seed)


def key_data(key: Array, /) -> Array:
    return jax.random.key_data(key) if jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def split(key: Array, /, num: Any = 2) -> Array:
    return jax.random.split(key, num)


def fold_in(key: Array, /, data: Array | int) -> Array:
    return jax.random.fold_in(key, data)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    return jax.random.bits(key, shape, dtype)
