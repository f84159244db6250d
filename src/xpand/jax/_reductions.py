"""Searching, membership, cumulative products, and reductions.

The largest and the smallest are NaN where there is one. The standard asks for that, and so does JAX. But XLA (of JAX
0.10, on the CPU) leaves NaN out of these reductions where they are over some thousand numbers of float32 or float64. So
the same program also searches for NaN, which takes as long again. It does so at every size: under `vmap` the size of
the batch is unknown.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import jax
import jax.numpy as jnp

from ..typing import DType, LibraryArray as Array

__all__ = ["all", "any", "cumulative_prod", "isin", "max", "min", "searchsorted"]

_MAX_INT64 = 2**63 - 1


@partial(jax.jit, static_argnames=("side", "method"), inline=True)
def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None, *, method: str = "scan") -> Array:
    """Return the indices that keep the one-dimensional `a` sorted when `v` is inserted there.

    The standard asks for the default index type; JAX takes the smallest that holds the length of `a`.
    """
    return jnp.searchsorted(a, v, side=side, sorter=sorter, method=method).astype(int)


def _with_dtype_of(x: Array | int, other: Array | int) -> Array | int:
    """Return `x`; a Python integer beyond int64 becomes an array of the data type of `other`, as JAX needs."""
    return jnp.asarray(x, dtype=other.dtype) if type(x) is int and x > _MAX_INT64 and hasattr(other, "dtype") else x


def isin(
    element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Array:
    """Return whether each of `element` is among `test_elements`.

    Either may be a Python scalar by the standard, which has the type of the other: JAX takes no integer that only
    uint64 holds.
    """
    element, test_elements = _with_dtype_of(element, test_elements), _with_dtype_of(test_elements, element)
    return jnp.isin(element, test_elements, assume_unique=assume_unique, invert=invert, method=method)


def _nonzero(a: Array) -> Array:
    """Compare complex numbers with zero: JAX looks at their real part alone, so that `1j` counts as false."""
    kind = a.dtype.kind if hasattr(a, "dtype") else "c" if type(a) is complex else ""
    return jnp.not_equal(a, 0) if kind == "c" else a


def all(
    a: Array,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
) -> Array:
    """Return whether all elements are true. The standard counts every nonzero number as true, imaginary ones too."""
    return jnp.all(_nonzero(a), axis, out, keepdims, where=where)


def any(
    a: Array,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
) -> Array:
    """Return whether any element is true. The standard counts every nonzero number as true, imaginary ones too."""
    return jnp.any(_nonzero(a), axis, out, keepdims, where=where)


def _accumulator(dtype: DType) -> DType:
    """Return the type that the standard's sums and products of `dtype` have: at least the default of its kind."""
    if not jnp.isdtype(dtype, ("integral", "bool")):
        return dtype
    default = jnp.asarray(0).dtype
    if jnp.isdtype(dtype, "unsigned integer"):
        default = jnp.dtype(f"u{default.name}")
    return default if default.itemsize > dtype.itemsize else dtype


@partial(jax.jit, static_argnames=("axis", "dtype", "include_initial"), inline=True)
def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Array:
    """Return the cumulative product along an axis, with a leading one if `include_initial`.

    Small integers accumulate in the default integer type by the standard; JAX keeps the small one.
    """
    if dtype is None:
        dtype = _accumulator(x.dtype)
    return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


_LEFT_OUT: Final = ("float32", "float64")
"""The data types that XLA leaves NaN out of; of complex numbers it takes the real parts."""

Axes = int | tuple[int, ...] | None


def _extreme(native: Callable[..., Array]) -> Callable[..., Array]:
    def function(
        a: Array,
        axis: Axes = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Array | None = None,
    ) -> Array:
        found = native(a, axis=axis, out=out, keepdims=keepdims, initial=initial, where=where)
        return with_nan(found, a, axis, keepdims, where)

    function.__name__ = function.__qualname__ = native.__name__
    function.__doc__ = f"`jax.numpy.{native.__name__}`; NaN where an element is, by the standard's special cases."
    compiled: Callable[..., Array] = jax.jit(function, static_argnames=("axis", "keepdims"), inline=True)
    return compiled


def with_nan(found: Array, a: Array, axis: Axes, keepdims: bool, where: Array | None = None) -> Array:
    """Put NaN for what has been found of numbers among which there is one."""
    if found.dtype not in _LEFT_OUT:
        return found
    # As uint8, of which XLA compares 32 at a time: `any` takes two to four times as long.
    found_nan = jnp.max(jnp.isnan(a).astype(jnp.uint8), axis=axis, keepdims=keepdims, where=where, initial=0)
    # By a factor, so that the derivatives are NaN too.
    return found * jnp.where(found_nan > 0, jnp.nan, 1.0)


max = _extreme(jnp.max)
min = _extreme(jnp.min)
