"""A Kalman filter.

A filter follows an object through noisy measurements of its position: `scan` passes the estimate and its covariance
from one measurement to the next. `minimize` fits the noise levels, by the gradient of the likelihood through that loop.
"""

import math

from matplotlib.figure import Figure

from xpand import array_namespace, random, scan
from xpand.extend import Array, Namespace
from xpand_extensions.optimize import minimize

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"n": 12}


def kalman(levels: Array, measured: Array) -> tuple[Array, Array, Array]:
    """Return the estimated positions, their variances, and minus the log-likelihood of the measurements.

    The state is a position and a velocity. `levels` are logarithms of standard deviations: of the acceleration and of
    a measurement.
    """
    xp = array_namespace(levels, measured)
    forward = xp.asarray([[1.0, 1.0], [0.0, 1.0]], dtype=measured.dtype)
    push = xp.asarray([[0.25, 0.5], [0.5, 1.0]], dtype=measured.dtype)
    process, noise = xp.exp(2 * levels[0]) * push, xp.exp(2 * levels[1])

    def step(state: tuple[Array, Array], z: Array) -> tuple[tuple[Array, Array], tuple[Array, Array, Array]]:
        x, cov = state
        x, cov = forward @ x, forward @ cov @ forward.T + process
        innovation, variance = z - x[0], cov[0, 0] + noise
        gain = cov[:, 0] / variance
        x, cov = x + gain * innovation, cov - gain[:, None] * cov[None, 0, :]
        return (x, cov), (x[0], cov[0, 0], 0.5 * (innovation**2 / variance + xp.log(2 * math.pi * variance)))

    start = xp.zeros(2, dtype=measured.dtype), 100.0 * xp.eye(2, dtype=measured.dtype)
    positions, variances, terms = scan(step, start, measured)[1]
    return positions, variances, xp.sum(terms)


def compute(xp: Namespace, n: int = 80) -> Results:
    """Filter a path with noise levels fitted to the measurements."""
    time = xp.arange(n, dtype=xp.float64)
    truth = 12.0 * xp.sin(time / 12.0) + 0.2 * time
    measured = truth + 2.0 * random.normal(random.key(0, xp=xp), (n,), dtype=xp.float64)
    start = xp.asarray([-2.0, 0.0], dtype=xp.float64)

    def misfit(levels: Array) -> Array:
        return kalman(levels, measured)[2]

    fit = minimize(misfit, start)
    positions, variances, _ = kalman(fit.x, measured)
    return {"truth": truth, "measured": measured, "levels": xp.exp(fit.x), "found": positions, "variance": variances}


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    before, after = (abs(r[name] - r["truth"]).mean() for name in ("measured", "found"))
    return (
        f"Fitted deviation of the measurements: {r['levels'][1]:.2f} (true: 2). Mean error: {before:.2f} before, "
        f"{after:.2f} after the filter."
    )


def draw(figure: Figure, r: Values) -> None:
    """Draw the true path, the measurements and the estimate."""
    axes = figure.subplots()
    time, width = range(r["truth"].shape[0]), 2 * r["variance"] ** 0.5
    axes.fill_between(time, r["found"] - width, r["found"] + width, alpha=0.3, lw=0)
    axes.plot(time, r["found"], label="filter")
    axes.plot(time, r["truth"], "--", color="C2", label="truth")
    axes.plot(time, r["measured"], ".", color="C1", label="measured")
    axes.set(xlabel="time")
    axes.legend(ncols=3)
