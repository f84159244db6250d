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
"""Indices that are worth a pass, to find out that none is negative."""

# The same function under another name; `torch.moveaxis` itself fails under vmap.
moveaxis = torch.movedim


def _joinable(function: str, arrays: Sequence[Array]) -> Sequence[Array]:
    """Return arrays that PyTorch can promote: it refuses to where unsigned integers are mixed with another type."""
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
    """Return arrays joined along an existing axis; flattened first if `axis` is None."""
    if kwargs:
        refuse_names("concat", kwargs)
    if axis is None:
        arrays = [a.flatten() for a in arrays]
        axis = 0
    return torch.concat(_joinable("concat", arrays), axis, **kwargs)


def stack(arrays: Sequence[Array], /, *, axis: int = 0, **kwargs: Any) -> Array:
    """Return arrays of one shape joined along a new axis."""
    if kwargs:
        refuse_names("stack", kwargs)
    return torch.stack(_joinable("stack", arrays), axis, **kwargs)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of `x` along an axis."""
    if x.ndim == 0:
        raise ValueError("unstack: `x` has no dimension to split along; add one with `expand_dims`")
    return tuple(torch.unbind(x, axis))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that arrays of the given shapes broadcast to; ValueError, where PyTorch raises RuntimeError."""
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
    """Return a view of `x` with axes of size 1 at the given positions of the result; IndexError if there are no such
    positions.
    """
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
    """Return a view of `x` without the given axes; ValueError for an axis whose size is not 1, which PyTorch leaves."""
    shape = x.shape
    for a in axis if isinstance(axis, (tuple, list)) else (axis,):
        if shape[a] != 1:
            raise ValueError(f"squeeze: axis {a} of shape {tuple(shape)} has size {shape[a]}; expected 1")
    return torch.squeeze(x, axis)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Return `x` in another shape; `copy=False` raises ValueError where that takes a copy."""
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
    """Return `x` with the order of its elements reversed along all axes, or the given ones."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    return to_signed(x).flip(axes).view(x.dtype) if x.dtype in SIGNED else x.flip(axes)


def roll(x: Array, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Return `x` rolled along the given axes, or as if it were flat; one shift serves several axes."""
    if isinstance(axis, tuple) and not isinstance(shift, (tuple, list)):
        shift = (shift,) * len(axis)
    return torch.roll(x, shift, axis)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None, **kwargs: Any) -> Array:
    """Return each element repeated along an axis, or flat; `repeats` may be of any integer type."""
    if isinstance(repeats, Tensor) and repeats.dtype is not torch.int64:
        repeats = repeats.to(torch.int64)
    if x.dtype in SIGNED:
        return torch.repeat_interleave(to_signed(x), repeats, axis, **kwargs).view(x.dtype)
    return torch.repeat_interleave(x, repeats, axis, **kwargs)


def _from_the_end(indices: Array, size: int) -> Array:
    """Return indices as int64, with negative ones counted from the end: PyTorch's functions do not count them."""
    if indices.dtype is not torch.int64:
        unsigned = indices.dtype in _UNSIGNED
        indices = indices.to(torch.int64)
        if unsigned:
            return indices
    return indices if is_nonnegative(indices) else torch.add(indices, indices < 0, alpha=size)


def take(x: Array, indices: Array, /, *, axis: int | None = None, **kwargs: Any) -> Array:
    """Return the elements of `x` at `indices` along an axis, which may be omitted where `x` has one dimension."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: `axis` must be given for an array of {x.ndim} dimensions")
        axis = 0
    if x.ndim == 1 and not kwargs and indices.numel() < _MANY:
        # Indexing counts negative indices from the end. Over more elements `index_select` is three times as fast. A
        # uint8 index would be taken for a mask.
        return x[indices if indices.dtype is torch.int64 else indices.to(torch.int64)]
    if indices.ndim != 1 and not kwargs:  # beyond the standard; `index_select` would take shape () for (1,)
        found = take(x, indices.reshape(-1), axis=axis)
        return found.unflatten(axis, indices.shape) if indices.ndim else found.squeeze(axis)
    indices = _from_the_end(indices, x.size(axis))
    if x.dtype in SIGNED:
        return torch.index_select(to_signed(x), axis, indices).view(x.dtype)
    return torch.index_select(x, axis, indices, **kwargs)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements of `x` at `indices`, matched along an axis."""
    indices = _from_the_end(indices, x.size(axis))
    values = to_signed(x) if x.dtype in SIGNED else x
    if x.ndim == indices.ndim == 1 or x.shape == indices.shape:
        found = torch.gather(values, axis, indices)
    else:  # takes three times as long, to broadcast
        found = torch.take_along_dim(values, indices, axis)
    return found.view(x.dtype) if values is not x else found
