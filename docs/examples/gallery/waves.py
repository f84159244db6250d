"""An unchanged NumPy simulation.

`simulate` solves the wave equation as NumPy programs do: with `np.roll`, `np.zeros_like`, a loop over time and in-place
additions. It does not know xpand. `vmap` simulates several sources together, `grad` differentiates the misfit between
simulated and recorded waves with respect to the speed in every cell, and `jit` compiles this gradient. Descent along it
finds the disc that delayed the waves: full waveform inversion. The sources are at the top, and the receivers on a
square around the disc.
"""

import numpy as np
from matplotlib.figure import Figure

from xpand import jit, value_and_grad, vmap
from xpand.extend import Namespace

from . import Results, Values

Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]

LIBRARIES = ("numpy",)
SMALL = {"n": 24, "steps": 50, "descents": 3}
SOURCES = (0.15, 0.4, 0.6, 0.85)


def simulate(speed: Floats, source: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return the waves at the receivers, and all waves at the end."""
    n = speed.shape[0]
    dt = 0.5 / n
    depth = np.minimum(np.arange(n), np.arange(n)[::-1])
    near_edge = np.maximum(0, 1 - np.minimum.outer(depth, depth) / (n / 10))
    damping = 1 - 0.06 * near_edge**2
    before = np.zeros_like(speed)
    pressure = np.zeros_like(speed)
    records: list[Floats] = []
    for step in range(steps):
        laplacian = np.roll(pressure, 1, 0) + np.roll(pressure, -1, 0) - 2 * pressure
        laplacian += np.roll(pressure, 1, 1) + np.roll(pressure, -1, 1) - 2 * pressure
        after = 2 * pressure - before + (speed * dt * n) ** 2 * laplacian
        pulse = (step * dt - 0.15) / 0.05
        after += dt * pulse * np.exp(-(pulse**2)) * source
        before, pressure = damping * pressure, damping * after
        records.append(np.concatenate([pressure[n // 8], pressure[-n // 8], pressure[:, n // 8], pressure[:, -n // 8]]))
    return np.stack(records), pressure


def compute(xp: Namespace, n: int = 64, steps: int = 200, descents: int = 25) -> Results:
    """Simulate waves through a disc, and find it from the records at the receivers."""
    x = np.linspace(0, 1, n)
    y = x[:, None]
    truth: Floats = np.where((x - 0.55) ** 2 + (y - 0.5) ** 2 < 0.02, 0.8, 1.0)
    sources = np.stack([np.exp(-((x - at) ** 2 + (y - 0.12) ** 2) / 0.001) for at in SOURCES])
    shots = vmap(simulate, in_axes=(None, 0, None))
    measured, _ = shots(truth, sources, steps)

    def misfit(speed: Floats) -> np.float64:
        return np.sum((shots(speed, sources, steps)[0] - measured) ** 2)

    descent = jit(value_and_grad(misfit))
    speed = np.ones((n, n))
    misfit_at_start, gradient = descent(speed)
    direction = gradient / np.max(np.abs(gradient))
    slope = (misfit(speed + 1e-4 * direction) - misfit(speed - 1e-4 * direction)) / 2e-4
    error = np.abs(slope / np.sum(gradient * direction) - 1)
    history = [misfit_at_start]
    step = gradient
    for i in range(descents):
        speed = speed - 0.03 * 0.93**i * step / np.max(np.abs(step))
        value, step = descent(speed)
        history.append(value)
    results = {
        "waves": shots(truth, sources, steps // 2)[1],
        "truth": truth,
        "gradient": gradient,
        "speed": speed,
        "history": np.stack(history),
        "error": error,
    }
    return {name: xp.asarray(result) for name, result in results.items()}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    left = r["history"][-1] / r["history"][0]
    return (
        f"Central differences agree with the gradient within a relative error of {float(r['error']):.0e}. "
        f"{len(r['history']) - 1} steps reduce the misfit to {100 * left:.0f} %."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw the waves of one source and of all, the gradient, and the speed after the descent."""
    n = len(r["truth"])
    waves = r["waves"] / np.max(np.abs(r["waves"]))
    together = np.block([[waves[0], waves[1]], [waves[2], waves[3]]])
    slope = r["gradient"] / np.max(np.abs(r["gradient"]))
    steps = len(r["history"]) - 1
    panels: tuple[tuple[str, str, Floats, str, float], ...] = (
        ("simulate(speed, source)", "NumPy code, unchanged", waves[1], "RdBu", 0.7),
        ("vmap(simulate)", "all sources in one call", together, "RdBu", 0.7),
        ("grad(misfit)", "a derivative for each cell", slope, "PiYG", 0.7),
        ("jit(grad(misfit))", f"{steps} steps find the disc", 1 - r["speed"], "PiYG", 0.25),
    )
    for i, (axes, (title, caption, image, colours, limit)) in enumerate(zip(figure.subplots(1, 4), panels)):
        axes.imshow(image, cmap=colours, vmin=-limit, vmax=limit)
        axes.set_title(title, family="monospace", size=9)
        axes.text(0, -0.04, caption, transform=axes.transAxes, va="top")
        axes.set_axis_off()
        if i == 1:
            for line in (axes.axvline, axes.axhline):
                line(n - 0.5, color="#9aa3a8", linewidth=0.8)
        else:
            axes.contour(r["truth"], levels=[0.9], colors="black", linewidths=0.8)
