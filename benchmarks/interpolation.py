"""Sampling of grids and functions compared with SciPy, NumPy, PyTorch and JAX."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
from scipy import ndimage

from xpand_extensions import interpolation

from ._measure import Call, Row, of_facade
from .namespaces import Library, libraries

SMALL: Final[dict[str, Any]] = {"counts": (5,), "sides": (7, 5, 3)}
"""The sizes with which the tests run every row."""

CHECKS: Final = (
    "each pass over the positions is a call of NumPy, and sampling a thousand positions takes as long as a few calls"
)
REASONS: Final = {
    "torch": (
        "grid_sample copies the grid, and checks both arrays for NaN and infinities; interp treats NaN and infinities"
    ),
    "jax": (
        "NaN positions stay NaN, and batches of grids are accepted: both cost comparisons and computation for each "
        "position"
    ),
}
MODES: Final = {"boundary": "nearest", "zeros": "grid-constant", "periodic": "grid-wrap"}


def rows(
    counts: tuple[int, ...] = (1000, 100_000, 10_000_000), sides: tuple[int, int, int] = (1000, 100, 40)
) -> Iterator[Row]:
    random = np.random.default_rng(0)
    for library in libraries():
        for count in counts:
            for d, side in enumerate(sides, start=1):
                grid = random.normal(size=(side,) * d)
                yield from _samples(library, grid, random.uniform(-1, side, size=(count, d)))
            positions = random.uniform(-1, sides[0], size=count)
            yield from _functions(library, positions, np.sort(random.uniform(0, sides[0], sides[0])))


def _samples(library: Library, grid: Any, positions: Any) -> Iterator[Row]:
    count, d = positions.shape
    topic = f"grid_sample at {count:,} positions"
    grid, positions = library.xp.asarray(grid), library.xp.asarray(positions)
    for extrapolation in MODES:
        if library.name != "numpy" and extrapolation != "boundary":
            continue  # other libraries lack the mode, or support it only for some dimensions
        ours = Call(interpolation.grid_sample, grid[None, ..., None], positions[None], extrapolation=extrapolation)
        recipes = SAMPLES[library.name](grid, positions, extrapolation)
        if recipes:
            yield _row(topic, library, f", {d}-d, {extrapolation}", ours, recipes, count)


def _functions(library: Library, positions: Any, points: Any) -> Iterator[Row]:
    values = library.xp.asarray(np.cos(points))
    positions, points = library.xp.asarray(positions), library.xp.asarray(points)
    recipes = FUNCTIONS[library.name](positions, points, values)
    ours = Call(interpolation.interp, positions, points, values)
    yield _row(f"interp at {positions.shape[0]:,} positions", library, "", ours, recipes, positions.shape[0])


def _row(topic: str, library: Library, name: str, ours: Call, recipes: Mapping[str, Call], count: int) -> Row:
    if library.name == "numpy":
        return Row(topic, f"numpy{name}", ours, recipes, of_facade("numpy", 1.0), CHECKS if count <= 1000 else "")
    return Row(topic, f"{library.name}{name}", ours, recipes, of_facade(library.name), REASONS[library.name])


def _numpy(grid: Any, positions: Any, extrapolation: str) -> Mapping[str, Call]:
    recipe = Call(ndimage.map_coordinates, grid, positions.T, order=1, mode=MODES[extrapolation])
    return {"scipy.ndimage.map_coordinates": recipe}


def _torch(grid: Any, positions: Any, extrapolation: str) -> Mapping[str, Call]:
    import torch

    if grid.ndim not in (2, 3):
        return {}

    def sample(grid: Any, positions: Any) -> Any:
        sizes = torch.tensor(grid.shape, dtype=positions.dtype)
        scaled = (positions * (2 / (sizes - 1)) - 1).flip(-1).reshape(*(1,) * grid.ndim, -1, grid.ndim)
        mode = {"mode": "bilinear", "padding_mode": "border", "align_corners": True}
        return torch.nn.functional.grid_sample(grid[None, None], scaled, **mode)

    return {"torch.nn.functional.grid_sample": Call(sample, grid, positions)}


def _jax(grid: Any, positions: Any, extrapolation: str) -> Mapping[str, Call]:
    import jax

    sample = lambda grid, positions: jax.scipy.ndimage.map_coordinates(grid, list(positions.T), order=1, mode="nearest")
    return {"jax.scipy.ndimage.map_coordinates, jitted": Call(jax.jit(sample), grid, positions)}


def _numpy_interp(x: Any, points: Any, values: Any) -> Mapping[str, Call]:
    return {"np.interp": Call(np.interp, x, points, values)}


def _torch_interp(x: Any, points: Any, values: Any) -> Mapping[str, Call]:
    import torch

    def interp(x: Any, points: Any, values: Any) -> Any:
        above = torch.searchsorted(points, x).clamp(1, len(points) - 1)
        start, stop, low, high = points[above - 1], points[above], values[above - 1], values[above]
        return torch.lerp(low, high, ((x - start) / (stop - start)).clamp(0, 1))

    return {"searchsorted and lerp": Call(interp, x, points, values)}


def _jax_interp(x: Any, points: Any, values: Any) -> Mapping[str, Call]:
    import jax

    return {"jnp.interp, jitted": Call(jax.jit(jax.numpy.interp), x, points, values)}


SAMPLES: Final = {"numpy": _numpy, "torch": _torch, "jax": _jax}
FUNCTIONS: Final = {"numpy": _numpy_interp, "torch": _torch_interp, "jax": _jax_interp}
