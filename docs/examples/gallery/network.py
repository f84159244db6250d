"""A PyTorch module that solves a differential equation.

The module stays as it is: `functional_call` of PyTorch makes it a function of its parameters. `grad` differentiates it
with respect to time, `vmap` evaluates this at all times, and `minimize` finds the parameters for which the slope obeys
the equation of logistic growth, u' = u (1 - u). It differentiates the slope once more, with respect to the parameters.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from xpand import grad, vmap
from xpand.extend import Array, Namespace
from xpand_extensions.optimize import minimize

from . import Results, Values

if TYPE_CHECKING:
    from torch import Tensor, nn

LIBRARIES = ("torch",)
SMALL = {"n": 8, "width": 4}
START, END = 0.1, 6.0


def module_of(width: int) -> "nn.Module":
    """Return a network with one number as input and output, and always the same first parameters."""
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = [nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)]
        return nn.Sequential(*layers).double().requires_grad_(False)  # xpand differentiates it, not PyTorch


def compute(xp: Namespace, n: int = 24, width: int = 12) -> Results:
    """Train the module."""
    from torch.func import functional_call

    module = module_of(width)
    times: Array = xp.linspace(0.0, END, n, dtype=xp.float64)

    def solution(parameters: "dict[str, Tensor]", t: Array) -> Array:
        output: Array = functional_call(module, parameters, (xp.reshape(t, (1,)),))
        return START + t * output[0]

    slopes = vmap(grad(solution, 1), (None, 0))
    values = vmap(solution, (None, 0))

    def loss(parameters: "dict[str, Tensor]") -> Array:
        u = values(parameters, times)
        return xp.mean((slopes(parameters, times) - u * (1 - u)) ** 2)

    first: dict[str, Tensor] = dict(module.named_parameters())
    found = minimize(loss, first, max_steps=300, atol=1e-5, throw=False)
    return {"times": times, "first": values(first, times), "found": values(found.x, times)}


def _exact(times: Any) -> Any:
    return START / (START + (1 - START) * np.exp(-times))


def summary(r: Values) -> str:
    """Return the result in one sentence."""
    return f"The largest difference from the exact solution is {np.abs(r['found'] - _exact(r['times'])).max():.1e}."


def draw(figure: Figure, r: Values) -> None:
    """Draw the solution before and after the training, and the exact one."""
    axes = figure.subplots()
    axes.plot(r["times"], r["first"], "--", label="first parameters")
    axes.plot(r["times"], r["found"], "o", label="trained")
    axes.plot(r["times"], _exact(r["times"]), lw=1, label="exact")
    axes.set(title="Logistic growth", xlabel="time")
    axes.legend()
