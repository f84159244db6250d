"""Indexing on JAX: the generic version, compiled, after a check of concrete indices."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import xpand.jax as xp
from xpand import is_concrete
from xpand.extend import LibraryArray as Array, Scalar
from xpand_extensions._bounds import Mode, index_dtype
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import indexing as generic
from xpand_extensions.generic.indexing._read import along, masked, nonzero_padded
from xpand_extensions.indexing._slice import SliceMode

from ._linear import Rows
from ._placement import argument, placed_like
from ._rows import are_offsets, is_on_host, mode_once_checked


def _fill(x: Array, value: Array | Scalar | None) -> Array | None:
    """Convert a fill value to an array: compiled functions accept no integers beyond int64."""
    return None if value is None else argument(value, x.dtype)


def _read(x: Array, index: Array, /, *, axis: int) -> Array:
    return Rows(x.ndim - 1 - axis).read(x, index)


@partial(jax.jit, static_argnames=("axis", "mode"))
def _take(x: Array, indices: Array, *, axis: int, mode: Mode | None, fill_value: Array | None) -> Array:
    return along("take", _read, x, indices, axis, mode, fill_value)


_take_along_axis = jax.jit(generic.take_along_axis, static_argnames=("axis", "mode"))
_gather = jax.jit(generic.gather, static_argnames=("axis", "batch_dims", "mode"))
_gather_nd = jax.jit(generic.gather_nd, static_argnames=("batch_dims", "axes", "mode"))


def take(x: Array, indices: Array, /, *, axis: Any = None, mode: Any = None, fill_value: Any = None) -> Array:
    mode = mode_once_checked("take", x, indices, (axis,), mode)
    return _take(x, indices, axis=axis, mode=mode, fill_value=_fill(x, fill_value))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1, mode: Any = None, fill_value: Any = None) -> Array:
    mode = mode_once_checked("take_along_axis", x, indices, (axis,), mode)
    return _take_along_axis(x, indices, axis=axis, mode=mode, fill_value=_fill(x, fill_value))


@forwards_to(generic.gather)
def gather(x: Array, indices: Array, /, *, mode: Any = None, fill_value: Any = None, **where: int) -> Array:
    options = {
        "mode": mode_once_checked("gather", x, indices, (where["axis"],), mode),
        "fill_value": _fill(x, fill_value),
    }
    if where["batch_dims"] == 0:
        return _take(x, indices, axis=where["axis"], **options)
    return _gather(x, indices, **where, **options)


@forwards_to(generic.gather_nd)
def gather_nd(x: Array, indices: Array, /, *, mode: Any = None, fill_value: Any = None, **where: Any) -> Array:
    mode = mode_once_checked("gather_nd", x, indices, where["axes"], mode, multi=True)
    return _gather_nd(x, indices, mode=mode, fill_value=_fill(x, fill_value), **where)


def _positions(mask: Array, size: int) -> Array:
    return jnp.nonzero(mask, size=size, fill_value=mask.shape[0])[0]


_masked = jax.jit(partial(masked, _positions), static_argnums=(2, 3))
_nonzero = jax.jit(partial(nonzero_padded, _positions), static_argnums=(1, 2))


def boolean_mask(x: Array, mask: Array, /, *, axis: int = 0, size: Any = None, fill_value: Any = None) -> Array:
    if size is None:
        if is_on_host(x) and is_on_host(mask):
            # JAX compiles a program for each number of elements. A compiled program still takes 0.6 ms.
            return placed_like(x, np.asarray(x)[(slice(None),) * axis + (np.asarray(mask),)])
        return generic.boolean_mask(x, mask, axis=axis)
    return _masked(x, mask, axis, size, _fill(x, fill_value))


def nonzero(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Array, ...]:
    if size is not None:
        return _nonzero(x, size, fill_value)
    if is_on_host(x):
        dtype = index_dtype(xp)
        return tuple([placed_like(x, part.astype(dtype, copy=False)) for part in np.nonzero(np.asarray(x))])
    return generic.nonzero(x)


_unravel_index = jax.jit(generic.unravel_index, static_argnums=(1,), static_argnames=("mode", "fill_value"))
_ravel_multi_index = jax.jit(generic.ravel_multi_index, static_argnums=(1,), static_argnames=("mode", "fill_value"))


def unravel_index(
    indices: Array, /, shape: tuple[int, ...], *, mode: Mode | None = None, fill_value: int = -1
) -> tuple[Array, ...]:
    if not is_concrete(indices) or mode not in (None, "raise"):
        return _unravel_index(indices, shape, mode=mode, fill_value=fill_value)
    if not are_offsets(indices, math.prod(shape)):
        return generic.unravel_index(indices, shape, mode=mode, fill_value=fill_value)  # raises an error
    return _unravel_index(indices, shape, mode="clip", fill_value=fill_value)


def ravel_multi_index(
    multi_index: tuple[Array, ...], /, shape: tuple[int, ...], *, mode: Mode | None = None, fill_value: int = -1
) -> Array:
    if not all(map(is_concrete, multi_index)) or mode not in (None, "raise"):
        return _ravel_multi_index(multi_index, shape, mode=mode, fill_value=fill_value)
    if not all(map(are_offsets, multi_index, shape)):
        return generic.ravel_multi_index(multi_index, shape, mode=mode, fill_value=fill_value)  # raises an error
    return _ravel_multi_index(multi_index, shape, mode="clip", fill_value=fill_value)


def dynamic_slice(x: Array, /, starts: Any, sizes: Any, *, strides: Any = None, mode: Any = None) -> Array:
    return _dynamic_slice(x, _as_arrays(starts), sizes, strides=strides, mode=mode)


def put_slice(x: Array, values: Array, /, starts: Sequence[int | Array], *, mode: SliceMode | None = None) -> Array:
    if mode == "wrap":
        return _put_slice(x, values, _as_arrays(starts), mode=mode)
    return _update_slice(x, values.astype(x.dtype), _as_arrays(starts))


def _as_arrays(starts: Sequence[int | Array]) -> tuple[Any, ...]:
    """Convert all starts to arrays, so that one compiled function works for all of them."""
    return tuple([argument(start, int) for start in starts])


_dynamic_slice = jax.jit(generic.dynamic_slice, static_argnums=(2,), static_argnames=("strides", "mode"))
_put_slice = jax.jit(generic.put_slice, static_argnames=("mode",))
_update_slice: Callable[..., Array] = jax.jit(lambda x, values, starts: jax.lax.dynamic_update_slice(x, values, starts))


_repeat = jax.jit(generic.repeat, static_argnames=("axis", "total_repeat_length"))
_repeat_each = jax.jit(generic.repeat, static_argnums=(1,), static_argnames=("axis", "total_repeat_length"))


def repeat(
    x: Array, /, repeats: int | Array, *, axis: int | None = None, total_repeat_length: int | None = None
) -> Array:
    compute = generic.repeat if total_repeat_length is None else _repeat
    if isinstance(repeats, int):
        compute = _repeat_each
    return compute(x, repeats, axis=axis, total_repeat_length=total_repeat_length)
