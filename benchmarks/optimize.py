"""Optimizers compared with SciPy's, at the same tolerance and with xpand's compiled gradient.

The functions are small, so the methods' own steps take most of the time. Everything is compiled once: on NumPy the
derivatives, which the methods of SciPy and xpand call; on JAX the whole method.
"""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import scipy.optimize

from xpand import array_namespace
from xpand_extensions.autodiff import jacfwd, value_and_grad
from xpand_extensions.jit import jit
from xpand_extensions.optimize import brentq, least_squares, minimize, root

from ._measure import Budget, Call, Row
from .namespaces import libraries

SMALL: Final[dict[str, int]] = {"variables": 2}
"""The sizes with which the tests run every row."""

BUDGET: Final = Budget(ratio=1.1)
REASONS: Final = {
    "numpy": "a compiled function takes 0.5 µs for a point, SciPy's call of np.cos 0.1; making the array of the point "
    "and the list of points takes 0.3; finding the plan, the status and the arrays of the result take 13 for "
    "each call",
    "jax": "each step consists of about a hundred operations on a few numbers, one call of the library each",
}
LIBRARIES: Final = ("numpy", "jax")


def rows(variables: int = 10) -> Iterator[Row]:
    start = np.zeros(variables)
    gradient, jacobian = jit(value_and_grad(rosenbrock)), jit(jacfwd(decay))
    descent = {"fun": gradient, "x0": start, "jac": True}
    of_minimize, of_fit = scipy.optimize.minimize, scipy.optimize.least_squares
    fit = {"method": "lm", "gtol": 1.5e-8}
    theirs: dict[str, dict[str, Call]] = {
        f"minimize of Rosenbrock, {variables} variables": {
            "L-BFGS-B": Call(of_minimize, **descent, method="L-BFGS-B", options={"gtol": 6e-6, "ftol": 0.0})
        },
        f"minimize of Rosenbrock within bounds, {variables} variables": {
            "L-BFGS-B": Call(
                of_minimize,
                **descent,
                method="L-BFGS-B",
                bounds=[(-0.5, 0.8)] * variables,
                options={"gtol": 6e-6, "ftol": 0.0},
            )
        },
        f"minimize of Rosenbrock by BFGS, {variables} variables": {
            "BFGS": Call(of_minimize, **descent, method="BFGS", options={"gtol": 6e-6})
        },
        "least_squares of two parameters": {
            "lm, differences": Call(of_fit, decay, np.ones(2), **fit),
            "lm, our Jacobian": Call(of_fit, jit(decay), np.ones(2), jac=jacobian, **fit),
        },
        "root in two variables": {"hybr": Call(scipy.optimize.root, circle, np.asarray([1.0, 0.5]))},
        "brentq": {"brentq": Call(scipy.optimize.brentq, np.cos, 0.0, 3.0)},
    }
    for library in libraries():
        if library.name not in LIBRARIES:
            continue
        asarray, f = library.xp.asarray, jit(rosenbrock)
        ours = (
            Call(minimize, f, asarray(start)),
            Call(minimize, f, asarray(start), bounds=(-0.5, 0.8)),
            Call(minimize, f, asarray(start), method="bfgs"),
            Call(least_squares, jit(decay), asarray(np.ones(2))),
            Call(root, jit(circle), asarray(np.asarray([1.0, 0.5]))),
            Call(brentq, jit(cosine), asarray(np.asarray(0.0)), asarray(np.asarray(3.0))),
        )
        for (topic, calls), call in zip(theirs.items(), ours):
            counts = int(call().function_evaluations), min(map(_evaluations, calls.values()))
            name = f"{library.name}, {counts[0]} evaluations, SciPy {counts[1]}"
            fault = f"{counts[0]} evaluations, SciPy {counts[1]}" if _is_more(library.name, *counts) else ""
            yield Row(topic, name, call, calls, BUDGET, REASONS[library.name], fault)


def _evaluations(call: Call) -> int:
    """Count the evaluations in a call of SciPy."""
    if call.function is scipy.optimize.brentq:
        return int(call.function(*call.args, full_output=True)[1].function_calls)
    return int(call().nfev)


def _is_more(library: str, ours: int, theirs: int) -> bool:
    """Return whether xpand on NumPy takes over a tenth more evaluations than SciPy."""
    return library == "numpy" and ours > 1.1 * theirs


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
