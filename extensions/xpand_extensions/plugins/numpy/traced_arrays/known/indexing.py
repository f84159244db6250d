"""Functions that read and write at positions."""

import math
from typing import Any, Final

import numpy as np

from xpand_extensions.tracing._methods import METHODS

from .._arguments import array, cast, integers, numeric, writable
from .._table import implements
from .elementwise import nonzero

_MODES: Final = ("raise", "wrap", "clip")


def positions_of(xp: Any, name: str, indices: Any, size: int, mode: str) -> Any:
    """Return positions in an axis as an array of integers; those out of bounds are treated by the mode."""
    x = numeric(xp, indices)
    if mode == "raise" and x.dtype.kind in "iu" and x.size:
        return x
    if mode not in _MODES:
        raise ValueError(f"np.{name}: mode must be one of {', '.join(map(repr, _MODES))}, got {mode!r}")
    if x.dtype.kind == "b" or not x.size:
        x = xp.astype(x, xp.int64)
    if x.dtype.kind not in "iu":
        raise TypeError(f"np.{name}: positions must be integers, got the data type {x.dtype}")
    if mode == "wrap" and size:
        return xp.remainder(x, size)
    return xp.clip(x, 0, size - 1) if mode == "clip" and size else x


@implements("take")
def _take(xp: Any, a: Any, indices: Any, axis: int | None = None, *, mode: str = "raise") -> Any:
    x, axis = array(xp, a), integers(axis)
    size = x.size if axis is None else x.shape[axis]
    positions = positions_of(xp, "take", indices, size, mode)
    if not size and positions.size:
        raise IndexError("np.take: positions are out of bounds for an empty axis")
    if positions.ndim == 1 and axis is not None:
        return xp.take(x, positions, axis=axis)
    return METHODS["take"](x, positions, axis)


@implements("take_along_axis")
def _take_along_axis(xp: Any, arr: Any, indices: Any, axis: int | None = -1) -> Any:
    x, positions = array(xp, arr), array(xp, indices)
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    key = _key_along(xp, "take_along_axis", x, positions, axis)
    return x[key] if xp.own_class is np.ndarray else _take_rows(xp, x, positions, axis)


def _take_rows(xp: Any, x: Any, positions: Any, axis: int) -> Any:
    """Return the elements at positions along an axis, for libraries without indices of several axes."""
    shape = np.broadcast_shapes(*[(*a.shape[:axis], 1, *a.shape[axis:][1:]) for a in (x, positions)])
    x, positions = (xp.broadcast_to(a, (*shape[:axis], a.shape[axis], *shape[axis:][1:])) for a in (x, positions))
    return xp.take_along_axis(x, positions, axis=axis)


def _key_along(xp: Any, name: str, x: Any, positions: Any, axis: int) -> tuple[Any, ...]:
    """Return the key of elements along an axis, given a position for each."""
    axis = np.lib.array_utils.normalize_axis_index(integers(axis), x.ndim)
    if positions.dtype.kind not in "iu":
        raise IndexError(f"np.{name}: indices must be integers, got the data type {positions.dtype}")
    if positions.ndim != x.ndim:
        raise ValueError(
            f"np.{name}: indices must have as many axes as the array, {x.ndim}, got the shape {tuple(positions.shape)}"
        )
    return tuple(
        [
            positions
            if i == axis
            else xp.reshape(xp.arange(size, dtype=xp.int64), [-1 if j == i else 1 for j in range(x.ndim)])
            for i, size in enumerate(x.shape)
        ]
    )


# Functions that write to their first argument


def _cast(xp: Any, name: str, values: Any, dtype: Any) -> Any:
    """Convert values to the data type of the array that they are written to, as NumPy does."""
    x = array(xp, values)
    if x.dtype.kind == "c" and dtype.kind != "c":
        raise TypeError(f"np.{name}: an array of {dtype} can't hold complex values")
    return cast(xp, x, dtype)


def _cycle(xp: Any, values: Any, positions: Any) -> Any:
    """Return values at positions in their repetition."""
    flat = xp.reshape(values, (-1,))
    return flat[xp.remainder(positions, flat.shape[0])]


def _write_flat(x: Any, positions: Any, values: Any) -> None:
    """Write to positions in the flat array."""
    xp = x._namespace
    flat = xp.reshape(x, (-1,), copy=True)
    flat[positions] = values
    x[...] = xp.reshape(flat, x.shape)


@implements("put")
def _put(xp: Any, a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    writable("put", a)
    positions = xp.reshape(positions_of(xp, "put", ind, a.size, mode), (-1,))
    values = _cast(xp, "put", v, a.dtype)
    if positions.size and values.size:
        _write_flat(a, positions, _cycle(xp, values, xp.arange(positions.size, dtype=xp.int64)))


@implements("put_along_axis")
def _put_along_axis(xp: Any, arr: Any, indices: Any, values: Any, axis: int | None) -> None:
    writable("put_along_axis", arr)
    positions, values = array(xp, indices), _cast(xp, "put_along_axis", values, arr.dtype)
    if axis is None:
        (positions,) = _key_along(xp, "put_along_axis", xp.reshape(arr, (-1,)), positions, 0)
        _write_flat(arr, positions, values)
    else:
        arr[_key_along(xp, "put_along_axis", arr, positions, axis)] = values


@implements("putmask")
def _putmask(xp: Any, a: Any, mask: Any, values: Any) -> None:
    writable("putmask", a)
    where, new = _mask_of(xp, "putmask", a, mask), _cast(xp, "putmask", values, a.dtype)
    if a.size and new.size:
        cycled = xp.reshape(_cycle(xp, new, xp.arange(a.size, dtype=xp.int64)), a.shape)
        a[...] = xp.where(where, cycled, a)


def _mask_of(xp: Any, name: str, x: Any, mask: Any) -> Any:
    where = array(xp, nonzero(xp, mask))
    if where.size != x.size:
        raise ValueError(f"np.{name}: the mask must have as many elements as the array, {x.size}, got {where.size}")
    return xp.reshape(where, x.shape)


@implements("place")
def _place(xp: Any, arr: Any, mask: Any, vals: Any) -> None:
    writable("place", arr)
    where, values = _mask_of(xp, "place", arr, mask), _cast(xp, "place", vals, arr.dtype)
    if not values.size:
        raise ValueError("np.place: vals must not be empty")
    if arr.size:
        count = xp.cumulative_sum(xp.astype(xp.reshape(where, (-1,)), xp.int64), axis=0)
        arr[...] = xp.where(where, xp.reshape(_cycle(xp, values, count - 1), arr.shape), arr)


@implements("copyto")
def _copyto(xp: Any, dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    writable("copyto", dst)
    x = array(xp, src)
    is_number = type(src) in (bool, int, float, complex)
    if not np.can_cast(np.result_type(dst.dtype, src) if is_number else x.dtype, dst.dtype, casting):
        raise TypeError(f"np.copyto: an array of {x.dtype} can't be cast to {dst.dtype} by casting={casting!r}")
    x = cast(xp, x, dst.dtype)
    dst[...] = x if where is True else xp.where(nonzero(xp, where), x, dst)


@implements("fill_diagonal")
def _fill_diagonal(xp: Any, a: Any, val: Any, wrap: bool = False) -> None:
    writable("fill_diagonal", a)
    shape = tuple(a.shape)
    if len(shape) < 2:
        raise ValueError(f"np.fill_diagonal: the array must have at least two axes, got {len(shape)}")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise ValueError(f"np.fill_diagonal: all sizes of an array of more than two axes must be equal, got {shape}")
    step = sum(math.prod(shape[i + 1 :]) for i in range(len(shape)))
    end = None if wrap or len(shape) > 2 else shape[1] * shape[1]
    positions = xp.arange(a.size, dtype=xp.int64)[:end:step]
    values = _cast(xp, "fill_diagonal", val, a.dtype)
    if positions.size:
        _write_flat(a, positions, _cycle(xp, values, xp.arange(positions.size, dtype=xp.int64)))
