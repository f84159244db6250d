"""k-means on Dask.

On Dask, the points lie in blocks that need not fit into memory together. The steps of k-means build one task graph:
distances and nearest centres are computed block by block, and `segment_sum` adds up each block before it joins them.
The same function runs on arrays in memory.
"""

from typing import Any

from matplotlib.figure import Figure

from xpand import array_namespace, random, scatter
from xpand.extend import Array, Namespace

from . import Results, Values

LIBRARIES = ("dask", "numpy", "torch", "jax")
SMALL = {"n": 40, "steps": 2}
GROUPS = ((0.0, 0.0), (4.0, 1.0), (1.0, 4.0), (5.0, 5.0), (-3.0, 3.5))


def nearest(points: Array, centres: Array) -> Array:
    """Return the index of the nearest centre of each point."""
    xp = array_namespace(points)
    return xp.argmin(xp.sum((points[:, None, :] - centres[None, :, :]) ** 2, axis=-1), axis=1)


def step(points: Array, centres: Array) -> Array:
    """Return the means of the points around each centre."""
    xp = array_namespace(points)
    group, k = nearest(points, centres), centres.shape[0]
    total = scatter.segment_sum(points, group, num_segments=k)
    count = scatter.segment_sum(xp.ones_like(points[:, :1]), group, num_segments=k)
    return total / xp.maximum(count, xp.ones_like(count))


def compute(xp: Namespace, n: int = 600, steps: int = 6) -> Results:
    """Group points around five centres."""
    k = len(GROUPS)
    group = xp.arange(n) % k
    middles = xp.take(xp.asarray(GROUPS, dtype=xp.float64), group, axis=0)
    points: Array = middles + 0.8 * random.normal(random.key(0, xp=xp), (n, 2), dtype=xp.float64)
    rechunk: Any = getattr(points, "rechunk", None)
    if rechunk is not None:
        points = rechunk((n // 4, 2))  # four blocks of rows
    path = [points[:k, :]]
    for _ in range(steps):
        path.append(step(points, path[-1]))
    return {"points": points, "path": xp.stack(path), "group": nearest(points, path[-1])}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    spread = ((r["points"] - r["path"][-1][r["group"]]) ** 2).sum(axis=1).mean() ** 0.5
    return f"{r['path'].shape[1]} groups; the points lie {spread:.2f} from their centre, in the root mean square."


def draw(figure: Figure, r: Values) -> None:
    """Draw the groups and the paths of the centres."""
    axes = figure.subplots()
    for i in range(len(GROUPS)):
        points = r["points"][r["group"] == i]
        axes.scatter(points[:, 0], points[:, 1], s=7, alpha=0.5, lw=0)
        axes.plot(*r["path"][:, i].T, "o-", color="#8a979e", ms=3, lw=1)
    axes.scatter(r["path"][-1, :, 0], r["path"][-1, :, 1], color="#c9302c", marker="x", s=60, zorder=5)
    axes.set_aspect("equal")
    axes.set_axis_off()
