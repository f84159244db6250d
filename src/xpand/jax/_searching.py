"""Searching."""

from functools import partial

import jax
import jax.numpy as jnp

from .._typing import Array

__all__ = ["searchsorted"]


@partial(jax.jit, static_argnames=("side", "method"), inline=True)
def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None, *, method: str = "scan") -> Array:
    """Indices that keep the one-dimensional `a` sorted when `v` is inserted there.

    The standard asks for the default index type; JAX takes the smallest that holds the length of `a`.
    """
    return jnp.searchsorted(a, v, side=side, sorter=sorter, method=method).astype(int)
