"""NumPy programs in machine code, compared with the same programs on JAX."""

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from xpand import array_namespace
from xpand_extensions import autodiff, control_flow
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

from ._measure import Budget, Call, Row

TOPIC: Final = "machine code for NumPy programs"
SMALL: Final[dict[str, int]] = {"steps": 9, "links": 2, "side": 20, "elements": 30, "examples": 3, "variables": 5}
"""The sizes at which the tests run every row."""
_SINES: Final = "NumPy's own sin and cos take 10 µs of it, whose values these are"
_DENSE: Final = "zeros of the Hessian's factors are multiplied too"


def rows(
    steps: int = 1_000,
    links: int = 50,
    side: int = 512,
    elements: int = 5_000_000,
    examples: int = 5_000,
    variables: int = 100,
) -> Iterator[Row]:
    if find_spec("llvmlite") is None:
        return
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)

    def row(name: str, ours: Any, theirs: Any, arrays: tuple[Any, ...], ratio: float, reason: str = "") -> Row:
        program = jax.jit(theirs)
        given = tuple(map(jnp.asarray, arrays))
        finish = lambda *given: jax.block_until_ready(program(*given))
        references = {"jax.jit": Call(finish, *given)}
        return Row(TOPIC, name, Call(jit(ours, compiler="native"), *arrays), references, Budget(ratio), reason)

    path = _path(steps)
    rates, start = np.asarray([1.1, 0.4, 0.1, 0.4]), np.asarray([10.0, 10.0])
    name = f"gradient of a scan of {steps:,} steps"
    yield row(name, autodiff.grad(path(control_flow.scan)), jax.grad(path(jax.lax.scan)), (rates, start), 0.6)
    chain = _chain(links)
    name = f"gradient of {3 * links} operations on ten numbers"
    yield row(name, autodiff.grad(chain), jax.grad(chain), (np.ones(10),), 0.8, _SINES)
    yield row(f"ten steps of heat, {side} by {side}", _heat, _heat, (rng.normal(size=(side, side)),), 1.0)
    yield row(f"a formula of {elements:,} numbers", _formula, _formula, (rng.normal(size=elements),), 0.7)
    arrays = rng.normal(size=50), rng.normal(size=(examples, 50)), rng.normal(size=examples)
    ours, theirs = vmap(autodiff.grad(_error), in_axes=(None, 0, 0)), jax.vmap(jax.grad(_error), in_axes=(None, 0, 0))
    yield row(f"gradients of {examples:,} examples", ours, theirs, arrays, 1.2)
    name, x = f"Hessian of {variables} variables", np.linspace(-1.0, 1.0, variables)
    yield row(name, autodiff.hessian(_rosenbrock), jax.hessian(_rosenbrock), (x,), 1.5, _DENSE)


def _path(steps: int) -> Callable[..., Any]:
    """Make the sum of squares along a path of predators and prey, by a library's scan."""

    def of_scan(scan: Any) -> Callable[..., Any]:
        def total(rates: Any, start: Any) -> Any:
            xp = array_namespace(start)

            def step(y: Any, _: Any) -> Any:
                prey, predators = rates[0] * y[0] - rates[1] * y[0] * y[1], rates[2] * y[0] * y[1] - rates[3] * y[1]
                y = y + 0.01 * xp.stack([prey, predators])
                return y, y

            return xp.sum(scan(step, start, None, length=steps)[1] ** 2)

        return total

    return of_scan


def _chain(links: int) -> Callable[[Any], Any]:
    def total(x: Any) -> Any:
        xp = array_namespace(x)
        for _ in range(links):
            x = xp.sin(x) * 1.01 + 0.1
        return xp.sum(x)

    return total


def _heat(u: Any) -> Any:
    xp = array_namespace(u)
    for _ in range(10):
        neighbours = xp.roll(u, 1, axis=0) + xp.roll(u, -1, axis=0) + xp.roll(u, 1, axis=1) + xp.roll(u, -1, axis=1)
        u = u + 0.1 * (neighbours - 4 * u)
    return u


def _formula(x: Any) -> Any:
    xp = array_namespace(x)
    return xp.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + xp.abs(x)) - 0.1 * x


def _error(w: Any, x: Any, y: Any) -> Any:
    xp = array_namespace(w)
    return (xp.sum(xp.tanh(w * x)) - y) ** 2


def _rosenbrock(x: Any) -> Any:
    return array_namespace(x).sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
