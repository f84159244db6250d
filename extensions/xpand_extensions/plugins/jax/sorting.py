"""Order among values on JAX: compiled, but on the CPU by NumPy's selection if the values are concrete."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import sorting as generic
from xpand_extensions.plugins.numpy import sorting as host
from xpand_extensions.sorting import Side, TopK

from ._rows import is_on_host

_FEW = 4096  # up to this number of values, XLA's sort is faster than the conversions


def _on_host(x: Array) -> bool:
    """Return whether NumPy can read the values without a copy and is faster: XLA's sort is slow on the CPU."""
    return x.size > _FEW and x.dtype.kind in "iuf" and is_on_host(x)


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    if (x.dtype == jnp.float32 and largest) or not _on_host(x):
        return TopK(*_top_k(x, k, axis, largest))
    values, indices = host.top_k(np.asarray(x), k, axis=axis, largest=largest)
    return TopK(*jax.device_put((values, indices), x.device))


@partial(jax.jit, static_argnums=(1, 2, 3))
def _top_k(x: Array, k: int, axis: int, largest: bool) -> TopK:
    key = jnp.moveaxis(jax.lax.stop_gradient(x), axis, -1)
    if jnp.issubdtype(x.dtype, jnp.floating):
        # JAX sorts -0.0 below 0.0, and NaN with a negative sign below all numbers.
        key = jnp.where(key == 0, 0, key if largest else -key)
        key = jnp.where(jnp.isnan(key), jnp.copysign(jnp.nan, 1 if largest else -1).astype(key.dtype), key)
    elif not largest:
        key = ~key
    indices = jnp.moveaxis(jax.lax.top_k(key, k)[1], -1, axis).astype(jnp.arange(0).dtype)
    return TopK(jnp.take_along_axis(x, indices, axis), indices)


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    if _on_host(x):
        return jax.device_put(host.partition(np.asarray(x), kth, axis=axis), x.device)
    return jnp.sort(x, axis=axis)


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    if _on_host(x):
        return jax.device_put(host.argpartition(np.asarray(x), kth, axis=axis), x.device)
    return jnp.argsort(x, axis=axis)


@partial(jax.jit, static_argnames="side")
def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    if sorter is not None:
        x1 = jnp.take_along_axis(x1, sorter, -1)
    search = partial(jnp.searchsorted, side=side)
    dtype = jnp.arange(0).dtype
    if x1.ndim == 1:
        return search(x1, x2).astype(dtype)
    lead = jnp.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    x1, x2 = jnp.broadcast_to(x1, (*lead, x1.shape[-1])), jnp.broadcast_to(x2, (*lead, x2.shape[-1]))
    for _ in lead:
        search = jax.vmap(search)
    return search(x1, x2).astype(dtype)


_STATIC = ("axis", "return_index", "return_inverse", "return_counts", "size", "fill_value")
_unique = jax.jit(generic.unique, static_argnames=_STATIC)


@forwards_to(generic.unique)
def unique(x: Array, /, *, size: int | None = None, **options: Any) -> Any:
    compute = generic.unique if size is None else _unique
    return compute(x, size=size, **options)
