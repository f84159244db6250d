"""Shapes and the order of elements. Views in NumPy are views of traced arrays."""

import math
from typing import Any, Final

import numpy as np

from xpand_extensions.tracing._methods import METHODS
from xpand_extensions.windows import sliding_window_view

from .._arguments import all_axes, array, constant, contains_traced, integers, shape_of
from .._table import implements


def method(name: str) -> Any:
    """Return a method of traced arrays as a function of the namespace, of any array, and of the method's arguments."""

    def call(xp: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return METHODS[name](array(xp, x), *args, **kwargs)

    return call


_ravel_rows: Final = method("ravel")
_squeezed: Final = method("squeeze")
_with_axes_swapped: Final = method("swapaxes")


def reversed_axes(xp: Any, x: Any) -> Any:
    """Return the transpose: all axes in reverse."""
    return xp.permute_dims(x, tuple(range(x.ndim - 1, -1, -1)))


def is_column_major(name: str, x: Any, order: str) -> bool:
    """Return whether an order reads the first axis fastest.

    Raises:
        ValueError: The order depends on the layout in memory, which traced arrays do not have.
    """
    if order in ("C", "F"):
        return order == "F"
    if order in ("A", "K") and sum(size != 1 for size in x.shape) < 2:
        return False
    raise ValueError(
        f"np.{name}: order must be 'C' or 'F' for traced arrays, got {order!r}; orders of the layout in memory have no "
        "meaning for them"
    )


@implements("reshape")
def _reshape(xp: Any, a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    x, shape = array(xp, a), shape_of(shape)
    if order == "C":
        return xp.reshape(x, shape, copy=copy)
    if is_column_major("reshape", x, order):
        return reversed_axes(xp, xp.reshape(reversed_axes(xp, x), shape[::-1], copy=copy))
    return xp.reshape(x, shape, copy=copy)


@implements("ravel")
def _ravel(xp: Any, a: Any, order: str = "C") -> Any:
    x = array(xp, a)
    return _ravel_rows(xp, reversed_axes(xp, x) if is_column_major("ravel", x, order) else x)


@implements("transpose")
def _transpose(xp: Any, a: Any, axes: Any = None) -> Any:
    x = array(xp, a)
    return reversed_axes(xp, x) if axes is None else xp.permute_dims(x, shape_of(axes))


@implements("matrix_transpose", "linalg.matrix_transpose")
def _matrix_transpose(xp: Any, x: Any) -> Any:
    return xp.matrix_transpose(array(xp, x))


@implements("swapaxes")
def _swapaxes(xp: Any, a: Any, axis1: int, axis2: int) -> Any:
    return _with_axes_swapped(xp, a, integers(axis1), integers(axis2))


@implements("moveaxis")
def _moveaxis(xp: Any, a: Any, source: Any, destination: Any) -> Any:
    return xp.moveaxis(array(xp, a), shape_of(source), shape_of(destination))


@implements("rollaxis")
def _rollaxis(xp: Any, a: Any, axis: int, start: int = 0) -> Any:
    x = array(xp, a)
    (axis,), start = all_axes(x, axis), integers(start)
    before = start + x.ndim if start < 0 else start
    if not 0 <= before <= x.ndim:
        raise np.exceptions.AxisError(f"np.rollaxis: start must be between {-x.ndim} and {x.ndim}, got {start}")
    return xp.moveaxis(x, axis, before - 1 if axis < before else before)


@implements("squeeze")
def _squeeze(xp: Any, a: Any, axis: Any = None) -> Any:
    return _squeezed(xp, a, axis=integers(axis))


@implements("expand_dims")
def _expand_dims(xp: Any, a: Any, axis: Any) -> Any:
    x, positions = array(xp, a), shape_of(axis)
    if len(positions) == 1:
        return xp.expand_dims(x, axis=positions[0])
    new = np.lib.array_utils.normalize_axis_tuple(positions, x.ndim + len(positions))
    return x[tuple([None if i in new else slice(None) for i in range(x.ndim + len(positions))])]


@implements("broadcast_to")
def _broadcast_to(xp: Any, array: Any, shape: Any) -> Any:
    return xp.broadcast_to(_array(xp, array), shape_of(shape))


_array: Final = array  # also the name of a parameter of NumPy


@implements("broadcast_arrays")
def _broadcast_arrays(xp: Any, *args: Any) -> Any:
    return tuple(xp.broadcast_arrays(*[array(xp, x) for x in args]))


@implements("flip")
def _flip(xp: Any, m: Any, axis: Any = None) -> Any:
    return xp.flip(array(xp, m), axis=integers(axis))


@implements("flipud")
def _flipud(xp: Any, m: Any) -> Any:
    return xp.flip(at_least("flipud", array(xp, m), 1), axis=0)


@implements("fliplr")
def _fliplr(xp: Any, m: Any) -> Any:
    return xp.flip(at_least("fliplr", array(xp, m), 2), axis=1)


def at_least(name: str, x: Any, ndim: int) -> Any:
    """Return an array, or raise if it has too few axes."""
    if x.ndim < ndim:
        raise ValueError(f"np.{name}: the array must have at least {ndim} axes, got {x.ndim}")
    return x


@implements("rot90")
def _rot90(xp: Any, m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    x, turns = array(xp, m), integers(k) % 4
    first, second = all_axes(x, axes)
    if turns == 0:
        return x[...]
    if turns == 2:
        return xp.flip(x, axis=(first, second))
    if turns == 1:
        return _with_axes_swapped(xp, xp.flip(x, axis=second), first, second)
    return xp.flip(_with_axes_swapped(xp, x, first, second), axis=second)


@implements("roll")
def _roll(xp: Any, a: Any, shift: Any, axis: Any = None) -> Any:
    x = array(xp, a)
    if getattr(shift, "is_traced", False):
        return _roll_by_traced(xp, x, shift, axis)
    if type(shift) is int and type(axis) is int:
        return xp.roll(x, shift, axis=axis)
    shift = constant("np.roll", "shift", shift)
    if axis is None:
        return xp.roll(x, sum(shape_of(shift)))
    shifts: dict[int, int] = {}
    for distance, position in np.broadcast(integers(shift), integers(axis)):
        (position,) = all_axes(x, position)
        shifts[position] = shifts.get(position, 0) + int(distance)
    return xp.roll(x, tuple(shifts.values()), axis=tuple(shifts))


def _roll_by_traced(xp: Any, x: Any, shift: Any, axis: Any) -> Any:
    """Roll by distances that are known only when the program runs."""
    if axis is None:
        return xp.reshape(_roll_by_traced(xp, xp.reshape(x, (-1,)), shift, 0), x.shape)
    axes = all_axes(x, axis)
    shifts = xp.broadcast_to(shift, (max(len(axes), shift.size),))
    for i, position in enumerate(axes * (shifts.size // len(axes))):
        size = max(x.shape[position], 1)
        x = xp.take(x, xp.remainder(xp.arange(x.shape[position], dtype=xp.int64) - shifts[i], size), axis=position)
    return x


@implements("tile")
def _tile(xp: Any, A: Any, reps: Any) -> Any:
    return xp.tile(array(xp, A), shape_of(reps))


@implements("repeat")
def _repeat(xp: Any, a: Any, repeats: Any, axis: int | None = None) -> Any:
    x = array(xp, a)
    if axis is None:
        x, axis = xp.reshape(x, (-1,)), 0
    axis = integers(axis)
    if isinstance(repeats, (int, np.integer)):
        return xp.repeat(x, int(repeats), axis=axis)
    if xp.own_class is not np.ndarray and not contains_traced(repeats):
        # Dask and CuPy take one number only.
        positions: Any = np.repeat(np.arange(x.shape[axis]), np.asarray(repeats))
        return xp.take(x, array(xp, positions), axis=axis)
    return xp.repeat(x, array(xp, repeats), axis=axis)


@implements("resize")
def _resize(xp: Any, a: Any, new_shape: Any) -> Any:
    x, shape = xp.reshape(array(xp, a), (-1,)), shape_of(new_shape)
    size = math.prod(shape)
    if min(shape, default=0) < 0:
        raise ValueError(f"np.resize: new_shape must have sizes of at least 0, got {shape}")
    if not size or not x.size:
        return xp.zeros(shape, dtype=x.dtype)
    return xp.reshape(xp.tile(x, (-(-size // x.size),))[:size], shape)


@implements("shape")
def _shape(xp: Any, a: Any) -> Any:
    return tuple(array(xp, a).shape)


@implements("ndim")
def _ndim(xp: Any, a: Any) -> int:
    return array(xp, a).ndim


@implements("size")
def _size(xp: Any, a: Any, axis: Any = None) -> int:
    x = array(xp, a)
    return math.prod(x.shape[i] for i in all_axes(x, axis))


@implements("copy")
def _copy(xp: Any, a: Any) -> Any:
    return xp.asarray(array(xp, a), copy=True)


@implements("astype")
def _astype(xp: Any, x: Any, dtype: Any, *, copy: bool = True) -> Any:
    return xp.astype(x, np.dtype(dtype), copy=copy)


def in_one_axis(xp: Any, x: Any) -> Any:
    """Return an array of at least one axis."""
    x = array(xp, x)
    return x if x.ndim else xp.reshape(x, (1,))


def in_two_axes(xp: Any, x: Any) -> Any:
    """Return an array of at least two axes; a vector is a row."""
    x = in_one_axis(xp, x)
    return x if x.ndim > 1 else x[None, :]


def in_three_axes(xp: Any, x: Any) -> Any:
    """Return an array of at least three axes; a matrix gets a last one."""
    x = in_two_axes(xp, x)
    return x if x.ndim > 2 else x[..., None]


def _enter_at_least(name: str, function: Any) -> None:
    def of_all(xp: Any, *arys: Any) -> Any:
        results = tuple([function(xp, x) for x in arys])
        return results if len(results) != 1 else results[0]

    implements(name)(of_all)


for _name, _function in (("atleast_1d", in_one_axis), ("atleast_2d", in_two_axes), ("atleast_3d", in_three_axes)):
    _enter_at_least(_name, _function)


@implements("lib.stride_tricks.sliding_window_view")
def _sliding_window_view(xp: Any, x: Any, window_shape: Any, axis: Any = None) -> Any:
    x = array(xp, x)
    return sliding_window_view(x, shape_of(window_shape), axis=all_axes(x, axis))
