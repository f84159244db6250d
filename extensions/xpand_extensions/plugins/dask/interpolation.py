"""Interpolation on Dask: each block of positions by its own library, with the whole grid in one block."""

from typing import Any

import numpy as np

from xpand.dask.array._blocks import gather
from xpand.extend import LibraryArray as Array
from xpand_extensions import interpolation


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    d, positions = grid.ndim - 2, coordinates.ndim - 2
    spatial, points = tuple(range(3, 3 + d)), tuple(range(3 + d, 3 + d + positions))
    return gather(
        interpolation.grid_sample,
        (0, *points, 1),  # the batch, the positions, the channels
        (grid, (0, *spatial, 1)),
        (coordinates, (0, *points, 2)),
        dtype=np.result_type(grid.dtype, coordinates.dtype),
        extrapolation=extrapolation,
    )


def interp(
    x: Array, points: Array, values: Array, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    ndim = max(points.ndim, values.ndim)
    batch, positions = tuple(range(1, ndim)), tuple(range(ndim, ndim + x.ndim))
    return gather(
        interpolation.interp,
        (*batch, *positions),
        (x, positions),
        (points, (*batch[ndim - points.ndim :], 0)),
        (values, (*batch[ndim - values.ndim :], 0)),
        dtype=np.result_type(x.dtype, points.dtype, values.dtype),
        left=left,
        right=right,
        period=period,
    )
