r"""Gaussian process regression.

The length scale, the amplitude and the noise of a Gaussian process are fitted to noisy data. `minimize` lowers the
negative log-likelihood of the data $y$ with covariance $K$,

$$\frac{1}{2} y^T K^{-1} y + \frac{1}{2} \log \det K + \frac{n}{2} \log 2\pi,$$

whose gradient passes through a Cholesky factorization.
"""

import math

from matplotlib.figure import Figure

from xpand import array_namespace, linalg, random
from xpand.extend import Array, Namespace
from xpand_extensions.optimize import minimize

from . import Results, Values

LIBRARIES = ("numpy", "torch", "jax")
SMALL = {"n": 12}


def kernel(parameters: Array, x: Array, y: Array) -> Array:
    """Return the covariance of the function's values at two sets of points."""
    xp = array_namespace(x)
    length, amplitude = xp.exp(parameters[0]), xp.exp(parameters[1])
    return amplitude**2 * xp.exp(-0.5 * ((x[:, None] - y[None, :]) / length) ** 2)


def factor(parameters: Array, x: Array) -> Array:
    """Return the Cholesky factor of the covariance of noisy data."""
    xp = array_namespace(x)
    noise = xp.exp(2 * parameters[2]) * xp.eye(x.shape[0], dtype=x.dtype)
    return xp.linalg.cholesky(kernel(parameters, x, x) + noise)


def negative_log_likelihood(parameters: Array, x: Array, y: Array) -> Array:
    """Return how badly the parameters explain the data."""
    xp = array_namespace(x)
    lower = factor(parameters, x)
    z = linalg.triangular_solve(lower, y[:, None], lower=True)
    constant = 0.5 * x.shape[0] * math.log(2 * math.pi)
    return 0.5 * xp.sum(z**2) + xp.sum(xp.log(xp.linalg.diagonal(lower))) + constant


def posterior(parameters: Array, x: Array, y: Array, at: Array) -> tuple[Array, Array]:
    """Return the mean and the standard deviation of the function at new points."""
    xp = array_namespace(x)
    lower = factor(parameters, x)
    whitened = linalg.triangular_solve(lower, kernel(parameters, x, at), lower=True)
    z = linalg.triangular_solve(lower, y[:, None], lower=True)
    variance = xp.exp(2 * parameters[1]) - xp.sum(whitened**2, axis=0)
    return (xp.matrix_transpose(whitened) @ z)[:, 0], xp.sqrt(variance)


def compute(xp: Namespace, n: int = 40) -> Results:
    """Fit a process to n noisy values of a sine wave, and evaluate it before and after."""
    places, noise = random.split(random.key(3, xp=xp))
    x = random.uniform(places, (n,), dtype=xp.float64)
    y = xp.sin(2 * math.pi * x) + 0.15 * random.normal(noise, (n,), dtype=xp.float64)
    at = xp.linspace(-0.1, 1.1, 200, dtype=xp.float64)
    start = xp.asarray([-3.0, 0.0, -1.0], dtype=xp.float64)
    fit = minimize(negative_log_likelihood, start, args=(x, y))
    before, after = posterior(start, x, y, at), posterior(fit.x, x, y, at)
    return {
        "x": x,
        "y": y,
        "at": at,
        "parameters": xp.exp(fit.x),
        "likelihood": fit.fun,
        "mean before": before[0],
        "deviation before": before[1],
        "mean": after[0],
        "deviation": after[1],
    }


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    length, amplitude, noise = r["parameters"]
    return f"Fitted: length scale {length:.2f}, amplitude {amplitude:.2f}, noise {noise:.2f}."


def draw(figure: Figure, r: Values) -> None:
    """Draw the process before and after the fit."""
    for axes, part, title in zip(figure.subplots(1, 2, sharey=True), (" before", ""), ("Before", "After the fit")):
        mean, deviation = r["mean" + part], r["deviation" + part]
        axes.fill_between(r["at"], mean - 2 * deviation, mean + 2 * deviation, alpha=0.3, lw=0)
        axes.plot(r["at"], mean)
        axes.plot(r["x"], r["y"], "o", color="C1", ms=3)
        axes.set(title=title, ylim=(-2.2, 2.2))
