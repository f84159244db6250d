"""Interpolation on PyTorch: by its kernel if no derivative is needed, otherwise by the generic version; in blocks.

The kernel's derivatives are not differentiable. Its coordinates go from -1 to 1. This scale is exact at grid points if
the size of each axis is a power of two, so grids are extended to such sizes. Elsewhere, at most the last bits are lost.
"""

import math
from typing import Any, Final

import torch
from torch.nn import functional

import xpand.torch as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import interpolation as generic
from xpand_extensions.generic.interpolation._pieces import sampled, turned

from ..numpy import interpolation as _host
from ._plain import is_on_host, is_plain, on_host

_BLOCK: Final = 1 << 14
"""The number of values in a block."""
_FEW: Final = 4096
"""The number of values up to which NumPy takes half the time of PyTorch."""
_EXTENDED: Final = 1 << 18
"""The number of points to which a grid may be extended, even for few positions."""
_KERNELS: Final = (torch.float32, torch.float64)


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    *points, d = coordinates.shape[1:]
    channels, count = grid.shape[-1], math.prod(points)
    # No blocks: each would have a gradient as large as the grid, and compilers fuse the operations themselves.
    if grid.is_cuda or not is_plain(grid, coordinates):
        return sampled(grid, coordinates, extrapolation, _take)
    if channels * count <= _FEW and is_on_host(grid, coordinates):
        return on_host(_host.grid_sample, grid, coordinates, extrapolation=extrapolation)
    dtype = torch.promote_types(grid.dtype, coordinates.dtype)
    table = _table(grid, coordinates, extrapolation, count)
    some = max(1, _BLOCK // max(channels, 1))
    if table is None and count <= some:
        return sampled(grid, coordinates, extrapolation, _take)
    positions = coordinates.reshape(coordinates.shape[0], count, d)
    size = max(len(grid), len(positions)) if len(grid) and len(positions) else 0
    out = torch.empty((size, count, channels), dtype=dtype, device=grid.device)
    for first in range(0, count, some):
        block = slice(first, first + some)
        if table is None:
            out[:, block] = sampled(grid, positions[:, block], extrapolation, _take)
        else:
            out[:, block] = _natively(table, grid.shape[1:-1], positions[:, block].to(dtype), extrapolation)
    return out.reshape(size, *points, channels)


@forwards_to(generic.interp)
def interp(x: Array, points: Array, values: Array, /, **options: Any) -> Array:
    # Measured for a thousand numbers: 20 µs; PyTorch takes 90 µs for the steps of the generic version.
    if is_on_host(x, points, values):
        return on_host(_host.interp, x, points, values, **options)
    return generic.interp(x, points, values, **options)


def _table(grid: Array, coordinates: Array, extrapolation: str, count: int) -> Array | None:
    """Return a grid in the kernel's layout, with axes extended to powers of two; None if the kernel can't be used."""
    batch, *spatial, channels = grid.shape
    sizes = [1 << (size - 1).bit_length() for size in spatial]
    if (
        not 1 <= len(spatial) <= 3
        or extrapolation == "periodic"
        or grid.dtype not in _KERNELS
        or coordinates.dtype not in _KERNELS
        or 0 in (batch, len(coordinates), channels, count)
        or (sizes != spatial and math.prod(sizes) > max(4 * count, _EXTENDED))
        # The kernel ignores NaN among coordinates, and neighbours of weight 0, which may be NaN or infinite.
        or not (math.isfinite(grid.sum()) and math.isfinite(coordinates.sum()))
    ):
        return None
    table = grid.movedim(-1, 1).to(torch.promote_types(grid.dtype, coordinates.dtype))
    if sizes != spatial:
        ends = [end for n, size in zip(reversed(spatial), reversed(sizes)) for end in (0, size - n)]
        table = functional.pad(table, ends)
    return table.unsqueeze(2) if len(spatial) == 1 else table


def _natively(table: Array, spatial: Any, positions: Array, extrapolation: str) -> Array:
    """Sample by the kernel at positions of shape `(lanes, m, d)`."""
    lanes, count, d = positions.shape
    scaled = positions.new_zeros((lanes, count, max(d, 2)))
    for axis, (n, size) in enumerate(zip(spatial, table.shape[-d:])):
        position = positions[..., axis]
        if extrapolation in ("symmetric", "reflect"):
            position = torch.where(
                (position >= 0) & (position <= n - 1), position, turned(xp, position, n, extrapolation)
            )
        ends = (-1, n) if extrapolation == "zeros" else (0, n - 1)
        torch.add(position.clamp(*ends).mul_(2 / size), 1 / size - 1, out=scaled[..., d - 1 - axis])
    size = max(len(table), lanes)
    table, scaled = table.expand(size, *table.shape[1:]), scaled.expand(size, *scaled.shape[1:])
    scaled = scaled.reshape(size, *(1 for _ in table.shape[3:]), count, scaled.shape[-1])
    result = functional.grid_sample(table, scaled, mode="bilinear", padding_mode="zeros", align_corners=False)
    return result.reshape(size, -1, count).movedim(1, 2)


def _take(table: Array, index: Array, axis: int) -> Array:
    return table.index_select(axis, index)
