"""Hamiltonian Monte Carlo.

Many chains sample a banana-shaped density at once. One chain is written for one point; `vmap` runs all chains, and
`scan` runs the steps. The gradient of the density comes from `grad`.
"""

from matplotlib.figure import Figure

from xpand import array_namespace, grad, jit, random, scan, vmap
from xpand.extend import Array, Namespace

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"chains": 3, "steps": 4}


def energy(x: Array) -> Array:
    """Return minus the logarithm of the density, up to a constant."""
    return 0.5 * x[0] ** 2 + 0.5 * ((x[1] - x[0] ** 2) / 0.6) ** 2


def move(x: Array, key: Array, step: float = 0.1, leaps: int = 16) -> tuple[Array, Array]:
    """Return the next point of a chain, twice: as the state of the loop and as its output."""
    xp = array_namespace(x)
    first, second = random.split(key)
    start = random.normal(first, x.shape, dtype=x.dtype)
    q, p = x, start - 0.5 * step * grad(energy)(x)
    for leap in range(leaps):
        q = q + step * p
        p = p - (step if leap < leaps - 1 else 0.5 * step) * grad(energy)(q)
    before, after = energy(x) + 0.5 * xp.sum(start**2), energy(q) + 0.5 * xp.sum(p**2)
    accepted = random.uniform(second, (), dtype=x.dtype) < xp.exp(before - after)
    x = xp.where(accepted, q, x)
    return x, x


def chain(start: Array, keys: Array) -> Array:
    """Return the points of one chain."""
    return scan(move, start, keys)[1]


def compute(xp: Namespace, chains: int = 16, steps: int = 120) -> Results:
    """Sample with many chains, from starts around zero."""
    starts = 0.5 * random.normal(random.key(1, xp=xp), (chains, 2), dtype=xp.float64)
    keys = random.split(random.key(2, xp=xp), (chains, steps))
    run = vmap(chain)
    samples = (jit(run) if xp.__name__ == "xpand.jax" else run)(starts, keys)
    return {"samples": samples}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    chains, steps, _ = r["samples"].shape
    x, y = r["samples"][:, steps // 4 :].reshape(-1, 2).T
    return (
        f"{chains} chains of {steps} steps: the mean of x is {x.mean():.2f} (exact: 0), that of y is {y.mean():.2f} "
        f"(exact: 1)."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw all points, and the path of three chains."""
    samples = r["samples"]
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.6))
    left.scatter(*samples.reshape(-1, 2).T, s=4, alpha=0.4, lw=0, rasterized=True)
    left.set(title="Points of all chains", xlabel="x", ylabel="y")
    right.plot(samples[:3, :, 1].T, lw=1)
    right.set(title="Three chains", xlabel="step", ylabel="y")
