"""Labels spread over a graph.

Two of 240 points have a label. Each point is joined to its nearest neighbours, and the labels diffuse along the edges:
`segment_sum` adds up, for each point, what arrives over its edges.
"""

import math

from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from xpand import array_namespace, random, scatter, sorting
from xpand.extend import Array, Namespace

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax", "array_api_strict")
SMALL = {"n": 30, "steps": 20}


def neighbours(points: Array, k: int) -> tuple[Array, Array]:
    """Return the edges from each point to its k nearest, as two arrays of indices."""
    xp = array_namespace(points)
    n = points.shape[0]
    distances = xp.sum((points[:, None, :] - points[None, :, :]) ** 2, axis=-1)
    nearest = sorting.top_k(distances, k + 1, largest=False).indices[:, 1:]
    sources = xp.repeat(xp.arange(n), k)
    targets = xp.astype(xp.reshape(nearest, (-1,)), sources.dtype)
    return xp.concat([sources, targets]), xp.concat([targets, sources])


def compute(xp: Namespace, n: int = 240, k: int = 6, steps: int = 400) -> Results:
    """Spread two labels over two half moons."""
    keys = random.split(random.key(0, xp=xp))
    angle = math.pi * random.uniform(keys[0, ...], (n,), dtype=xp.float64)
    upper = xp.arange(n) % 2 == 0
    x = xp.where(upper, xp.cos(angle), 1.0 - xp.cos(angle))
    y = xp.where(upper, xp.sin(angle), 0.45 - xp.sin(angle))
    points = xp.stack([x, y], axis=1) + 0.08 * random.normal(keys[1, ...], (n, 2), dtype=xp.float64)

    sources, targets = neighbours(points, k)
    degree = scatter.segment_sum(xp.ones(sources.shape, dtype=xp.float64), targets, num_segments=n)
    index = xp.arange(n)
    given = xp.where(index == 0, 1.0, xp.where(index == 1, -1.0, xp.zeros(n, dtype=xp.float64)))
    values = given
    for _ in range(steps):
        arriving = scatter.segment_sum(xp.take(values, sources, axis=0), targets, num_segments=n)
        values = xp.where(given == 0.0, arriving / degree, given)
    return {"points": points, "edges": xp.stack([sources, targets]), "values": values, "upper": upper}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    right = ((r["values"] > 0) == r["upper"]).mean()
    return f"{right:.1%} of the points get the label of their moon."


def draw(figure: Figure, r: Values) -> None:
    """Draw the graph, and its points with the colours of their labels."""
    axes = figure.subplots()
    points, (sources, targets) = r["points"], r["edges"]
    half = sources.shape[0] // 2  # the other half are the same edges backwards
    ends = points[[sources[:half], targets[:half]]]
    lines = LineCollection(
        list(ends.swapaxes(0, 1)), colors="#8a979e", linewidths=0.4, alpha=0.6, rasterized=True, zorder=0
    )
    axes.add_collection(lines)
    x, y = points.T
    axes.scatter(x, y, c=r["values"], cmap="coolwarm", s=16, vmin=-0.5, vmax=0.5)
    axes.scatter(x[:2], y[:2], c=(0.5, -0.5), cmap="coolwarm", s=90, marker="*", edgecolor="black", lw=0.5)
    axes.set_axis_off()
