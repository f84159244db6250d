"""Interpolation with the standard alone: a weighted sum of neighbours, which are read by index."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from ...sorting import searchsorted
from ._pieces import remainder, sampled


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    xp = array_namespace(grid, coordinates)
    return sampled(grid, coordinates, extrapolation, lambda table, index, axis: xp.take(table, index, axis=axis))


def interp(
    x: Array, points: Array, values: Array, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    xp = array_namespace(x, points, values)
    dtype = xp.result_type(x.dtype, points.dtype, values.dtype)
    common = xp.result_type(x.dtype, points.dtype)
    values = xp.astype(values, dtype, copy=False)
    position, points = xp.astype(xp.reshape(x, (-1,)), common, copy=False), xp.astype(points, common, copy=False)
    if period is not None:
        position, points, values = _one_period(xp, position, points, values, period)
        left = right = None
    result = _interpolated(xp, position, points, values)
    for outside, value in ((position < points[..., :1], left), (position > points[..., -1:], right)):
        if value is not None:
            result = xp.where(outside, xp.full_like(result, value), result)
    return xp.reshape(result, (*checks.broadcast(points.shape[:-1], values.shape[:-1]), *x.shape))


def _one_period(
    xp: Namespace, position: Array, points: Array, values: Array, period: float
) -> tuple[Array, Array, Array]:
    """Map positions and points into one period, sort the points, and add a point at each end."""
    position = remainder(xp, position, period)
    points = points % float(period)
    order = xp.argsort(points, axis=-1)
    points, values = _at(xp, points, order), _at(xp, values, order)
    points = xp.concat([points[..., -1:] - period, points, points[..., :1] + period], axis=-1)
    return position, points, xp.concat([values[..., -1:], values, values[..., :1]], axis=-1)


def _interpolated(xp: Namespace, position: Array, points: Array, values: Array) -> Array:
    """Interpolate values of shape `(*batch, n)` at positions of shape `(m,)`; use the nearest value outside."""
    lowest, highest = points[..., :1], points[..., -1:]
    before, behind = position < lowest, position >= highest
    position = xp.where(before, lowest, position)
    position = xp.where(position > highest, highest, position)
    last = points.shape[-1] - 1
    if points.ndim == 1:
        below = xp.searchsorted(points, position, side="right") - 1
    else:
        below = searchsorted.native(points, position)(points, position, side="right") - 1
    below = xp.where(before, 0, xp.clip(below, 0, max(last - 1, 0)))
    above = below + 1 if last else below
    start, end = _at(xp, points, below), _at(xp, points, above)
    width = end - start
    # Next to an infinite point, finite positions have the value of the finite one.
    endless, nothing = width == math.inf, xp.zeros_like(width)
    is_end = endless & (position > start) & ((start == -math.inf) & (end < math.inf) | (position == end))
    between = (start == -math.inf) & (end == math.inf) & (position > start) & (position < end)
    no_weight = endless & (between | xp.isnan(position))
    low, high = _at(xp, values, below), _at(xp, values, above)
    # Two points at an end may be equal. Positions outside get the value of the outer one. NaN propagates.
    move = xp.where(endless, nothing, position) - xp.where(endless, nothing, start)
    weight = move / xp.where((width > 0.0) & ~endless, width, xp.ones_like(width))
    weight = weight + xp.astype(((width == 0.0) & behind) | is_end, weight.dtype)
    weight = xp.where(no_weight, xp.full_like(weight, math.nan), weight)
    if checks.kind(xp, values.dtype) == "complex":
        # A complex infinity times a weight is NaN in one part. This is not corrected.
        return low * (1.0 - weight) + high * weight
    # At a point, the other neighbour must not contribute, even if it is infinite.
    high = xp.where((weight == 0.0) & ~xp.isfinite(high), low, high)
    low = xp.where((weight == 1.0) & ~xp.isfinite(low), high, low)
    return low * (1.0 - weight) + high * weight


def _at(xp: Namespace, table: Array, index: Array) -> Array:
    """Take elements along the last axis: the same ones for all of a batch, or others for each."""
    if index.ndim == 1:
        return xp.take(table, index, axis=-1)
    batch = checks.broadcast(table.shape[:-1], index.shape[:-1])
    table = xp.broadcast_to(table, (*batch, table.shape[-1]))
    return xp.take_along_axis(table, xp.broadcast_to(index, (*batch, index.shape[-1])), axis=-1)
