"""Functions that change the shape or the order of elements."""

import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...typing import LibraryArray as Array
from ._blocks import gather


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to their common shape."""
    return tuple(da.broadcast_arrays(*arrays))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0, allow_unknown_chunksizes: bool = False) -> Array:
    """Join arrays along an axis, or flatten and join them if `axis` is None."""
    if axis is None:
        arrays, axis = [reshape(x, (-1,)) for x in arrays], 0
    return da.concatenate(arrays, axis=axis, allow_unknown_chunksizes=allow_unknown_chunksizes)


def expand_dims(x: Array, /, axis: int | tuple[int, ...] = 0) -> Array:
    """Insert axes of size one at one or more positions of the result."""
    if not isinstance(axis, (tuple, list)):
        return da.expand_dims(x, axis)
    ndim = x.ndim + len(axis)
    inserted = normalize_axis_tuple(axis, ndim, argname="axis")
    return x[tuple(None if i in inserted else slice(None) for i in range(ndim))]


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Reorder the axes."""
    return da.transpose(x, axes)


def matrix_transpose(x: Array, /) -> Array:
    """Exchange the last two axes."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x must have at least two axes, got shape {x.shape}")
    return da.swapaxes(x, -1, -2)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None, **kwargs: Any) -> Array:
    """Reshape in row-major order. Lazy arrays share no memory, so `copy` does not matter."""
    if 0 in x.shape:
        # For empty arrays, Dask's result depends on the chunks. One flat chunk fits any shape.
        x = da.zeros((0,), dtype=x.dtype, meta=x._meta.reshape(-1)[:0])
    try:
        result = da.reshape(x, shape, **kwargs)
    except NotImplementedError:
        # Dask only merges or splits chunked axes that fit. The flattened array fits any shape.
        result = da.reshape(da.ravel(x), shape, **kwargs)
    return result.copy() if copy else result


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element along an axis, or of the flattened array if `axis` is None.

    If `repeats` is a Dask array, the size of the result depends on its values, so it is unknown.
    """
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    if isinstance(repeats, int):
        return da.repeat(x, repeats, axis=axis) if x.shape[axis] else x
    if not isinstance(repeats, da.Array):
        repeats = np.asarray(repeats)
        if repeats.size == 1:
            return da.repeat(x, int(repeats.item()), axis=axis)
    elif repeats.ndim == 0:
        repeats = repeats.reshape(1)
    if repeats.ndim != 1 or not (repeats.shape[0] == x.shape[axis] or repeats.shape[0] == 1):
        raise ValueError(
            f"repeat: repeats must have shape (1,) or ({x.shape[axis]},), the size of axis {axis}, got {repeats.shape}"
        )
    if isinstance(repeats, da.Array):
        size, operand = math.nan, repeats
    else:
        size, operand = int(repeats.sum()), da.from_array(repeats)
    index = tuple(range(x.ndim))
    output = (*index[:axis], x.ndim, *index[axis + 1 :])
    return gather(
        "repeat", output, (x, index), (operand, (x.ndim + 1,)), dtype=x.dtype, sizes={x.ndim: size}, axis=axis
    )


def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Roll elements along axes. Elements that leave at one end enter at the other."""
    if isinstance(axis, (tuple, list)) and not isinstance(shift, (tuple, list)):
        # "If shift is a scalar and axis a tuple, the same shift must be used for all specified axes."
        shift = (shift,) * len(axis)
    if 0 in x.shape:  # there is nothing to move, and Dask would divide by zero
        return x
    return da.roll(x, shift, axis=axis)


def tile(x: Array, repetitions: tuple[int, ...] | int, /) -> Array:
    """Repeat the whole array along each axis."""
    return da.tile(x, repetitions)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of an array along an axis."""
    before = (slice(None),) * normalize_axis_index(axis, x.ndim)
    size = x.shape[axis]
    if math.isnan(size):
        raise ValueError(f"unstack: the size of axis {axis} is unknown; call x.compute_chunk_sizes() first")
    return tuple(x[(*before, i)] for i in range(size))
