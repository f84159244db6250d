"""Random orders and choices on JAX: its own."""

from typing import Any

import jax

from xpand.extend import Array


def permutation(key: Array, /, x: Array | int, axis: int = 0, independent: bool = False) -> Array:
    return jax.random.permutation(key, x, axis, independent)


def choice(
    key: Array,
    /,
    a: Array | int,
    shape: Any = (),
    replace: bool = True,
    p: Array | None = None,
    axis: int = 0,
    mode: Any = None,
) -> Array:
    return jax.random.choice(key, a, shape, replace, p, axis, mode)
