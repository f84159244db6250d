"""Functions of vectors along the last axis, for any library: with known minima, and without a minimum."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xpand import array_namespace


def rosenbrock(x: Any) -> Any:
    xp = array_namespace(x)
    return xp.sum(100.0 * (x[..., 1:] - x[..., :-1] ** 2) ** 2 + (1.0 - x[..., :-1]) ** 2, axis=-1)


def beale(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return (1.5 - a * (1.0 - b)) ** 2 + (2.25 - a * (1.0 - b**2)) ** 2 + (2.625 - a * (1.0 - b**3)) ** 2


def himmelblau(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return (a**2 + b - 11.0) ** 2 + (a + b**2 - 7.0) ** 2


def powell(x: Any) -> Any:
    """Powell's singular function. Its Hessian at the minimum is singular."""
    a, b, c, d = (x[..., i] for i in range(4))
    return (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4


def ill_conditioned(x: Any) -> Any:
    """A quadratic function. Its Hessian has the condition number 1e4."""
    xp = array_namespace(x)
    n = x.shape[-1]
    scale = xp.asarray(np.logspace(0, 4, n), dtype=x.dtype, device=getattr(x, "device", None))
    return xp.sum(scale * (x - 1.0) ** 2, axis=-1) / 2.0


def logistic(x: Any) -> Any:
    """Logistic regression with a small penalty, on fixed data."""
    xp = array_namespace(x)
    rng = np.random.default_rng(3)
    data = rng.normal(size=(40, 3))
    labels = np.sign(data @ [1.0, -2.0, 0.5] + 0.5 * rng.normal(size=40))
    rows = xp.asarray(labels[:, None] * data, dtype=x.dtype, device=getattr(x, "device", None))
    scores = xp.sum(x[..., None, :] * rows, axis=-1)
    softplus = xp.maximum(-scores, xp.zeros_like(scores)) + xp.log1p(xp.exp(-xp.abs(scores)))
    return xp.sum(softplus, axis=-1) + 0.05 * xp.sum(x**2, axis=-1)


@dataclass(frozen=True)
class Problem:
    """A function, a starting point, and its minimum: the value, and the point if it is known and well-conditioned."""

    f: Callable[[Any], Any]
    start: tuple[float, ...]
    minimum: float | None = 0.0
    point: tuple[float, ...] | None = None


PROBLEMS = {
    "quadratic": Problem(ill_conditioned, (0.0, 3.0, -1.0, 2.0), 0.0, (1.0, 1.0, 1.0, 1.0)),
    "rosenbrock": Problem(rosenbrock, (-1.2, 1.0), 0.0, (1.0, 1.0)),
    "beale": Problem(beale, (1.0, 1.0), 0.0, (3.0, 0.5)),
    "himmelblau": Problem(himmelblau, (1.0, 1.0), 0.0, (3.0, 2.0)),
    "powell": Problem(powell, (3.0, -1.0, 0.0, 1.0)),
    "logistic": Problem(logistic, (0.0, 0.0, 0.0), None),
}
