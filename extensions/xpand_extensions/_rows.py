"""Turns indices of every kind into one flat index into the rows of an array, for gathering and scattering."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace, checks
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import Mode, index_dtype, resolve
from xpand_extensions._index import Rows
from xpand_extensions.scatter import at


def row_kernels(x: Array) -> GenericAt:
    """Return the row kernels for arrays of this library."""
    found = at.native(x)(x)
    return found if isinstance(found, GenericAt) else GenericAt(x)


def fill_value(x: Array, value: Any) -> Any:
    """Return the value for reads out of bounds."""
    return GenericAt(x)._fill_value() if value is None else value


def copied(x: Array) -> Array:
    """Return a copy. A result must not alias its input, even if nothing is updated."""
    return array_namespace(x).asarray(x, copy=True)


def flat_multi_index(
    function: str, x: Array, indices: Array, axes: tuple[int, ...], mode: Mode | None
) -> tuple[Array, bool]:
    """Convert multi-indices into some axes to flat positions, in row-major order.

    Returns:
        The flat positions, of the shape of `indices` without its last axis, and whether they may hold the number of all
        positions, which marks an index out of bounds.
    """
    xp = array_namespace(indices)
    device = checks.device_of(indices)
    bounds = row_kernels(indices).bounds
    flat = inside = None
    for j, axis in enumerate(axes):
        size = x.shape[axis]
        part, dropped = resolve(function, xp, indices[..., j], size, mode, bounds, axis=axis, from_end=True)
        if dropped:
            within = part < size
            inside = within if inside is None else inside & within
        flat = part if flat is None else flat * size + part
    if flat is None:
        return xp.zeros(indices.shape[:-1], dtype=index_dtype(xp, device), device=device), False
    if inside is None:
        return flat, False
    count = math.prod([x.shape[axis] for axis in axes])
    return xp.where(inside, flat, xp.full((), count, dtype=flat.dtype, device=device)), True


def rows(
    xp: Namespace, index: Array, dropped: bool, lead: tuple[int, ...], size: int, width: int, shape: tuple[int, ...]
) -> Rows:
    """Number the rows of an array of shape `(*lead, size, width)`.

    Args:
        xp: The namespace.
        index: The positions along the indexed axis. Its first axes run along `lead` and broadcast with it.
        dropped: Whether `index` may hold `size`.
        lead: The sizes of the axes before the indexed one.
        size: The size of the indexed axis.
        width: The number of elements in a row.
        shape: The shape of `index`, broadcast along `lead`.
    """
    device = checks.device_of(index)
    number, stride = index, size
    for axis in reversed(range(len(lead))):
        if lead[axis] != 1:
            steps = xp.arange(lead[axis], dtype=index.dtype, device=device) * stride
            number = number + xp.reshape(steps, (1,) * axis + (-1,) + (1,) * (index.ndim - axis - 1))
        stride *= lead[axis]
    if dropped:
        beyond = xp.full((), stride, dtype=index.dtype, device=device)
        number = xp.where(index < size, number, beyond)
    number = xp.reshape(xp.broadcast_to(number, shape), (math.prod(shape),))
    return Rows(number, stride, width, shape, math.prod(shape) <= 1, dropped)


def rows_along(
    function: str, x: Array, indices: Array, axis: int, batch_dims: int, mode: Mode | None
) -> tuple[Rows, tuple[int, ...]]:
    """Find the rows of an array at indices along an axis; return also the shape of a row.

    Args:
        function: The name for messages.
        x: An array.
        indices: Indices, separate ones for each batch element: shape `(*batch, *positions)`.
        axis: The indexed axis of `x`.
        batch_dims: The number of leading axes of both arrays that are a batch.
        mode: The treatment of indices out of bounds.
    """
    xp = array_namespace(x)
    size, lead, after = x.shape[axis], tuple(x.shape[:axis]), tuple(x.shape[axis + 1 :])
    index, dropped = resolve(function, xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True)
    batch, positions = tuple(indices.shape[:batch_dims]), tuple(indices.shape[batch_dims:])
    index = xp.reshape(index, batch + (1,) * (axis - batch_dims) + positions)
    selected = checks.broadcast(lead[:batch_dims], batch) + lead[batch_dims:] + positions
    return rows(xp, index, dropped, lead, size, math.prod(after), selected), after


def rows_at(
    function: str, x: Array, indices: Array, axes: tuple[int, ...], batch_dims: int, mode: Mode | None
) -> tuple[Array, Rows, tuple[int, ...], tuple[int, ...]]:
    """Find the rows of an array at multi-indices into some axes.

    Returns:
        The array with the batch axes first, then the indexed ones; its rows; the shape of a row; and the order of axes.
    """
    xp = array_namespace(x)
    index, dropped = flat_multi_index(function, x, indices, axes, mode)
    rest = [axis for axis in range(batch_dims, x.ndim) if axis not in axes]
    order = (*range(batch_dims), *axes, *rest)
    table = x if order == tuple(range(x.ndim)) else xp.permute_dims(x, order)
    batch, after = tuple(x.shape[:batch_dims]), tuple([x.shape[axis] for axis in rest])
    size = math.prod([x.shape[axis] for axis in axes])
    selected = checks.broadcast(batch, tuple(indices.shape[:batch_dims])) + tuple(indices.shape[batch_dims:-1])
    return table, rows(xp, index, dropped, batch, size, math.prod(after), selected), after, order
