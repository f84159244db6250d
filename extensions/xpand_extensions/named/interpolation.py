"""Interpolation of named arrays: between points along an axis, and on regular grids.

Options, accuracy and errors are those of the functions of the same names in `xpand.interpolation`.

>>> import numpy as np
>>> from xpand import named as hax
>>> grid = hax.named(np.asarray([[0.0, 10.0], [20.0, 30.0]]), ("latitude", "longitude"))
>>> at = hax.named(np.asarray([0.0, 0.5, 1.0]), "station")
>>> hax.interpolation.grid_sample(grid, {"latitude": at, "longitude": 1 - at})
NamedArray({'station': 3}, array([10., 15., 20.]))
"""

from collections.abc import Callable, Mapping
from typing import Any

from xpand.extend import describe

from .. import interpolation as _interpolation
from . import _axis
from ._array import NamedArray
from ._axis import AxisSelector
from ._by_name import by_name
from ._plans import check_named, position, rest_of, selected, union
from ._shapes import broadcast_to, grouped, stack, ungrouped

__all__ = ["grid_sample", "interp"]
__dir__ = __all__.copy


def interp(x: NamedArray, points: NamedArray, values: NamedArray, axis: AxisSelector, **options: Any) -> NamedArray:
    """Interpolate functions of one variable linearly: see `xpand.interpolation.interp`.

    Args:
        x: The points at which to evaluate the functions.
        points: The points with given values, increasing along the axis.
        values: The values of the functions at `points`.
        axis: The axis of the points. `x` must not have it.
        **options: `left`, `right` and `period`.

    Returns:
        An array with all axes except `axis`. Along axes that two arrays share, each element has its own function.

    Raises:
        ValueError: `points` or `values` lack the axis, `x` has it, or sizes differ.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> points, values = hax.named(np.asarray([0.0, 1.0]), "t"), hax.named(np.asarray([[0.0, 2.0]]), ("place", "t"))
    >>> interp(hax.named(np.asarray([0.5, 3.0]), "new"), points, values, "t", right=-1.0)
    NamedArray({'place': 1, 'new': 2}, array([[ 1., -1.]]))
    """
    for name, each in (("x", x), ("points", points), ("values", values)):
        check_named("interp", name, each)
    (along,) = selected("interp", points, axis)
    position("interp", values, along)
    if along in x.names:
        raise ValueError(f"interp: x has the axis {along!r} of the points; rename one of them")
    # Map over axes that two arrays share. One call handles all others.
    shared = {each for each in x.names if each in (*points.names, *values.names)} | {*rest_of(points.names, (along,))}
    new = rest_of(x.names, shared)  # type: ignore[arg-type]
    batch = rest_of(values.names, (along, *shared))
    cores = [new, (along,), (*batch, along)]
    lifted: Callable[..., NamedArray] = by_name(_interpolation.interp, cores, (*batch, *new))
    return lifted(x, points, values, **options)


def grid_sample(grid: NamedArray, coordinates: Mapping[Any, NamedArray], **options: Any) -> NamedArray:
    """Sample a regular grid at positions, linearly between its points.

    Args:
        grid: Values on the grid.
        coordinates: For each axis of the grid to interpolate along, the positions in steps of the grid. They broadcast
            by name.
        **options: `extrapolation`, as in `xpand.interpolation.grid_sample`.

    Returns:
        An array with the axes of the coordinates in place of the interpolated axes. Along axes that both have, each
        element has its own positions. These axes come first, the other axes of the grid last.

    Raises:
        TypeError: `coordinates` is no dictionary of named arrays.
        ValueError: The grid lacks an axis, the coordinates have an interpolated axis, or sizes differ.
    """
    check_named("grid_sample", "grid", grid)
    if not isinstance(coordinates, Mapping):
        raise TypeError(
            f"grid_sample: coordinates must be a dictionary from axes to positions, got {describe(coordinates)}"
        )
    if not coordinates:
        raise ValueError("grid_sample: coordinates must have one axis or more, got none")
    spatial = selected("grid_sample", grid, tuple(coordinates))
    for each in coordinates.values():
        check_named("grid_sample", "coordinates", each)
    names = union([each.names for each in coordinates.values()])
    if extra := [each for each in names if each in spatial]:
        raise ValueError(f"grid_sample: the coordinates have the axes {extra} of the grid to interpolate along")
    axes = {name: size for each in coordinates.values() for name, size in each.shape.items()}
    batch, points = tuple([name for name in names if name in grid.names]), rest_of(names, grid.names)
    stacked = stack(_new(axes), [broadcast_to(each, axes) for each in coordinates.values()])
    for name in batch:
        position("grid_sample", grid, _axis.Axis(name, axes[name]))
    channel = rest_of(grid.names, (*spatial, *batch))
    found = _interpolation.grid_sample(
        grouped(grid, [batch, *[(each,) for each in spatial], channel]),
        grouped(stacked, [batch, points, stacked.names[:1]]),
        **options,
    )
    return ungrouped(found, [batch, points, channel], {**grid.shape, **axes})


def _new(names: Mapping[str, int]) -> str:
    """Return a name that no axis has."""
    return "".join(names) + "component"
