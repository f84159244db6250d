"""Cumulative products."""

from functools import partial

import jax
import jax.numpy as jnp

from .._typing import Array, DType

__all__ = ["cumulative_prod"]


def _accumulator(dtype: DType) -> DType:
    """The type that the standard's sums and products of `dtype` have: at least the default of its kind."""
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
    """Cumulative product along an axis, with a leading one if `include_initial`.

    Small integers accumulate in the default integer type by the standard; JAX keeps the small one.
    """
    if dtype is None:
        dtype = _accumulator(x.dtype)
    return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
