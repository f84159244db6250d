"""`jax.numpy.linalg`, which conforms to the standard's `linalg` extension, except for norms of NaN."""

from functools import partial
from math import inf
from typing import Any, Final

import jax
import jax.numpy.linalg as _native
from jax.numpy.linalg import *

from ..typing import Array
from ._reductions import tensordot as tensordot, with_nan

__all__ = [name for name in dir(_native) if not name.startswith("_")]

_OF_EXTREMES: Final = (inf, -inf, 1, -1)
"""The norms that are the largest or smallest sum of a row or column."""


def __dir__() -> list[str]:
    return __all__


@partial(jax.jit, static_argnames=("axis", "keepdims", "ord"), inline=True)
def vector_norm(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: Any = 2
) -> Array:
    """Return norms of vectors, which are NaN if an element is NaN; XLA ignores NaN in maxima and minima."""
    found = _native.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return with_nan(found, x, axis, keepdims) if ord in (inf, -inf) else found


@partial(jax.jit, static_argnames=("keepdims", "ord"), inline=True)
def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """Return norms of matrices, which are NaN if an element is NaN; XLA ignores NaN in maxima and minima."""
    found = _native.matrix_norm(x, keepdims=keepdims, ord=ord)
    return with_nan(found, x, (-2, -1), keepdims) if ord in _OF_EXTREMES else found
