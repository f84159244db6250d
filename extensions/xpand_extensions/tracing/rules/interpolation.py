"""Rules of interpolation: batches.

Derivatives are those of the generic implementation. Separate rules took as long when measured.
"""

from typing import Any, Final

from xpand_extensions import interpolation

from .scatter import native


def _batched_grid(xp: Any, mapped: Any, grid: Any, coordinates: Any, extrapolation: str) -> Any:
    if not mapped["grid"]:
        # Lanes become more positions in the same grids.
        positions = xp.moveaxis(coordinates, 0, 1)
        return xp.moveaxis(native(interpolation.grid_sample, grid, positions, extrapolation=extrapolation), 1, 0)
    lanes, batch, *_, channels = grid.shape
    if not mapped["coordinates"]:
        # Lanes become more channels at the same positions.
        grid = xp.moveaxis(grid, 0, -2)
        grid = xp.reshape(grid, (*grid.shape[:-2], lanes * channels))
        found = native(interpolation.grid_sample, grid, coordinates, extrapolation=extrapolation)
        return xp.moveaxis(xp.reshape(found, (*found.shape[:-1], lanes, channels)), -2, 0)
    if batch == 1:
        return native(interpolation.grid_sample, grid[:, 0, ...], coordinates, extrapolation=extrapolation)
    coordinates = xp.broadcast_to(coordinates, (lanes, batch, *coordinates.shape[2:]))
    merged = [xp.reshape(x, (lanes * batch, *x.shape[2:])) for x in (grid, coordinates)]
    found = native(interpolation.grid_sample, *merged, extrapolation=extrapolation)
    return xp.reshape(found, (lanes, batch, *found.shape[1:]))


def _batched_interp(xp: Any, mapped: Any, x: Any, points: Any, values: Any, **options: Any) -> Any:
    own = {name: array.ndim - bool(mapped[name]) for name, array in (("points", points), ("values", values))}
    batch = max(own.values()) - 1
    if mapped["x"]:
        if mapped["points"] or mapped["values"]:
            return None  # functions of a batch are evaluated at the same positions
        return xp.moveaxis(native(interpolation.interp, x, points, values, **options), batch, 0)
    points, values = (
        xp.reshape(array, (array.shape[0], *((1,) * (batch + 1 - own[name])), *array.shape[1:]))
        if mapped[name]
        else array
        for name, array in (("points", points), ("values", values))
    )
    return native(interpolation.interp, x, points, values, **options)


BATCHING: Final[dict[str, Any]] = {"interpolation.grid_sample": _batched_grid, "interpolation.interp": _batched_interp}
