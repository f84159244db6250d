"""Robust regression with per-example gradients.

A few outliers spoil an ordinary fit. `vmap(grad(loss))` returns the gradient of every example; with each clipped to a
length of at most 1 before the mean, no example can pull harder than another.
"""

from matplotlib.figure import Figure

from xpand import array_namespace, grad, random, vmap
from xpand.extend import Array, Namespace

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax", "array_api_strict")
SMALL = {"n": 20, "steps": 30}


def loss(line: Array, x: Array, y: Array) -> Array:
    """Return the squared error of one example."""
    return 0.5 * (line[0] + line[1] * x - y) ** 2


per_example = vmap(grad(loss), in_axes=(None, 0, 0))


def fit(x: Array, y: Array, steps: int, limit: float) -> Array:
    """Fit a line by gradient descent; gradients longer than a limit are clipped."""
    xp = array_namespace(x)
    line = xp.zeros(2, dtype=x.dtype)
    for _ in range(steps):
        gradients = per_example(line, x, y)
        length = xp.linalg.vector_norm(gradients, axis=1, keepdims=True)
        line = line - 0.5 * xp.mean(gradients * (limit / xp.maximum(length, limit)), axis=0)
    return line


def compute(xp: Namespace, n: int = 80, steps: int = 200) -> Results:
    """Fit a line with and without clipping. Every eighth value of the data is wrong."""
    keys = random.split(random.key(5, xp=xp))
    x = random.uniform(keys[0, ...], (n,), dtype=xp.float64, minval=-1.0, maxval=1.0)
    noise = 0.15 * random.normal(keys[1, ...], (n,), dtype=xp.float64)
    y = xp.where(xp.arange(n) % 8 == 0, 4.0 + noise, 0.5 + 1.5 * x + noise)
    plain, clipped = fit(x, y, steps, 1e9), fit(x, y, steps, 1.0)
    gradients = xp.linalg.vector_norm(per_example(clipped, x, y), axis=1)
    return {"x": x, "y": y, "plain": plain, "clipped": clipped, "gradients": gradients}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    plain, clipped = (f"{a:.2f} + {b:.2f} x" for a, b in (r["plain"], r["clipped"]))
    return f"True line: 0.50 + 1.50 x. Fitted: {plain} without clipping, {clipped} with it."


def draw(figure: Figure, r: Values) -> None:
    """Draw the data with both lines, and the lengths of the gradients."""
    left, right = figure.subplots(1, 2)
    left.scatter(r["x"], r["y"], c=r["gradients"] > 1.0, cmap="coolwarm", s=12)
    for i, (name, label) in enumerate({"plain": "plain", "clipped": "clipped"}.items()):
        left.axline((0.0, r[name][0]), slope=r[name][1], color=f"C{i}", label=label)
    left.set(title="Fits", xlabel="x")
    left.legend()
    right.hist(r["gradients"], bins=30)
    right.axvline(1.0, color="C1")
    right.set(title="Length of the gradient of each example")
