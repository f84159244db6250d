"""NumPy programs in machine code, compared with the same programs on JAX."""

from collections.abc import Callable, Iterator
from functools import partial
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
ON_XLA: Final = "NumPy programs on XLA"
SMALL: Final[dict[str, int]] = {
    "steps": 9,
    "links": 2,
    "side": 20,
    "elements": 30,
    "examples": 3,
    "variables": 5,
    "lanes": 3,
    "images": 4,
    "attempts": 9,
    "observations": 5,
}
"""The sizes with which the tests run every row."""
_SINES: Final = "NumPy's own sin and cos take 8 µs of the time, 8 ns for a number; results must have the same bits"
_POWER: Final = (
    "NumPy's own pow takes 9 µs of the time, 41 ns for each of 211 attempts; results must have the same bits"
)
_PRODUCTS: Final = "matrix products by NumPy's BLAS take half of the time, NumPy's own tanh a fifth"
_AGAIN: Final = "reverse mode computes the steps of each block of the scan again"
_UNALIGNED: Final = "JAX copies an argument whose memory is not aligned to 64 bytes"


def rows(
    steps: int = 1_000,
    links: int = 50,
    side: int = 512,
    elements: int = 5_000_000,
    examples: int = 5_000,
    variables: int = 100,
    lanes: int = 1_000,
    images: int = 1_797,
    attempts: int = 400,
    observations: int = 1_000,
) -> Iterator[Row]:
    if find_spec("llvmlite") is None:
        return
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)

    def row(name: str, ours: Any, theirs: Any, arrays: tuple[Any, ...], ratio: float, reason: str = "") -> Row:
        program = Call(jit(ours, compiler="native"), *arrays)
        return Row(TOPIC, name, program, {"jax.jit": on_jax(theirs, arrays)}, Budget(ratio), reason)

    def on_xla(name: str, ours: Any, theirs: Any, arrays: tuple[Any, ...], ratio: float, reason: str = "") -> Row:
        program = Call(jit(ours, compiler="xla"), *arrays)
        return Row(ON_XLA, name, program, {"jax.jit": on_jax(theirs, arrays)}, Budget(ratio, extra=20e-6), reason)

    path = predators(steps)
    rates, start = np.asarray([1.1, 0.4, 0.1, 0.4]), np.asarray([10.0, 10.0])
    name = f"gradient of a scan of {steps:,} steps"
    yield row(name, autodiff.grad(path(control_flow.scan)), jax.grad(path(jax.lax.scan)), (rates, start), 0.6)
    program, arrays = autodiff.grad(path(control_flow.scan)), (rates, start)
    by_default = Call(jit(program), *arrays)
    for _ in range(12):  # until NumPy's steps have taken longer than compiling would
        by_default()
    named = {'compiler="native"': Call(jit(program, compiler="native"), *arrays)}
    yield Row(TOPIC, f"{name}, by default", by_default, named, Budget(1.0, extra=1e-6))
    without = {"numpy, a Python loop, the value alone": Call(_in_python(steps), rates, start)}
    by_numpy = Call(jit(program, compiler="numpy"), rates, start)
    yield Row(TOPIC, f"{name}, without llvmlite", by_numpy, without, Budget(0.6))
    sines = chain(links)
    name = f"gradient of {3 * links} operations on ten numbers"
    yield row(name, autodiff.grad(sines), jax.grad(sines), (np.ones(10),), 0.8, _SINES)
    yield row(f"ten steps of heat, {side} by {side}", heat, heat, (rng.normal(size=(side, side)),), 1.0)
    x = rng.normal(size=(4 * side, 4 * side))
    name = f"five steps of mirrored heat, {4 * side} by {4 * side}, without llvmlite"
    yield Row(TOPIC, name, Call(jit(_mirrored, compiler="numpy"), x), {"numpy": Call(_mirrored, x)}, Budget(0.6))
    yield row(f"a formula of {elements:,} numbers", formula, formula, (rng.normal(size=elements),), 0.7)
    arrays = rng.normal(size=50), rng.normal(size=(examples, 50)), rng.normal(size=examples)
    ours, theirs = vmap(autodiff.grad(_error), in_axes=(None, 0, 0)), jax.vmap(jax.grad(_error), in_axes=(None, 0, 0))
    yield row(f"gradients of {examples:,} examples", ours, theirs, arrays, 1.2)
    name, x = f"Hessian of {variables} variables", np.linspace(-1.0, 1.0, variables)
    yield row(name, autodiff.hessian(_rosenbrock), jax.hessian(_rosenbrock), (x,), 1.5)
    name, numbers = f"a while loop of {lanes:,} lanes", 10.0 ** rng.uniform(-8.0, 8.0, lanes)
    ours, theirs = vmap(_newton(control_flow.while_loop)), jax.vmap(_newton(jax.lax.while_loop))
    yield row(name, ours, theirs, (numbers,), 1.0)
    ours, theirs = vmap(_collatz(control_flow.while_loop)), jax.vmap(_collatz(jax.lax.while_loop))
    yield row(f"Collatz sequences of {lanes:,} numbers", ours, theirs, (np.arange(1, lanes + 1),), 0.5)
    starts = rng.uniform(5.0, 15.0, size=(lanes, 2))
    ours, theirs = _integral(control_flow.while_loop), _integral(jax.lax.while_loop)
    ours, theirs = vmap(ours, in_axes=(None, 0)), jax.vmap(theirs, in_axes=(None, 0))
    yield row(f"{lanes:,} adaptive Runge-Kutta integrators", ours, theirs, (rates, starts), 0.5)
    ours, theirs = _integral(control_flow.while_loop), _integral(jax.lax.while_loop)
    yield row("an adaptive Runge-Kutta integrator", ours, theirs, (rates, start), 1.0, _POWER)
    bounded = partial(control_flow.while_loop, max_iter=attempts)
    ours, theirs = autodiff.grad(_integral(bounded)), jax.grad(_integral(partial(_bounded_on_jax, attempts)))
    yield row("gradient of the adaptive integrator", ours, theirs, (rates, start), 1.0)
    weights = [0.1 * rng.normal(size=shape) for shape in ((64, 64), (64,), (64, 10), (10,))]
    arrays = *weights, rng.normal(size=(images, 64)), np.eye(10)[rng.integers(0, 10, images)]
    ours, theirs = (each(_perceptron, argnums=(0, 1, 2, 3)) for each in (autodiff.grad, jax.grad))
    yield row(f"gradient of a perceptron for {images:,} digits", ours, theirs, arrays, 1.25, _PRODUCTS)
    a, h = 0.9 * np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=(2, 4))
    arrays = a, 0.1 * np.eye(4), 0.5 * np.eye(2), h, rng.normal(size=(observations, 2))
    ours, theirs = _kalman(control_flow.scan), _kalman(jax.lax.scan)
    yield row(f"a Kalman filter of {observations:,} steps", ours, theirs, arrays, 0.4)
    ours, theirs = autodiff.grad(ours, argnums=(0, 1, 2, 3)), jax.grad(theirs, argnums=(0, 1, 2, 3))
    yield row("gradient of the Kalman filter", ours, theirs, arrays, 0.4)
    arrays = np.asarray([0.5, 0.3, 1.1]), np.asarray([1.0 + 0j, 0j])
    ours, theirs = _two_states(control_flow.scan, steps), _two_states(jax.lax.scan, steps)
    yield row(f"two quantum states in a field, {steps:,} steps", ours, theirs, arrays, 1.0)
    yield row("gradient of the two states", autodiff.grad(ours), jax.grad(theirs), arrays, 0.4)
    ten = np.linspace(0.0, 1.0, 10)
    name = "a call on ten numbers, against NumPy"
    program = Call(jit(_line, compiler="native"), ten)
    yield Row(TOPIC, name, program, {"numpy": Call(_line, ten)}, Budget(1.0, extra=3e-6))
    ours, theirs = autodiff.grad(path(control_flow.scan)), jax.grad(path(jax.lax.scan))
    yield on_xla(f"gradient of a scan of {steps:,} steps", ours, theirs, (rates, start), 4.0, _AGAIN)
    yield on_xla(f"ten steps of heat, {side} by {side}", heat, heat, (rng.normal(size=(side, side)),), 1.1)
    name = f"a formula of {elements:,} numbers"
    yield on_xla(name, formula, formula, (rng.normal(size=elements),), 1.3, _UNALIGNED)


def on_jax(function: Callable[..., Any], arrays: tuple[Any, ...]) -> Call:
    """Make a call of a function that JAX has compiled."""
    program = jax.jit(function)
    return Call(lambda *given: jax.block_until_ready(program(*given)), *map(jnp.asarray, arrays))


def predators(steps: int) -> Callable[..., Any]:
    """Make a function that sums squares along a path of predators and prey, by a library's scan."""

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


def _two_states(scan: Any, steps: int) -> Callable[..., Any]:
    """Make a function of the mean population of the second of two driven quantum states, by a Runge-Kutta method."""

    def population(rates: Any, start: Any) -> Any:
        xp, h = array_namespace(start), 0.01

        def slope(psi: Any, t: Any) -> Any:
            drive = rates[1] * xp.cos(rates[2] * t)
            return -1j * xp.stack([rates[0] * psi[0] + drive * psi[1], drive * psi[0] - rates[0] * psi[1]])

        def step(psi: Any, t: Any) -> Any:
            k1 = slope(psi, t)
            k2 = slope(psi + 0.5 * h * k1, t + 0.5 * h)
            k3 = slope(psi + 0.5 * h * k2, t + 0.5 * h)
            psi = psi + (h / 6) * (k1 + 2 * k2 + 2 * k3 + slope(psi + h * k3, t + h))
            return psi, xp.abs(psi[1]) ** 2

        return xp.mean(scan(step, start, xp.arange(steps) * h)[1])

    return population


def _in_python(steps: int) -> Callable[..., Any]:
    """Make the same function with a Python loop on NumPy's arrays."""

    def scan(step: Any, y: Any, xs: None, length: int) -> Any:
        rows = []
        for _ in range(length):
            y, row = step(y, xs)
            rows.append(row)
        return y, np.stack(rows)

    found: Callable[..., Any] = predators(steps)(scan)
    return found


def chain(links: int) -> Callable[[Any], Any]:
    """Make a function that sums sines of sines."""

    def total(x: Any) -> Any:
        xp = array_namespace(x)
        for _ in range(links):
            x = xp.sin(x) * 1.01 + 0.1
        return xp.sum(x)

    return total


def heat(u: Any) -> Any:
    """Take ten steps of the heat equation."""
    xp = array_namespace(u)
    for _ in range(10):
        neighbours = xp.roll(u, 1, axis=0) + xp.roll(u, -1, axis=0) + xp.roll(u, 1, axis=1) + xp.roll(u, -1, axis=1)
        u = u + 0.1 * (neighbours - 4 * u)
    return u


def _mirrored(u: Any) -> Any:
    """Take five steps of the heat equation between insulating walls."""
    xp = array_namespace(u)
    for _ in range(5):
        rows = xp.concat([u[:1, :], u[:-1, :]], axis=0) + xp.concat([u[1:, :], u[-1:, :]], axis=0)
        columns = xp.concat([u[:, :1], u[:, :-1]], axis=1) + xp.concat([u[:, 1:], u[:, -1:]], axis=1)
        u = u + 0.1 * (rows + columns - 4 * u)
    return u


def formula(x: Any) -> Any:
    """Compute a formula of each number."""
    xp = array_namespace(x)
    return xp.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + xp.abs(x)) - 0.1 * x


def _error(w: Any, x: Any, y: Any) -> Any:
    xp = array_namespace(w)
    return (xp.sum(xp.tanh(w * x)) - y) ** 2


def _rosenbrock(x: Any) -> Any:
    return array_namespace(x).sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def _newton(while_loop: Any) -> Callable[[Any], Any]:
    """Make a function of the square root by Newton's method, and of the number of steps."""

    def root(a: Any) -> Any:
        xp = array_namespace(a)
        step = lambda carry: (0.5 * (carry[0] + a / carry[0]), carry[1] + 1)
        return while_loop(lambda carry: xp.abs(carry[0] * carry[0] - a) > 1e-12 * a, step, (a, xp.asarray(0)))

    return root


def _collatz(while_loop: Any) -> Callable[[Any], Any]:
    """Make a function of the length of a Collatz sequence."""

    def length(k: Any) -> Any:
        xp = array_namespace(k)
        step = lambda carry: (xp.where(carry[0] % 2 == 0, carry[0] // 2, 3 * carry[0] + 1), carry[1] + 1)
        return while_loop(lambda carry: carry[0] > 1, step, (k, xp.zeros_like(k)))[1]

    return length


def _integral(while_loop: Any) -> Callable[..., Any]:
    """Make a function that sums squares of predators and prey after ten units of time, by Bogacki and Shampine."""

    def total(rates: Any, start: Any) -> Any:
        xp, end = array_namespace(start), 10.0

        def slope(y: Any) -> Any:
            return xp.stack([rates[0] * y[0] - rates[1] * y[0] * y[1], rates[2] * y[0] * y[1] - rates[3] * y[1]])

        def attempt(carry: Any) -> Any:
            t, y, h = carry
            h = xp.minimum(h, end - t)
            k1 = slope(y)
            k2 = slope(y + h * 0.5 * k1)
            k3 = slope(y + h * 0.75 * k2)
            new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
            error = h * (-5 * k1 / 72 + k2 / 12 + k3 / 9 - slope(new) / 8)
            size = xp.sqrt(xp.sum((error / (1e-6 + 1e-6 * xp.abs(new))) ** 2) / 2)
            accepted = size <= 1.0
            h_next = h * xp.clip(0.9 * xp.maximum(size, 1e-10) ** (-1 / 3), 0.2, 5.0)
            return xp.where(accepted, t + h, t), xp.where(accepted, new, y), h_next

        first = xp.asarray(0.0), start, xp.asarray(0.1)
        return xp.sum(while_loop(lambda carry: carry[0] < end, attempt, first)[1] ** 2)

    return total


def _bounded_on_jax(limit: int, test: Any, body: Any, init: Any) -> Any:
    """Take steps while a condition holds, in a loop that JAX can differentiate."""
    step = lambda carry, _: (jax.lax.cond(test(carry), body, lambda same: same, carry), None)
    return jax.lax.scan(step, init, None, length=limit)[0]


def _perceptron(w1: Any, b1: Any, w2: Any, b2: Any, x: Any, y: Any) -> Any:
    """Compute the cross-entropy of a hidden layer and a softmax."""
    xp = array_namespace(x)
    scores = xp.tanh(x @ w1 + b1) @ w2 + b2
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    return -xp.mean(xp.sum(y * (scores - xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))), axis=1))


def _kalman(scan: Any) -> Callable[..., Any]:
    """Make a function of the negative logarithm of a likelihood, by a library's scan."""

    def total(a: Any, q: Any, r: Any, h: Any, observed: Any) -> Any:
        xp = array_namespace(a)

        def step(carry: Any, y: Any) -> Any:
            m, p = a @ carry[0], a @ carry[1] @ a.mT + q
            s = h @ p @ h.mT + r
            gain, error = xp.linalg.solve(s, h @ p).mT, y - h @ m
            logs = xp.log(xp.linalg.diagonal(xp.linalg.cholesky(s)))
            loss = 0.5 * xp.sum(error * xp.linalg.solve(s, error)) + xp.sum(logs)
            return (m + gain @ error, p - gain @ s @ gain.mT), loss

        n = a.shape[0]
        return xp.sum(scan(step, (xp.zeros(n), xp.eye(n)), observed)[1])

    return total


def _line(x: Any) -> Any:
    return x * 2.0 + 1.0
