"""Searching, and membership."""

from functools import partial

import jax
import jax.numpy as jnp

from .._typing import LibraryArray as Array

__all__ = ["isin", "searchsorted"]

_MAX_INT64 = 2**63 - 1


@partial(jax.jit, static_argnames=("side", "method"), inline=True)
def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None, *, method: str = "scan") -> Array:
    """Indices that keep the one-dimensional `a` sorted when `v` is inserted there.

    The standard asks for the default index type; JAX takes the smallest that holds the length of `a`.
    """
    return jnp.searchsorted(a, v, side=side, sorter=sorter, method=method).astype(int)


def _with_dtype_of(x: Array | int, other: Array | int) -> Array | int:
    """`x`, a Python integer beyond int64 as an array of the type of `other`: JAX takes every other one by itself."""
    return jnp.asarray(x, dtype=other.dtype) if type(x) is int and x > _MAX_INT64 and hasattr(other, "dtype") else x


def isin(
    element: Array,
    test_elements: Array,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Whether each of `element` is among `test_elements`.

    Either may be a Python scalar by the standard, which has the type of the other: JAX takes no integer that only
    uint64 holds.
    """
    element, test_elements = _with_dtype_of(element, test_elements), _with_dtype_of(test_elements, element)
    return jnp.isin(element, test_elements, assume_unique=assume_unique, invert=invert, method=method)
