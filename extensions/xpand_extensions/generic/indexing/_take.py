"""Reading at integer indices with the standard alone."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, ArrayLike, checks
from xpand_extensions._bounds import Mode, resolve
from xpand_extensions._index import Rows
from xpand_extensions._rows import copied, fill_value as fill_of, flat_multi_index, row_kernels, rows


def take(x: Array, indices: Array, /, *, axis: int | None = None, mode: Any = None, fill_value: Any = None) -> Array:
    assert axis is not None, "the facade fills it in"
    return along("take", array_namespace(x).take, x, indices, axis, mode, fill_value)


def gather(
    x: Array, indices: Array, /, *, axis: int = 0, batch_dims: int = 0, mode: Any = None, fill_value: Any = None
) -> Array:
    if batch_dims == 0:
        return along("gather", array_namespace(x).take, x, indices, axis, mode, fill_value)
    xp = array_namespace(x)
    size, lead, after = x.shape[axis], tuple(x.shape[:axis]), tuple(x.shape[axis + 1 :])
    index, dropped = resolve("gather", xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True)
    batch, positions = tuple(indices.shape[:batch_dims]), tuple(indices.shape[batch_dims:])
    index = xp.reshape(index, batch + (1,) * (axis - batch_dims) + positions)
    selected = checks.broadcast(lead[:batch_dims], batch) + lead[batch_dims:] + positions
    chosen = rows(xp, index, dropped, lead, size, math.prod(after), selected)
    return _read(x, chosen, selected + after, fill_value)


def gather_nd(
    x: Array, indices: Array, /, *, batch_dims: int = 0, axes: Any = None, mode: Any = None, fill_value: Any = None
) -> Array:
    assert axes is not None, "the facade fills them in"
    xp = array_namespace(x)
    axes = tuple(axes)
    index, dropped = flat_multi_index("gather_nd", x, indices, axes, mode)
    rest = [axis for axis in range(batch_dims, x.ndim) if axis not in axes]
    order = (*range(batch_dims), *axes, *rest)
    moved = x if order == tuple(range(x.ndim)) else xp.permute_dims(x, order)
    batch, after = tuple(x.shape[:batch_dims]), tuple([x.shape[axis] for axis in rest])
    size = math.prod([x.shape[axis] for axis in axes])
    selected = checks.broadcast(batch, tuple(indices.shape[:batch_dims])) + tuple(indices.shape[batch_dims:-1])
    chosen = rows(xp, index, dropped, batch, size, math.prod(after), selected)
    return _read(moved, chosen, selected + after, fill_value)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1, mode: Any = None, fill_value: Any = None) -> Array:
    xp = array_namespace(x)
    size = x.shape[axis]
    index, dropped = resolve(
        "take_along_axis", xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True
    )
    others = checks.broadcast(
        (*x.shape[:axis], 1, *x.shape[axis + 1 :]), (*index.shape[:axis], 1, *index.shape[axis + 1 :])
    )
    shape = (*others[:axis], index.shape[axis], *others[axis + 1 :])
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    fill = _scalar(x, fill_of(x, fill_value))
    if not size:
        return copied(xp.broadcast_to(fill, shape))
    x = xp.broadcast_to(x, (*others[:axis], size, *others[axis + 1 :]))
    index = xp.broadcast_to(index, shape)
    if not dropped:
        return xp.take_along_axis(x, index, axis=axis)
    inside = index < size
    return xp.where(inside, xp.take_along_axis(x, xp.where(inside, index, xp.zeros_like(index)), axis=axis), fill)


def along(
    function: str,
    read: Callable[..., Array],
    x: Array,
    indices: Array,
    axis: int,
    mode: Mode | None,
    fill_value: ArrayLike | None,
) -> Array:
    """Take the same indices everywhere along an axis, which libraries do without a flat index.

    `function` is the name for messages, `read` the library's `take`, which gets one axis of indices, all within bounds.
    """
    xp = array_namespace(x)
    size = x.shape[axis]
    index, dropped = resolve(function, xp, indices, size, mode, row_kernels(indices).bounds, axis=axis, from_end=True)
    before, after = tuple(x.shape[:axis]), tuple(x.shape[axis + 1 :])
    shape = before + tuple(indices.shape) + after
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    index = index if index.ndim == 1 else xp.reshape(index, (-1,))
    if not dropped:
        found = read(x, index, axis=axis)
        return found if indices.ndim == 1 else xp.reshape(found, shape)
    fill = _scalar(x, fill_of(x, fill_value))
    if not size:
        return copied(xp.broadcast_to(fill, shape))
    inside = index < size
    found = read(x, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    inside = xp.reshape(inside, (-1,) + (1,) * len(after))
    return xp.reshape(xp.where(inside, found, fill), shape)


def _read(x: Array, chosen: Rows, shape: tuple[int, ...], fill_value: ArrayLike | None) -> Array:
    """Read rows."""
    xp = array_namespace(x)
    if 0 in shape:
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))
    table = xp.reshape(x, (chosen.count, chosen.width))
    return xp.reshape(row_kernels(x)._read_rows(table, chosen, fill_of(x, fill_value)), shape)


def _scalar(x: Array, value: ArrayLike) -> Array:
    return row_kernels(x)._scalar(value)
