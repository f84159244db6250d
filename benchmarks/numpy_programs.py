"""Plain NumPy programs under transformations, compared with HIPS autograd, numba and torch.compile."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Final

import numpy as np

from xpand import array_namespace
from xpand_extensions import autodiff
from xpand_extensions.jit import jit
from xpand_extensions.linalg import einsum

from ._measure import Budget, Call, Row

CALLS: Final = 10
"""How often a program calls a function, so that the call takes longer than the transformation around it."""

FUNCTIONS: Final = "ten calls of NumPy's functions in grad"
GRADIENTS: Final = "gradients of plain NumPy programs"
COMPILED: Final = "machine code for plain NumPy programs"

EXTRA: Final = Budget(extra=CALLS * 1e-6)
OPERATOR: Final = Budget(extra=CALLS * 0.6e-6)
AUTOGRAD: Final = Budget(ratio=0.8)
COMPILER: Final = Budget(ratio=1.0)

SMALL: Final[dict[str, int]] = {"images": 20, "units": 8, "steps": 3, "side": 8, "elements": 30}
"""The sizes with which the tests run every row."""

_DISPATCH: Final = (
    "NumPy's dispatch and the look-up of the function take 0.7 µs, and the check and conversion of NumPy's arguments "
    "0.6 to 1.2"
)
_SUBSCRIPTS: Final = "the arguments of np.einsum, of two forms, take 3 µs to read; einsum itself takes 50"
_PRODUCTS: Final = "products of matrices and tanh take nearly all of the time, by NumPy in both libraries"
_EXP: Final = "NumPy's own exp takes most of the time; results must have the same bits"
_CALL: Final = "a call takes 2 µs to find the compiled program by the types of its arguments, numba's call 0.6"


def rows(
    images: int = 256, units: int = 256, steps: int = 50, side: int = 40, elements: int = 1_000_000
) -> Iterator[Row]:
    yield from _calls()
    yield from _gradients(images, units, steps, side)
    yield from _compiled(elements, side, steps)


# Calls of functions


def _calls() -> Iterator[Row]:
    """Measure NumPy's functions on traced arrays of 12 numbers compared with the same functions of the standard."""
    random = np.random.default_rng(0)
    x, factor, mask = random.uniform(0.5, 2.0, (3, 4)), random.uniform(size=(4, 4)), random.uniform(size=(3, 4)) < 0.5
    other, indices = random.uniform(0.5, 2.0, (3, 4)), np.asarray([0, 2, 1])
    pairs: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]] = {
        "sum(x)": (np.sum, lambda xp, v: xp.sum(v)),
        "sum(x, axis=0)": (lambda v: np.sum(v, axis=0), lambda xp, v: xp.sum(v, axis=0)),
        "mean(x)": (np.mean, lambda xp, v: xp.mean(v)),
        "max(x)": (np.max, lambda xp, v: xp.max(v)),
        "where(mask, x, 0.0)": (lambda v: np.where(mask, v, 0.0), lambda xp, v: xp.where(mask, v, 0.0)),
        "clip(x, 0.6, 1.5)": (lambda v: np.clip(v, 0.6, 1.5), lambda xp, v: xp.clip(v, 0.6, 1.5)),
        "take(x, indices, axis=0)": (
            lambda v: np.take(v, indices, axis=0),
            lambda xp, v: xp.take(v, indices, axis=0),
        ),
        "dot(x, matrix)": (lambda v: np.dot(v, factor), lambda xp, v: xp.matmul(v, factor)),
        "einsum(…, x, matrix)": (
            lambda v: np.einsum("ij,jk->ik", v, factor),
            lambda xp, v: einsum("ij,jk->ik", v, factor),
        ),
        "reshape(x, (4, 3))": (lambda v: np.reshape(v, (4, 3)), lambda xp, v: xp.reshape(v, (4, 3))),
        "concatenate((x, x))": (lambda v: np.concatenate([v, v]), lambda xp, v: xp.concat([v, v])),
        "stack((x, x))": (lambda v: np.stack([v, v]), lambda xp, v: xp.stack([v, v])),
        "roll(x, 1, axis=0)": (lambda v: np.roll(v, 1, axis=0), lambda xp, v: xp.roll(v, 1, axis=0)),
        "exp(x)": (np.exp, lambda xp, v: xp.exp(v)),
        "maximum(x, y)": (lambda v: np.maximum(v, other), lambda xp, v: xp.maximum(v, other)),
        "fabs(x)": (np.fabs, lambda xp, v: xp.abs(v)),
    }
    for name, (ours, standard) in pairs.items():
        theirs = {"the standard's function": Call(autodiff.grad(_repeated_in_standard(standard)), x)}
        yield Row(
            FUNCTIONS,
            name,
            Call(autodiff.grad(_repeated(ours)), x),
            theirs,
            EXTRA,
            _SUBSCRIPTS if "einsum" in name else _DISPATCH,
        )
    ours, reverse = _repeated(lambda v: other * v), _repeated(lambda v: v * other)
    theirs = {"x * y": Call(autodiff.grad(reverse), x)}
    yield Row(FUNCTIONS, "y * x for an array y of NumPy", Call(autodiff.grad(ours), x), theirs, OPERATOR)


def _repeated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a function that calls another one several times, and does not use the results."""

    def repeated(x: Any) -> Any:
        for _ in range(CALLS):
            function(x)
        return x[0, 0]

    return repeated


def _repeated_in_standard(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    return lambda x: _repeated(partial(function, array_namespace(x)))(x)


# Gradients


def _gradients(images: int, units: int, steps: int, side: int) -> Iterator[Row]:
    """Measure gradients of programs of the kinds that HIPS autograd measures or shows as examples."""
    if find_spec("autograd") is None:
        return
    random = np.random.default_rng(0)
    peer, autograd = import_module("autograd.numpy"), import_module("autograd")
    sizes = 64, 2 * units, 10
    layers = [(0.1 * random.normal(size=(m, n)), 0.1 * random.normal(size=n)) for m, n in pairwise(sizes)]
    labels = np.eye(10)[random.integers(0, 10, images)]
    recurrent = (
        0.5 / units * random.normal(size=(units, units)),
        0.1 * random.normal(size=units),
        0.1 * random.normal(size=(units, 1)),
        np.zeros(1),
    )
    flow = tuple(0.1 * random.normal(size=(side, side)) for _ in range(2))
    smoke, target = np.zeros((side, side)), random.uniform(size=(side, side))
    smoke[side // 3 : side // 2] = 1.0
    small = [(w[:, :4] if i == 0 else w[:4], b[:4] if i == 0 else b) for i, (w, b) in enumerate(layers)]
    start, is_one = random.normal(size=(16, units)), random.uniform(size=(16, 1)) < 0.5
    programs: tuple[tuple[str, Callable[..., Any], tuple[Any, ...], str], ...] = (
        (
            f"a perceptron on {images:,} images",
            perceptron,
            (layers, random.normal(size=(images, 64)), labels),
            _PRODUCTS,
        ),
        ("a perceptron of four units on four images", perceptron, (small, random.normal(size=(4, 64)), labels[:4]), ""),
        (
            f"a recurrent network of {units:,} units, {steps:,} steps",
            partial(recurrent_network, steps),
            (recurrent, start, is_one * 1.0),
            _PRODUCTS,
        ),
        (
            f"a recurrent network of 16 units, {steps:,} steps",
            partial(recurrent_network, steps),
            (tuple(x[:16, :16] if x.ndim == 2 else x[:16] for x in recurrent), start[:, :16], is_one * 1.0),
            "",
        ),
        (f"a fluid on {side} by {side} cells", fluid, (flow, smoke, target), ""),
        ("Rosenbrock's function of two variables", rosenbrock, (np.asarray([0.5, -0.3]),), ""),
        ("Rosenbrock's function of 100 variables", rosenbrock_of_many, (np.linspace(-1.0, 1.0, 100),), ""),
    )
    for name, program, arrays, reason in programs:
        ours = Call(autodiff.grad(partial(program, np)), *arrays)
        yield Row(
            GRADIENTS, name, ours, {"autograd": Call(autograd.grad(partial(program, peer)), *arrays)}, AUTOGRAD, reason
        )


def perceptron(xp: Any, layers: Any, x: Any, labels: Any) -> Any:
    """Compute the cross-entropy of a network of dense layers."""
    for weights, bias in layers[:-1]:
        x = xp.tanh(xp.dot(x, weights) + bias)
    weights, bias = layers[-1]
    scores = xp.dot(x, weights) + bias
    logs = xp.log(xp.sum(xp.exp(scores), axis=1, keepdims=True))
    return -xp.mean(xp.sum(labels * (scores - logs), axis=1))


def recurrent_network(steps: int, xp: Any, parameters: Any, state: Any, is_one: Any) -> Any:
    """Compute the logistic loss of the last state of a recurrent network."""
    weights, bias, last_weights, last_bias = parameters
    for _ in range(steps):
        state = xp.tanh(xp.dot(state, weights) + bias)
    score = xp.dot(state, last_weights) + last_bias
    return xp.sum(xp.log1p(xp.exp(-score)) + (1.0 - is_one) * score)


def fluid(xp: Any, flow: Any, smoke: Any, target: Any) -> Any:
    """Compute the distance of smoke, moved by an incompressible flow, from a target."""
    u, v = flow
    for _ in range(3):
        u, v = _without_divergence(xp, _moved(xp, u, u, v), _moved(xp, v, u, v))
        smoke = _moved(xp, smoke, u, v)
    return xp.mean((smoke - target) ** 2)


def _without_divergence(xp: Any, u: Any, v: Any) -> tuple[Any, Any]:
    """Subtract a gradient from a velocity, by ten Jacobi steps."""
    divergence = xp.roll(u, -1, axis=0) - xp.roll(u, 1, axis=0) + xp.roll(v, -1, axis=1) - xp.roll(v, 1, axis=1)
    pressure = -0.125 * divergence
    for _ in range(10):
        neighbours = xp.roll(pressure, 1, axis=0) + xp.roll(pressure, -1, axis=0)
        neighbours = neighbours + xp.roll(pressure, 1, axis=1) + xp.roll(pressure, -1, axis=1)
        pressure = 0.25 * (neighbours - 0.5 * divergence)
    u = u - 0.5 * (xp.roll(pressure, -1, axis=0) - xp.roll(pressure, 1, axis=0))
    return u, v - 0.5 * (xp.roll(pressure, -1, axis=1) - xp.roll(pressure, 1, axis=1))


def _moved(xp: Any, field: Any, u: Any, v: Any) -> Any:
    """Return a field at the positions that a velocity comes from, by bilinear interpolation on a torus."""
    rows, columns = field.shape
    i, j = xp.meshgrid(xp.arange(rows), xp.arange(columns), indexing="ij")
    y, x = i - u, j - v
    top, left = xp.floor(y), xp.floor(x)
    of_bottom, of_right = y - top, x - left
    top, left = top.astype(int) % rows, left.astype(int) % columns
    bottom, right = (top + 1) % rows, (left + 1) % columns
    above = (1.0 - of_right) * field[top, left] + of_right * field[top, right]
    below = (1.0 - of_right) * field[bottom, left] + of_right * field[bottom, right]
    return (1.0 - of_bottom) * above + of_bottom * below


def rosenbrock(xp: Any, x: Any) -> Any:
    """Compute Rosenbrock's function of two variables."""
    return 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2


def rosenbrock_of_many(xp: Any, x: Any) -> Any:
    """Compute Rosenbrock's function."""
    return xp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


# Machine code


def _compiled(elements: int, side: int, steps: int) -> Iterator[Row]:
    """Measure programs that other compilers compile from the same code."""
    if find_spec("llvmlite") is None:
        return
    random = np.random.default_rng(0)
    torch_compile, numba = _compilers()
    programs: tuple[tuple[str, Callable[[Any], Any], Any, str], ...] = (
        (f"a formula of {elements:,} numbers", _formula, random.normal(size=elements), _EXP),
        (f"a sum of {elements:,} squares", _sum_of_squares, random.normal(size=elements), ""),
        (f"four Newton steps on {elements // 10:,} numbers", _roots(4), random.uniform(1.0, 2.0, elements // 10), ""),
        (f"20 Newton steps on {elements // 10:,} numbers", _roots(20), random.uniform(1.0, 2.0, elements // 10), ""),
        (f"ten steps of heat, {10 * side} by {10 * side}", _heat, random.normal(size=(10 * side, 10 * side)), ""),
        (f"{steps:,} logistic steps of ten numbers", _logistic(steps), random.uniform(0.1, 0.9, 10), _CALL),
    )
    for position, (name, program, x, reason) in enumerate(programs):
        ours = Call(jit(program, compiler="native"), x)
        if numba is not None:
            yield Row(COMPILED, f"{name}, against numba", ours, {"numba": Call(numba(program), x)}, COMPILER, reason)
        # It would compile longer loops for minutes, because it repeats the first steps in the code of the later ones.
        if torch_compile is not None and position < 3:
            theirs = {"torch.compile": Call(torch_compile(program), x)}
            yield Row(COMPILED, f"{name}, against torch.compile", ours, theirs, COMPILER, reason)


def _compilers() -> tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]:
    """Return torch.compile and numba's compiler for NumPy programs; None if they are not installed."""
    torch_compile = numba = None
    if find_spec("torch") is not None:
        torch = import_module("torch")
        torch.set_num_threads(1)
        torch_compile = partial(torch.compile, fullgraph=True, dynamic=False)
    if find_spec("numba") is not None:
        numba = import_module("numba").njit
    return torch_compile, numba


def _formula(x: Any) -> Any:
    return np.exp(-x * x / 2) * (1 + 0.3 * x) / (1 + np.abs(x)) - 0.1 * x


def _sum_of_squares(x: Any) -> Any:
    return np.sum((x - 0.5) ** 2)


def _roots(steps: int) -> Callable[[Any], Any]:
    """Make a function that takes steps of Newton's method for square roots."""

    def roots(x: Any) -> Any:
        y = x
        for _ in range(steps):
            y = 0.5 * (y + x / y)
        return y

    return roots


def _heat(u: Any) -> Any:
    for _ in range(10):
        neighbours = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = u[1:-1, 1:-1] + 0.1 * (neighbours - 4.0 * u[1:-1, 1:-1])
    return u


def _logistic(steps: int) -> Callable[[Any], Any]:
    """Make a function that takes steps of the logistic map."""

    def logistic(x: Any) -> Any:
        for _ in range(steps):
            x = 3.9 * x * (1.0 - x)
        return x

    return logistic
