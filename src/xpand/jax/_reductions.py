"""Searching, membership, cumulative products, reductions and sums of products.

`max` and `min` must return NaN if there is one, in the standard and in JAX. But XLA (of JAX 0.10, on the CPU) ignores
NaN in these reductions over a few thousand numbers of float32 or float64. So the functions here also search for NaN,
which takes the same time again. They do this for every size, because under `vmap` the size of the batch is unknown.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from operator import index
from typing import Any, Final

import jax
import jax.numpy as jnp

from .._common.integers import insertion
from ..typing import DType, LibraryArray as Array
from ._numbers import INTEGERS, limits_of

__all__ = ["all", "any", "cumulative_prod", "isin", "max", "min", "searchsorted", "tensordot"]


@partial(jax.jit, static_argnames=("side", "method"), inline=True)
def _searchsorted(a: Array, v: Array, side: str, sorter: Array | None, *, method: str) -> Array:
    return jnp.searchsorted(a, v, side=side, sorter=sorter, method=method).astype(int)


def searchsorted(a: Array, v: Array, side: str = "left", sorter: Array | None = None, *, method: str = "scan") -> Array:
    """Return the indices at which to insert `v` into the sorted one-dimensional `a`.

    They have the default index type, as the standard requires; JAX uses the smallest type for the length of `a`.
    """
    if type(v) is int and hasattr(a, "dtype"):
        limits = limits_of(a.dtype)
        if limits is not None:
            v, side = insertion(v, side, limits)
        v = INTEGERS.converted(v, a.dtype)
    return _searchsorted(a, v, side, sorter, method=method)


def isin(
    element: Array, test_elements: Array, assume_unique: bool = False, invert: bool = False, *, method: str = "auto"
) -> Array:
    """Return whether each of `element` is in `test_elements`.

    Either one may be a Python scalar, which gets the data type of the other one.
    """
    x, values = INTEGERS.sought(element, test_elements), INTEGERS.sought(test_elements, element)
    if x is None or values is None:  # no array of this data type has the integer
        x, values = jnp.asarray(0 if x is None else x), jnp.zeros(0, dtype=int)
    return jnp.isin(x, values, assume_unique=assume_unique, invert=invert, method=method)


def _nonzero(a: Array) -> Array:
    """Compare complex numbers with zero. JAX only looks at the real part, so it treats `1j` as False."""
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
    """Return whether all elements are true, which means nonzero, also for imaginary numbers."""
    return jnp.all(_nonzero(a), axis, out, keepdims, where=where)


def any(
    a: Array,
    axis: int | Sequence[int] | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Array | None = None,
) -> Array:
    """Return whether any element is true, which means nonzero, also for imaginary numbers."""
    return jnp.any(_nonzero(a), axis, out, keepdims, where=where)


def _accumulator(dtype: DType) -> DType:
    """Return the data type of the standard's sums and products of `dtype`: at least the default of its kind."""
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
    """Return the cumulative product along an axis, after a one if `include_initial`.

    The result of small integers has the default integer type, as in the standard; JAX keeps the small type.
    """
    if dtype is None:
        dtype = _accumulator(x.dtype)
    return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


_WITHOUT_NAN: Final = ("float32", "float64")
"""The data types for which XLA ignores NaN."""

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
    function.__doc__ = f"Compute `jax.numpy.{native.__name__}`; the result is NaN if an element is NaN."
    compiled: Callable[..., Array] = jax.jit(function, static_argnames=("axis", "keepdims"), inline=True)
    return compiled


def with_nan(found: Array, a: Array, axis: Axes, keepdims: bool, where: Array | None = None) -> Array:
    """Replace the result of a reduction by NaN if an element is NaN."""
    if found.dtype not in _WITHOUT_NAN:
        return found
    # XLA compares 32 numbers of uint8 at a time. `any` takes two to four times as long.
    found_nan = jnp.max(jnp.isnan(a).astype(jnp.uint8), axis=axis, keepdims=keepdims, where=where, initial=0)
    # A factor makes the derivatives NaN, too.
    return found * jnp.where(found_nan > 0, jnp.nan, 1.0)


max = _extreme(jnp.max)
min = _extreme(jnp.min)


@wraps(jnp.tensordot)
def tensordot(a: Array, b: Array, axes: Any = 2, **kwargs: Any) -> Array:
    if not isinstance(axes, (int, Sequence)):
        axes = index(axes)  # JAX takes no integer of NumPy
    return jnp.tensordot(a, b, axes, **kwargs)
