"""Elementwise functions of an array and a Python integer that JAX wraps around, or that needs more than int64.

JAX converts Python integers to int64 (int32 without 64-bit types) and then, without a check, to the array's data type.
"""

from functools import partial, wraps
from typing import Any, Final

import jax.numpy as jnp

from .._common.integers import BINARY, Integers
from ..typing import DType, LibraryArray as Array
from . import _elementwise as corrected

__all__ = [*BINARY, "clip", "mod", "where"]

_LIMITS: Final[dict[DType, tuple[int, int] | None]] = {}


def limits_of(dtype: DType) -> tuple[int, int] | None:
    """Return the smallest and the largest number of an integer data type, and None for others."""
    if dtype not in _LIMITS:
        info = jnp.iinfo(dtype) if jnp.issubdtype(dtype, jnp.integer) else None
        _LIMITS[dtype] = None if info is None else (int(info.min), int(info.max))
    return _LIMITS[dtype]


def _accepted(_: DType) -> tuple[int, int]:
    # Python integers become int64, or int32 without 64-bit types.
    limits = limits_of(jnp.dtype(jnp.int_))
    assert limits is not None
    return limits


INTEGERS: Final = Integers(partial(getattr, jnp), limits_of, _accepted)

globals().update(
    (name, INTEGERS.correct(name, getattr(corrected if name in corrected.__all__ else jnp, name))) for name in BINARY
)
mod = globals()["remainder"]


@wraps(jnp.where)
def where(condition: Array, x: Any = None, y: Any = None, /, **kwargs: Any) -> Array:
    if type(x) is int:
        x = INTEGERS.element("where", x, y)
    elif type(y) is int:
        y = INTEGERS.element("where", y, x)
    return jnp.where(condition, x, y, **kwargs)


@wraps(jnp.clip)
def clip(arr: Any = None, /, min: Any = None, max: Any = None, **kwargs: Any) -> Array:
    if type(min) is int:
        min = INTEGERS.bound(min, arr)
    if type(max) is int:
        max = INTEGERS.bound(max, arr)
    return jnp.clip(arr, min, max, **kwargs)
