"""Interpolation on PyTorch: the generic way, in blocks that stay in the processor's cache.

PyTorch's own `grid_sample` has no second derivatives, and takes coordinates from -1 to 1, which rounds them.
"""

import math
from typing import Any, Final

import torch

from xpand import is_concrete
from xpand._typing import Array
from xpand_extensions.generic._interpolation_pieces import sampled

_BLOCK: Final = 1 << 14
"""How many values are interpolated at a time."""


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    *points, d = coordinates.shape[1:]
    channels, count = grid.shape[-1], math.prod(points)
    some = max(1, _BLOCK // max(channels, 1))
    recorded = torch.is_grad_enabled() and (grid.requires_grad or coordinates.requires_grad)
    # Each block would make a gradient as large as the grid; and a compiler has ways of its own.
    if count <= some or grid.is_cuda or recorded or not (is_concrete(grid) and is_concrete(coordinates)):
        return sampled(grid, coordinates, extrapolation, _take)
    places = coordinates.reshape(coordinates.shape[0], count, d)
    size = max(len(grid), len(places)) if len(grid) and len(places) else 0
    out = torch.empty((size, count, channels), dtype=torch.promote_types(grid.dtype, places.dtype), device=grid.device)
    for first in range(0, count, some):
        block = slice(first, first + some)
        out[:, block] = sampled(grid, places[:, block], extrapolation, _take)
    return out.reshape(size, *points, channels)


def _take(table: Array, index: Array, axis: int) -> Array:
    return table.index_select(axis, index)
