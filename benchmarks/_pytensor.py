"""Programs of PyTensor, which compiles symbolic graphs with numba.

PyTensor pins an older numba than other packages use, so no extra installs it. Its rows appear where it is installed.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def is_installed() -> bool:
    """Return whether PyTensor can be imported."""
    return find_spec("pytensor") is not None


def formula() -> Callable[..., Any]:
    """Compile the formula of `compilers`."""
    pytensor, pt = _modules()
    x = pt.dvector()
    return _compiled(pytensor, [x], pt.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + pt.abs(x)) - 0.1 * x)


def gradient_of_chain(links: int) -> Callable[..., Any]:
    """Compile the gradient of `compilers.chain`."""
    pytensor, pt = _modules()
    x = y = pt.dvector()
    for _ in range(links):
        y = pt.sin(y) * 1.01 + 0.1
    return _compiled(pytensor, [x], pt.grad(pt.sum(y), x))


def gradient_of_scan(steps: int) -> Callable[..., Any]:
    """Compile the gradient of `compilers.predators`."""
    pytensor, pt = _modules()
    rates, start = pt.dvector(), pt.dvector()

    def step(y: Any, rates: Any) -> Any:
        prey, predators = rates[0] * y[0] - rates[1] * y[0] * y[1], rates[2] * y[0] * y[1] - rates[3] * y[1]
        return y + 0.01 * pt.stack([prey, predators])

    path = pytensor.scan(step, outputs_info=[start], non_sequences=[rates], n_steps=steps, return_updates=False)
    return _compiled(pytensor, [rates, start], pt.grad(pt.sum(path**2), rates))


def _modules() -> tuple[Any, Any]:
    pytensor = import_module("pytensor")
    pytensor.config.numba__cache = False  # the first call contains compilation
    return pytensor, import_module("pytensor.tensor")


def _compiled(pytensor: Any, arguments: list[Any], result: Any) -> Callable[..., Any]:
    program: Any = pytensor.function(arguments, result)
    program.trust_input = True  # skip the checks of arguments
    found: Callable[..., Any] = program
    return found
