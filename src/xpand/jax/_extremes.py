"""Reductions to the largest and the smallest, which are NaN where there is one.

The standard asks for that, and so does JAX. But XLA (of JAX 0.10, on the CPU) leaves NaN out of these reductions where
they are over some thousand numbers of float32 or float64. So the same program also searches for NaN, which takes as
long again. It does so at every size: under `vmap` the size of the batch is unknown.
"""

from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp

from .._typing import Array

__all__ = ["max", "min"]

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
    is_nan = jnp.any(jnp.isnan(a), axis=axis, keepdims=keepdims, where=where)
    # By a factor, so that the derivatives are NaN too.
    return found * jnp.where(is_nan, jnp.nan, 1.0)


max = _extreme(jnp.max)
min = _extreme(jnp.min)
