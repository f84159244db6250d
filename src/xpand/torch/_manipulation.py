"""Shapes, order, joining and indexing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..typing import LibraryArray as Array
from ._binary import refuse_names
from ._concrete import is_nonnegative
from ._dtypes import KINDS, SIGNED, result_type, to_signed

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "take",
    "take_along_axis",
    "unstack",
]

_UNSIGNED = KINDS["unsigned integer"]
_MANY = 10_000
"""From this number of indices on, `index_select` is faster than indexing, even after a check for negative indices."""

# The same function as `torch.moveaxis`, which fails under vmap.
moveaxis = torch.movedim


def _joinable(function: str, arrays: Sequence[Array]) -> Sequence[Array]:
    """Convert arrays to one data type. PyTorch does not promote unsigned integers mixed with another type."""
    try:
        first = arrays[0].dtype
        for array in arrays:
            if array.dtype is not first:
                dtype = result_type(*arrays)
                return [a.to(dtype) for a in arrays]
    except AttributeError:
        found = next(type(x).__name__ for x in arrays if not isinstance(x, torch.Tensor))
        raise TypeError(
            f"{function}: takes a list of tensors, got one with {found}; turn numbers and lists into tensors with "
            "`xp.asarray`"
        ) from None
    return arrays


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0, **kwargs: Any) -> Array:
    """Join arrays along an existing axis, or flatten and join them if `axis` is None."""
    if kwargs:
        refuse_names("concat", kwargs)
    if axis is None:
        arrays = [a.flatten() for a in arrays]
        axis = 0
    return torch.concat(_joinable("concat", arrays), axis, **kwargs)


def stack(arrays: Sequence[Array], /, *, axis: int = 0, **kwargs: Any) -> Array:
    """Join arrays of the same shape along a new axis."""
    if kwargs:
        refuse_names("stack", kwargs)
    return torch.stack(_joinable("stack", arrays), axis, **kwargs)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of `x` along an axis."""
    if x.ndim == 0:
        raise ValueError("unstack: `x` has no dimension to split along; add one with `expand_dims`")
    return tuple(torch.unbind(x, axis))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that the given shapes broadcast to; an error is a ValueError, not PyTorch's RuntimeError."""
    ndim = max([0, *map(len, shapes)])
    result = [1] * ndim
    for shape in shapes:
        for axis, side in enumerate(shape, ndim - len(shape)):
            if side != 1 and side != result[axis]:
                if result[axis] != 1:
                    raise ValueError(
                        f"broadcast_shapes: shapes {', '.join(map(str, map(tuple, shapes)))} do not broadcast: "
                        f"sizes {result[axis]} and {side} meet on axis {axis - ndim}; they must be equal or 1"
                    )
                result[axis] = side
    return tuple(result)


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Return views of the arrays in their common shape."""
    return tuple(torch.broadcast_tensors(*arrays)) if arrays else ()


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return a view of `x` in the given shape."""
    return torch.broadcast_to(x, shape)


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """Return a view of `x` with its axes in the given order."""
    return torch.permute(x, axes)


def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return a view of `x` with axes of size 1 at the given positions of the result, or raise an IndexError."""
    if not isinstance(axis, (tuple, list)):
        return torch.unsqueeze(x, axis)
    ndim = x.ndim + len(axis)
    positions = [a + ndim if a < 0 else a for a in axis]
    if not all(0 <= a < ndim for a in positions):
        raise IndexError(f"expand_dims: `axis` is {axis}; expected axes of {ndim} dimensions, {-ndim} to {ndim - 1}")
    if len(set(positions)) < len(positions):
        raise ValueError(f"expand_dims: `axis` is {axis}, which names an axis twice")
    for a in sorted(positions):
        x = torch.unsqueeze(x, a)
    return x


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Return a view of `x` without the given axes; if a size is not 1, raise a ValueError, unlike PyTorch."""
    shape = x.shape
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {tuple(shape)} has size {shape[a]}; expected 1")
    return torch.squeeze(x, axis)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return `x` in another shape; `copy=False` raises a ValueError if a copy is needed."""
    if copy is None:
        return torch.reshape(x, shape)
    if copy:
        return x.clone(memory_format=torch.contiguous_format).view(shape)
    try:
        return x.view(shape)
    except RuntimeError as error:
        raise ValueError(
            f"reshape: {tuple(x.shape)} to {tuple(shape)} takes a copy, which copy=False forbids: {error}"
        ) from error


def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Reverse the order of the elements of `x` along all axes, or the given ones."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    return to_signed(x).flip(axes).view(x.dtype) if x.dtype in SIGNED else x.flip(axes)


def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Roll `x` along the given axes, or the flattened array; a single shift is used for all axes."""
    if isinstance(axis, tuple) and not isinstance(shift, (tuple, list)):
        shift = (shift,) * len(axis)
    return torch.roll(x, shift, axis)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None, **kwargs: Any) -> Array:
    """Repeat each element along an axis, or of the flattened array; `repeats` may have any integer type."""
    if isinstance(repeats, Tensor) and repeats.dtype is not torch.int64:
        repeats = repeats.to(torch.int64)
    if x.dtype in SIGNED:
        return torch.repeat_interleave(to_signed(x), repeats, axis, **kwargs).view(x.dtype)
    return torch.repeat_interleave(x, repeats, axis, **kwargs)


def _from_the_end(indices: Array, size: int) -> Array:
    """Convert indices to nonnegative int64. Negative indices count from the end, which PyTorch's functions lack."""
    if indices.dtype is not torch.int64:
        unsigned = indices.dtype in _UNSIGNED
        indices = indices.to(torch.int64)
        if unsigned:
            return indices
    return indices if is_nonnegative(indices) else torch.add(indices, indices < 0, alpha=size)


def take(x: Array, indices: Array, /, *, axis: int | None = None, **kwargs: Any) -> Array:
    """Return the elements of `x` at `indices` along an axis, which may be omitted if `x` has one dimension."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: `axis` must be given for an array of {x.ndim} dimensions")
        axis = 0
    if x.ndim == 1 and not kwargs and indices.numel() < _MANY:
        # Indexing supports negative indices. For more indices, `index_select` is three times as fast. uint8 has to be
        # converted, because PyTorch treats it as a mask.
        return x[indices if indices.dtype is torch.int64 else indices.to(torch.int64)]
    if indices.ndim != 1 and not kwargs:  # beyond the standard; `index_select` would treat shape () as (1,)
        found = take(x, indices.reshape(-1), axis=axis)
        return found.unflatten(axis, indices.shape) if indices.ndim else found.squeeze(axis)
    indices = _from_the_end(indices, x.size(axis))
    if x.dtype in SIGNED:
        return torch.index_select(to_signed(x), axis, indices).view(x.dtype)
    return torch.index_select(x, axis, indices, **kwargs)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements of `x` at `indices` along an axis, one for each index."""
    indices = _from_the_end(indices, x.size(axis))
    values = to_signed(x) if x.dtype in SIGNED else x
    if x.ndim == indices.ndim == 1 or x.shape == indices.shape:
        found = torch.gather(values, axis, indices)
    else:  # takes three times as long, but broadcasts
        found = torch.take_along_dim(values, indices, axis)
    return found.view(x.dtype) if values is not x else found
