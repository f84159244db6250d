"""Interpolation on JAX: the generic way, compiled, because it is many small operations."""

from typing import Any

import jax

from xpand._typing import Array
from xpand_extensions.generic import interpolation as generic

_grid_sample = jax.jit(generic.grid_sample, static_argnames=("extrapolation",))
_interp = jax.jit(generic.interp, static_argnames=("left", "right", "period"))


def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Any = "undefined") -> Array:
    return _grid_sample(grid, coordinates, extrapolation=extrapolation)


def interp(
    x: Array, points: Array, values: Array, /, *, left: Any = None, right: Any = None, period: Any = None
) -> Array:
    return _interp(x, points, values, left=left, right=right, period=period)
