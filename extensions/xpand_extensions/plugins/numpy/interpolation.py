"""Interpolation on NumPy: `np.interp`, and blocks that stay in the processor's cache."""

import math
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic import interpolation as generic

_BLOCK: Final = 4096
"""The number of values in a block."""


class _Neighbours(NamedTuple):
    """The points of an axis next to each position: the first as an integral float, and the step to the second."""

    first: Array
    step: Any
    weights: tuple[Array, Array]
    exist: tuple[Array, Array] | None = None
    """Whether the points lie within the grid; None if all do."""


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    batch, *spatial, channels = grid.shape
    *points, d = coordinates.shape[1:]
    count, lanes = math.prod(points), coordinates.shape[0]
    dtype = np.result_type(grid, coordinates)
    tables = grid.reshape(batch, math.prod(spatial), channels).astype(dtype, copy=False)
    positions = coordinates.reshape(lanes, count, d)
    out = np.empty((max(batch, lanes) if min(batch, lanes) else 0, count, channels), dtype)
    block_size = max(1, _BLOCK // max(channels, 1))
    # NaN may get any index, since its weight is NaN. Infinite values of the grid need no special treatment.
    with np.errstate(invalid="ignore", over="ignore"):
        for lane, result in enumerate(out):
            table = tables[lane if batch > 1 else 0]
            table = table[:, 0] if channels == 1 else table
            # Multiplying outer values by 0 is faster than `where`, but requires finite values.
            finite = extrapolation == "zeros" and table.size <= out[0].size and np.isfinite(table).all()
            for first in range(0, count, block_size):
                block = positions[lane if lanes > 1 else 0, first : first + block_size]
                values = _sample(table, block, spatial, extrapolation, finite)
                result[first : first + block_size] = values[:, None] if channels == 1 else values
    return out.reshape(len(out), *points, channels)


def _sample(table: Array, positions: Array, spatial: Sequence[int], extrapolation: str, finite: bool) -> Array:
    """Interpolate at positions of shape `(m, d)` in a table with a row, or a value, for each point of the grid."""
    axes = []
    index = np.zeros(len(positions))
    stride = math.prod(spatial)
    shape = (-1, *(1 for _ in table.shape[1:]))
    for axis, size in enumerate(spatial):
        stride //= size
        first, step, weights, exist = _neighbours(positions[:, axis].astype(np.float64), size, extrapolation)
        index = index + first * stride if axis else first * stride
        if exist is not None and finite:
            weights, exist = (weights[0] * exist[0], weights[1] * exist[1]), None
        shaped = [weight.astype(table.real.dtype, copy=False).reshape(shape) for weight in weights]
        axes.append((step * stride, shaped, None if exist is None else [x.reshape(shape) for x in exist]))
    return _corners(table, axes, index.astype(np.intp), 0)


def _corners(table: Array, axes: list[Any], index: Array, offset: int) -> Array:
    """Interpolate along the other axes, then the results along the first axis. `offset` is added to each index."""
    if not axes:
        return np.take(table[offset:], index, axis=0, mode="clip")
    (step, weights, exist), *rest = axes
    low = _corners(table, rest, index, offset)
    if isinstance(step, int):
        high = _corners(table, rest, index, offset + step)
    else:
        high = _corners(table, rest, index + step, offset)
    if exist is not None:
        low, high = np.where(exist[0], low, 0), np.where(exist[1], high, 0)
    low *= weights[0]
    high *= weights[1]
    low += high
    return low


def _neighbours(position: Array, size: int, extrapolation: str) -> _Neighbours:
    """Find the points next to each position along an axis of the given size. `position` is overwritten."""
    inside = position.min(initial=0.0) >= 0 and position.max(initial=0.0) <= size - 1  # False for NaN
    if not inside:
        if extrapolation == "zeros":
            return _with_zeros(position, size)
        if extrapolation == "periodic":
            return _around(position, size)
        if extrapolation in ("symmetric", "reflect"):
            _turn(position, size, extrapolation)
        np.clip(position, 0, size - 1, out=position)
    first = np.floor(position)
    np.minimum(first, max(size - 2, 0), out=first)
    weight = np.subtract(position, first, out=position)
    return _Neighbours(first, 1 if size > 1 else 0, (1.0 - weight, weight))


def _turn(position: Array, size: int, extrapolation: str) -> None:
    """Mirror outer positions about the end points, or half a step beyond. Rounding may leave them slightly outside."""
    beyond = 0.5 if extrapolation == "symmetric" else 0.0
    half = size - 1 + 2 * beyond
    position += beyond
    _reduce(position, 2 * half if half else 1.0)  # for a single point, any period works
    position -= half
    np.abs(position, out=position)
    np.subtract(half - beyond, position, out=position)


def _reduce(position: Array, period: float) -> None:
    """Replace positions by remainders in a fifth of `np.remainder`'s time; rounding may leave them slightly outside."""
    turns = position * (1.0 / period)
    np.floor(turns, out=turns)
    turns *= period
    position -= turns


def _around(position: Array, size: int) -> _Neighbours:
    _reduce(position, size)
    np.clip(position, 0, size, out=position)
    first = np.floor(position)
    np.minimum(first, size - 1, out=first)
    weight = np.subtract(position, first, out=position)
    return _Neighbours(first, np.where(first == size - 1, 1 - size, 1), (1.0 - weight, weight))


def _with_zeros(position: Array, size: int) -> _Neighbours:
    np.clip(position, -1, size, out=position)
    below = np.floor(position)
    np.minimum(below, size - 1, out=below)
    weight = position - below
    exist = (below >= 0) & (position < size), (below < size - 1) & (position > -1)
    step = (exist[0] & exist[1]).astype(np.intp)
    return _Neighbours(np.maximum(below, 0, out=below), step, (1.0 - weight, weight), exist)


def interp(
    x: Array, points: Array, values: Array, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    dtype = np.result_type(x, points, values)
    # `np.interp` returns the value of a single point also for NaN.
    if values.ndim > 1 or points.ndim > 1 or points.size == 1 or dtype.itemsize < values.real.itemsize:
        return generic.interp(x, points, values, left=left, right=right, period=period)
    if period is None:
        found = np.interp(x, points, values, left, right)
    else:
        with np.errstate(invalid="ignore"):  # infinite positions have no remainder
            found = np.interp(x, points, values, period=period)
    return np.asarray(found).astype(dtype, copy=False)
