"""Changes of shape whose results or errors in JAX differ from the standard's."""

from collections.abc import Sequence
from functools import partial
from operator import index

import jax
import jax.numpy as jnp
from jax import lax

from ..typing import Array

__all__ = ["broadcast_arrays", "expand_dims", "meshgrid", "permute_dims"]


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to their common shape. The standard requires a tuple; JAX returns a list."""
    return tuple(jnp.broadcast_arrays(*arrays))


def meshgrid(*arrays: Array, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> tuple[Array, ...]:
    """Return the coordinate arrays of one-dimensional arrays. The standard requires a tuple; JAX returns a list."""
    return tuple(jnp.meshgrid(*arrays, copy=copy, sparse=sparse, indexing=indexing))


@partial(jax.jit, static_argnames="axes", inline=True)
def _expand(a: Array, axes: tuple[int, ...]) -> Array:
    ndim = jnp.ndim(a) + len(axes)
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(
                f"expand_dims: `axis` {axis} is out of bounds for a result of {ndim} dimensions; "
                f"use one from {-ndim} to {ndim - 1}"
            )
    return jnp.expand_dims(a, axes)


def expand_dims(a: Array, axis: int | Sequence[int] = 0) -> Array:
    """Insert axes of length one at the given positions of the result.

    An axis out of bounds raises an IndexError, as the standard requires; JAX raises a ValueError.
    """
    return _expand(a, (axis,) if type(axis) is int else _as_axes(axis))


def _as_axes(axis: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(map(index, axis)) if isinstance(axis, Sequence) else (index(axis),)


def permute_dims(a: Array, /, axes: Sequence[int]) -> Array:
    """Reorder the axes. Negative axes count from the end, as in the standard; JAX rejects them."""
    if min(axes, default=0) < 0:
        axes = [axis + len(axes) if axis < 0 else axis for axis in axes]
    return lax.transpose(a, axes)
