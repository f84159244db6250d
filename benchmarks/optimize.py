"""Optimisers compared with SciPy's at equal tolerance, and with xpand's compiled gradient.

The functions are small, so the time is that of the methods' own steps. Each function is compiled once: on NumPy and JAX
the method is then part of its program.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.optimize

from xpand import array_namespace
from xpand_extensions.autodiff import value_and_grad
from xpand_extensions.jit import jit
from xpand_extensions.optimize import brentq, least_squares, minimize, root

from ._measure import Budget, Call, Row
from .namespaces import libraries

SMALL: Final[dict[str, int]] = {"variables": 2}
"""The sizes at which the tests run every row."""

BUDGET: Final = Budget(ratio=1.1)
REASON: Final = "each step consists of about a hundred operations on a few numbers, one call of the library each"
LIBRARIES: Final = ("numpy", "jax")


def rows(variables: int = 10) -> Iterator[Row]:
    start = np.zeros(variables)
    gradient = jit(value_and_grad(rosenbrock))
    options = {"gtol": 6e-6, "ftol": 0.0}
    theirs = {
        f"minimize of Rosenbrock, {variables} variables": Call(
            scipy.optimize.minimize, gradient, start, jac=True, method="L-BFGS-B", options=options
        ),
        "least_squares of two parameters": Call(
            scipy.optimize.least_squares, decay, np.ones(2), method="lm", gtol=1.5e-8
        ),
        "root in two variables": Call(scipy.optimize.root, circle, np.asarray([1.0, 0.5])),
        "brentq": Call(scipy.optimize.brentq, np.cos, 0.0, 3.0),
    }
    for library in libraries():
        if library.name not in LIBRARIES:
            continue
        asarray = library.xp.asarray
        ours = (
            Call(minimize, jit(rosenbrock), asarray(start)),
            Call(least_squares, jit(decay), asarray(np.ones(2))),
            Call(root, jit(circle), asarray(np.asarray([1.0, 0.5]))),
            Call(brentq, jit(cosine), asarray(np.asarray(0.0)), asarray(np.asarray(3.0))),
        )
        for (topic, reference), call in zip(theirs.items(), ours):
            yield Row(topic, library.name, call, {"scipy.optimize": reference}, BUDGET, REASON)


def rosenbrock(x: Any) -> Any:
    """Compute Rosenbrock's function."""
    return array_namespace(x).sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def decay(x: Any) -> Any:
    """Compute the residuals of an exponential decay, with deviations."""
    xp = array_namespace(x)
    t = xp.linspace(0.0, 1.0, 50, dtype=x.dtype)
    return x[0] * xp.exp(-x[1] * t) - 3.0 * xp.exp(-2.0 * t) - 0.1 * xp.sin(37.0 * t)


def circle(x: Any) -> Any:
    """Compute the residuals of a point on the unit circle and the diagonal."""
    return array_namespace(x).stack([x[0] ** 2 + x[1] ** 2 - 1.0, x[0] - x[1]])


def cosine(x: Any) -> Any:
    """Compute the cosine."""
    return array_namespace(x).cos(x)
