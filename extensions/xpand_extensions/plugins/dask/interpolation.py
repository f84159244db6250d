"""Interpolation on Dask: each block of positions by its own library, with the whole grid in one block."""

from typing import Any

import dask.array as da
import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions import interpolation


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    d, positions = grid.ndim - 2, coordinates.ndim - 2
    spatial, points = tuple(range(3, 3 + d)), tuple(range(3 + d, 3 + d + positions))
    dtype = np.result_type(grid.dtype, coordinates.dtype)
    return da.blockwise(
        interpolation.grid_sample,
        (0, *points, 1),  # the batch, the positions, the channels
        grid.rechunk(dict.fromkeys(range(1, grid.ndim - 1), -1)),
        (0, *spatial, 1),
        coordinates.rechunk({coordinates.ndim - 1: -1}),
        (0, *points, 2),
        extrapolation=extrapolation,
        concatenate=True,
        meta=da.utils.meta_from_array(grid, ndim=2 + positions, dtype=dtype),
    )


def interp(
    x: Array, points: Array, values: Array, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    batch, positions = tuple(range(1, values.ndim)), tuple(range(values.ndim, values.ndim + x.ndim))
    dtype = np.result_type(x.dtype, points.dtype, values.dtype)
    return da.blockwise(
        interpolation.interp,
        (*batch, *positions),
        x,
        positions,
        points.rechunk(-1),
        (0,),
        values.rechunk({values.ndim - 1: -1}),
        (*batch, 0),
        left=left,
        right=right,
        period=period,
        concatenate=True,
        meta=da.utils.meta_from_array(values, ndim=len(batch) + len(positions), dtype=dtype),
    )
