"""Sparse triangles on JAX, solved level by level in one compiled loop, which writes into the solution."""

from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array


@jax.jit  # type: ignore[untyped-decorator]
def solve_levels(b: Array, weights: Array, columns: Array, diagonal: Array, rows: Array, slots: Array, /) -> Array:
    steps, width, _ = columns.shape
    right = jnp.concatenate([b, jnp.zeros_like(b[..., :1])], axis=-1)[..., rows]

    def advance(x: Array, each: tuple[Any, ...]) -> tuple[Array, None]:
        step, columns, weights, diagonal, right = each
        found = (right - jnp.sum(weights * x[..., columns], axis=-1)) / diagonal
        return jax.lax.dynamic_update_slice_in_dim(x, found, step * width, axis=-1), None

    parts = (
        jnp.arange(steps),
        columns,
        jnp.moveaxis(weights, -3, 0),
        jnp.moveaxis(diagonal, -2, 0),
        jnp.moveaxis(right, -2, 0),
    )
    x, _ = jax.lax.scan(advance, jnp.zeros((*b.shape[:-1], steps * width), b.dtype), parts)
    return x[..., slots]
