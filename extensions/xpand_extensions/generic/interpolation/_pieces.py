"""Building blocks of interpolation with the standard alone, for the plug-ins too."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks
from xpand_extensions._bounds import index_dtype


class Neighbours(NamedTuple):
    """The two points of an axis next to each position, and the weight of the second."""

    first: Array
    second: Array
    weight: Array
    has_first: Array | None = None
    """Whether the first point lies within the grid; None if all do."""
    has_second: Array | None = None


Take: TypeAlias = Callable[[Array, Array, int], Array]
"""Takes elements of an array along an axis, at a 1-dimensional index within bounds."""


def sampled(grid: Array, coordinates: Array, extrapolation: str, take: Take) -> Array:
    """Compute `grid_sample`. `take` reads the elements of the grid, by the library's fastest function."""
    xp = array_namespace(grid, coordinates)
    batch, *spatial, channels = grid.shape
    *points, d = coordinates.shape[1:]
    lanes = coordinates.shape[0]
    dtype = xp.result_type(grid.dtype, coordinates.dtype)
    grid = xp.astype(grid, dtype, copy=False)
    if 0 in (batch, lanes, channels, *points):
        shape = (0 if 0 in (batch, lanes) else max(batch, lanes), *points, channels)
        return xp.zeros(shape, dtype=dtype, device=checks.device_of(grid))
    positions = xp.reshape(coordinates, (lanes, math.prod(points), d))
    axes = [neighbours(xp, positions[..., axis], size, extrapolation) for axis, size in enumerate(spatial)]
    index = xp.zeros(positions.shape[:2], dtype=_index_dtype(xp, grid), device=checks.device_of(grid))
    if batch == 1 or lanes > 1:
        table = xp.reshape(grid, (batch * math.prod(spatial), channels))
        if batch > 1:
            index = index + xp.arange(batch, dtype=index.dtype, device=checks.device_of(grid))[:, None]
        look_up = lambda index: _rows(xp, table, index, take)
    else:
        table = xp.reshape(grid, (batch, math.prod(spatial), channels))
        look_up = lambda index: take(table, index[0, :], 1)
    result = _sampled(xp, axes, spatial, index, look_up)
    return xp.reshape(result, (result.shape[0], *points, channels))


def _rows(xp: Namespace, table: Array, index: Array, take: Take) -> Array:
    lanes, count = index.shape
    return xp.reshape(take(table, xp.reshape(index, (-1,)), 0), (lanes, count, table.shape[1]))


def _sampled(
    xp: Namespace, axes: Sequence[Neighbours], sizes: Sequence[int], index: Array, look_up: Callable[[Array], Array]
) -> Array:
    """Interpolate along the other axes, then interpolate the results along the first axis."""
    if not axes:
        return look_up(index)
    (first, second, weight, has_first, has_second), *rest = axes
    low = _sampled(xp, rest, sizes[1:], index * sizes[0] + first, look_up)
    high = _sampled(xp, rest, sizes[1:], index * sizes[0] + second, look_up)
    if has_first is not None and has_second is not None:
        zero = xp.zeros_like(low)
        low, high = xp.where(has_first[..., None], low, zero), xp.where(has_second[..., None], high, zero)
    weight = weight[..., None]
    return low * (1.0 - weight) + high * weight


def neighbours(xp: Namespace, position: Array, size: int, extrapolation: str) -> Neighbours:
    """Find the two points next to each position, along an axis of the given size."""
    if extrapolation == "periodic":
        position = remainder(xp, position, size)
        below = _at_most(xp, xp.floor(position), size - 1)  # rounding may make the remainder equal to the size
        first = _as_index(xp, below, size)
        return Neighbours(first, xp.where(first == size - 1, xp.zeros_like(first), first + 1), position - below)
    if extrapolation == "zeros":
        position = _clipped(xp, position, -1, size)
        below = _at_most(xp, xp.floor(position), size - 1)
        first, second = _as_index(xp, below, size), _as_index(xp, below + 1.0, size)
        # Far outside, the nearest point must not contribute, not even with weight 0.
        has_first, has_second = (below > -0.5) & (position < size), (below < size - 1.5) & (position > -1)
        return Neighbours(first, second, position - below, has_first, has_second)
    if extrapolation in ("symmetric", "reflect"):
        position = xp.where(
            (position >= 0) & (position <= size - 1), position, turned(xp, position, size, extrapolation)
        )
    position = _clipped(xp, position, 0, size - 1)
    below = _at_most(xp, xp.floor(position), max(size - 2, 0))
    first = _as_index(xp, below, size)
    return Neighbours(first, first + 1 if size > 1 else first, position - below)


def turned(xp: Namespace, position: Array, size: int, extrapolation: str) -> Array:
    """Mirror positions into the grid, about its end points, or for "symmetric" half a step beyond them."""
    if extrapolation == "symmetric":
        return (size - 0.5) - xp.abs(remainder(xp, position + 0.5, 2 * size) - size)
    if size == 1:
        return remainder(xp, position, 1) * 0.0
    return (size - 1.0) - xp.abs(remainder(xp, position, 2 * (size - 1)) - (size - 1.0))


def remainder(xp: Namespace, position: Array, period: float) -> Array:
    """Return the remainder by the period, or NaN for infinite positions without NumPy's warning."""
    return xp.where(xp.abs(position) < math.inf, position, _full(xp, position, math.nan)) % float(period)


def _clipped(xp: Namespace, position: Array, low: int, high: int) -> Array:
    """Clip positions; at the bounds the derivative is that inside. NaN stays NaN."""
    position = xp.where(position < low, _full(xp, position, low), position)
    return xp.where(position > high, _full(xp, position, high), position)


def _at_most(xp: Namespace, position: Array, high: int) -> Array:
    return xp.minimum(position, _full(xp, position, high))


def _as_index(xp: Namespace, below: Array, size: int) -> Array:
    """Convert whole numbers to indices: numbers outside to the nearest index, NaN to 0."""
    inside = xp.where(below > 0.0, below, _full(xp, below, 0.0))
    return xp.astype(_at_most(xp, inside, size - 1), _index_dtype(xp, below))


def _full(xp: Namespace, like: Array, value: float) -> Array:
    return xp.full((), float(value), dtype=like.dtype, device=checks.device_of(like))


def _index_dtype(xp: Namespace, like: Array) -> DType:
    return index_dtype(xp, checks.device_of(like))
