"""Transformations of NumPy programs compared with HIPS autograd if installed, hand-written derivatives, and loops."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

import xpand
from xpand_extensions import autodiff, control_flow, jit, vmap

from ._measure import Budget, Call, Row

AUTOGRAD: Final = Budget(ratio=1.0)
BY_HAND: Final = Budget(ratio=1.1)
EACH: Final = 2e-6
"""The budget for each operation of a compiled chain."""
EAGER: Final = 1.8e-6
"""The budget for each operation of a chain that is transformed without compilation."""
TRACED: Final = 30e-6
"""The budget for each operation to compile the chain."""
ELEMENT: Final = 15e-6
"""The budget for each element that a loop reads, with its derivative."""
FUSED: Final = Budget(ratio=0.6)
STENCIL: Final = Budget(ratio=0.7)
SLICES: Final = Budget(ratio=1.1)
MAPPED: Final = Budget(ratio=0.02)
SLOWEST: Final = Budget(ratio=1.1)
LOOP: Final = Budget(ratio=1.5)
BACKWARD: Final = Budget(ratio=4.0)

_EACH_STEP: Final = (
    "each step checks that its result is like its argument, which takes 1 to 2 µs, as long as the step itself"
)
_OPERATION: Final = (
    "each operation takes 1 to 2 µs for Python's call of an operator, the look-up of its transformation, a new array "
    "and its record, in addition to NumPy's functions for values and derivatives"
)

REASONS: Final[Mapping[str, str]] = {
    "fori_loop of": _EACH_STEP,
    "while_loop, ": _EACH_STEP,
    "grad of 150 operations, each in Python": _OPERATION,
    "jvp of 150 operations, each in Python": _OPERATION,
    "vmap of 150 operations, each in Python": _OPERATION,
    "jit of 150 operations, its first call": "tracing takes 30 µs for each operation",
    "jit of a fori_loop": "the number of the step is an array, which takes 0.5 µs to make",
}
"""Why rows are over their budgets, by the start of their names."""

SMALL: Final[dict[str, int]] = {"links": 2, "images": 20, "elements": 30, "lanes": 5, "steps": 9, "side": 24}
"""The sizes with which the tests run every row."""


def rows(
    links: int = 50,
    images: int = 1_797,
    elements: int = 5_000_000,
    lanes: int = 1_000,
    steps: int = 1_000,
    side: int = 512,
) -> Iterator[Row]:
    for made in (
        _chain(links),
        _elements(steps),
        _perceptron(images),
        _formula(elements),
        _stencils(side),
        _maps(lanes),
        _loops(steps),
    ):
        for topic, name, ours, references, budget in made:
            yield Row(topic, name, ours, references, budget, _reason(name))


def _reason(name: str) -> str:
    return next((reason for beginning, reason in REASONS.items() if name.startswith(beginning)), "")


Made = Iterator[tuple[str, str, Call, Mapping[str, Call], Budget]]


def _nothing() -> None:
    pass


def _peer(name: str, module: str = "") -> Any:
    """Import a library to compare with; None if it isn't installed."""
    return None if find_spec(name) is None else import_module(module or name)


def _chain(links: int) -> Made:
    """Measure the overhead of operations, by chains of them on three numbers."""
    topic, count = "derivatives of NumPy programs", 3 * links
    x = np.asarray([0.1, 0.2, 0.3])

    def total(xp: Any, x: Any) -> Any:
        for _ in range(links):
            x = xp.sin(x) * x + 0.5
        return xp.sum(x)

    def ours(x: Any) -> Any:
        return total(xpand.array_namespace(x), x)

    peer = _peer("autograd", "autograd.numpy")
    if peer is not None:
        theirs = {"autograd": Call(_peer("autograd").grad(partial(total, peer)), x)}
        yield topic, f"grad of {count} operations on 3 numbers", Call(autodiff.grad(ours), x), theirs, AUTOGRAD
    empty = {"nothing": Call(_nothing)}
    eager = {
        "grad": Call(autodiff.grad(ours), x),
        "jvp": Call(autodiff.jvp, ours, (x,), (np.ones(3),)),
        "vmap": Call(vmap.vmap(ours), x[None]),
    }
    for name, call in eager.items():
        yield topic, f"{name} of {count} operations, each in Python", call, empty, Budget(extra=EAGER * count)
    for name, program, operations in (
        ("", ours, count),
        ("grad of ", autodiff.grad(ours), 3 * count),  # forward, derivatives, backward
    ):
        compiled = jit.jit(program)
        yield topic, f"jit of {name}{count} operations", Call(compiled, x), empty, Budget(extra=EACH * operations)

        def first(x: Any, compiled: Any = compiled) -> Any:
            compiled.clear_cache()
            return compiled(x)

        once = Budget(extra=TRACED * operations)
        yield topic, f"jit of {name}{count} operations, its first call", Call(first, x), empty, once


def _elements(count: int) -> Made:
    """Measure a loop over the elements of an array. Each is an operation, with a derivative of the array's size."""
    x = np.linspace(0.0, 1.0, count)

    def total(x: Any) -> Any:
        found = 0.0
        for i in range(count):
            found = found + x[i]
        return found

    ours, empty = Call(autodiff.grad(total), x), {"nothing": Call(_nothing)}
    name = f"grad of a loop over {count:,} elements"
    yield "derivatives of NumPy programs", name, ours, empty, Budget(extra=ELEMENT * count)


def _perceptron(images: int) -> Made:
    """Measure the gradient of a perceptron with one hidden layer on scikit-learn's digits."""
    from sklearn.datasets import load_digits

    topic = "derivatives of NumPy programs"
    digits = load_digits()
    x, labels = digits.data[:images] / 16.0, np.eye(10)[digits.target[:images]]
    random = np.random.default_rng(0)
    parameters = (random.normal(size=(64, 128)) * 0.1, np.zeros(128), random.normal(size=(128, 10)) * 0.1, np.zeros(10))

    def loss(xp: Any, parameters: Any, x: Any, labels: Any) -> Any:
        first, first_bias, second, second_bias = parameters
        z = xp.tanh(x @ first + first_bias) @ second + second_bias
        z = z - xp.max(z, axis=1, keepdims=True)
        return -xp.sum(labels * (z - xp.log(xp.sum(xp.exp(z), axis=1, keepdims=True)))) / x.shape[0]

    def ours(parameters: Any, x: Any, labels: Any) -> Any:
        return loss(xpand.array_namespace(x), parameters, x, labels)

    name, arguments = f"a perceptron on {x.shape[0]:,} digits", (parameters, x, labels)
    peer = _peer("autograd", "autograd.numpy")
    if peer is not None:
        theirs = {"autograd": Call(_peer("autograd").grad(partial(loss, peer)), *arguments)}
        yield topic, f"grad of {name}", Call(autodiff.grad(ours), *arguments), theirs, AUTOGRAD
    by_hand = {"by hand": Call(_gradient_by_hand, *arguments)}
    yield topic, f"jit(grad) of {name}", Call(jit.jit(autodiff.grad(ours)), *arguments), by_hand, BY_HAND


def _gradient_by_hand(parameters: Any, x: Any, labels: Any) -> Any:
    first, first_bias, second, second_bias = parameters
    hidden = np.tanh(x @ first + first_bias)
    z = hidden @ second + second_bias
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    of_z = (powers / powers.sum(axis=1, keepdims=True) - labels) / x.shape[0]
    of_hidden = (of_z @ second.T) * (1 - hidden * hidden)
    return x.T @ of_hidden, of_hidden.sum(axis=0), hidden.T @ of_z, of_z.sum(axis=0)


def _formula(elements: int) -> Made:
    """Measure a formula that is compiled into one pass over blocks that fit into the cache."""
    x = np.random.default_rng(0).normal(size=elements)

    def formula(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.exp(-x * x / 2) * (1 + 0.3 * x) / (1 + xp.abs(x)) - 0.1 * x

    def eager(x: Any) -> Any:
        return np.exp(-x * x / 2) * (1 + 0.3 * x) / (1 + np.abs(x)) - 0.1 * x

    name = f"jit of a formula of {elements:,} numbers"
    yield "compiled NumPy programs", name, Call(jit.jit(formula), x), {"NumPy": Call(eager, x)}, FUSED
    peer = _peer("numexpr")
    if peer is not None:
        peer.set_num_threads(1)
        text = "exp(-x * x / 2) * (1 + 0.3 * x) / (1 + abs(x)) - 0.1 * x"
        theirs = {"numexpr": Call(peer.evaluate, text, local_dict={"x": x})}
        yield "compiled NumPy programs", f"{name}, against numexpr", Call(jit.jit(formula), x), theirs, Budget()


def _stencils(side: int) -> Made:
    """Measure ten steps of a heat equation, by `roll` and by slices."""
    x = np.random.default_rng(0).normal(size=(side, side))

    def rolled(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        for _ in range(10):
            around = xp.roll(x, 1, axis=0) + xp.roll(x, -1, axis=0) + xp.roll(x, 1, axis=1) + xp.roll(x, -1, axis=1)
            x = x + 0.1 * (around - 4.0 * x)
        return x

    def sliced(x: Any) -> Any:
        for _ in range(10):
            around = x[1:-1, 2:] + x[1:-1, :-2] + x[2:, 1:-1] + x[:-2, 1:-1]
            x = x[1:-1, 1:-1] + 0.1 * (around - 4.0 * x[1:-1, 1:-1])
        return x

    for name, function, budget in (("roll", rolled, STENCIL), ("slices", sliced, SLICES)):
        row = f"jit of ten steps of heat on {side} by {side}, by {name}"
        yield (
            "compiled NumPy programs",
            row,
            Call(jit.jit(function, compiler="numpy"), x),
            {"NumPy": Call(function, x)},
            budget,
        )


def _maps(lanes: int) -> Made:
    """Compare functions mapped over many inputs with a Python loop."""
    topic = "mapped NumPy programs"
    random = np.random.default_rng(0)
    weights, inputs = random.normal(size=(16, 8)), random.normal(size=(lanes, 16))

    def loss(weights: Any, x: Any) -> Any:
        xp = xpand.array_namespace(weights, x)
        return xp.sum(xp.tanh(x @ weights) ** 2)

    gradient = autodiff.grad(loss)

    def loop(weights: Any, inputs: Any) -> Any:
        return np.stack([gradient(weights, x) for x in inputs])

    ours = Call(vmap.vmap(gradient, in_axes=(None, 0)), weights, inputs)
    yield topic, f"gradients of {lanes:,} examples", ours, {"a Python loop": Call(loop, weights, inputs)}, MAPPED

    # Newton's method for square roots. One lane takes ten times as many steps as the others.
    counts = np.full(lanes, 10)
    counts[0] = 100

    def root(x: Any, count: Any) -> Any:
        def step(state: Any) -> Any:
            i, y = state
            return i + 1, (y + x / y) / 2

        return control_flow.while_loop(lambda state: state[0] < count, step, (count * 0, x))[1]

    values = random.uniform(1.0, 2.0, lanes)
    slowest = Call(vmap.vmap(root), values, np.full(lanes, 100))
    theirs = {"all of them as slow as the slowest": slowest}
    yield topic, f"while_loop of {lanes:,} lanes", Call(vmap.vmap(root), values, counts), theirs, SLOWEST


def _loops(steps: int) -> Made:
    """Measure a chain of states of a hundred numbers. A step costs some microseconds."""
    topic = "loops of NumPy programs"
    start, inputs = np.ones(100), np.random.default_rng(0).normal(size=(steps, 100))

    def step(state: Any, x: Any) -> Any:
        xp = xpand.array_namespace(state, x)
        state = xp.tanh(0.9 * state + 0.1 * x)
        return state, xp.sum(state)

    def ours(start: Any, inputs: Any) -> Any:
        return control_flow.scan(step, start, inputs)

    def loop(start: Any, inputs: Any) -> Any:
        state, sums = start, []
        for x in inputs:
            state, total = step(state, x)
            sums.append(total)
        return state, np.stack(sums)

    def last(start: Any, inputs: Any) -> Any:
        _, sums = ours(start, inputs)
        return xpand.array_namespace(sums).sum(sums)

    python = {"a Python loop": Call(loop, start, inputs)}
    yield topic, f"scan of {steps:,} steps", Call(ours, start, inputs), python, LOOP
    yield topic, f"jit of a scan of {steps:,} steps", Call(jit.jit(ours), start, inputs), python, LOOP
    compiled = {"the jitted scan itself": Call(jit.jit(last), start, inputs)}
    backwards: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("jit(grad)", jit.jit(autodiff.grad(last))),
        ("grad", autodiff.grad(last)),
    )
    for name, gradient in backwards:
        forwards = compiled if name == "jit(grad)" else {"the scan itself": Call(last, start, inputs)}
        yield topic, f"{name} of a scan of {steps:,} steps", Call(gradient, start, inputs), forwards, BACKWARD

    def counted(start: Any) -> Any:
        return control_flow.fori_loop(0, steps, lambda i, x: x * 0.5 + 1.0, start)

    def counted_loop(start: Any) -> Any:
        for _ in range(steps):
            start = start * 0.5 + 1.0
        return start

    def conditional(start: Any) -> Any:
        return control_flow.while_loop(lambda state: state[0] < steps, lambda s: (s[0] + 1, s[1] * 0.5), (0, start))

    def conditional_loop(start: Any) -> Any:
        i = np.asarray(0)
        while i < steps:
            i, start = i + 1, start * 0.5
        return i, start

    yield (
        topic,
        f"while_loop, {steps:,} steps",
        Call(conditional, start),
        {"a Python loop": Call(conditional_loop, start)},
        LOOP,
    )

    python = {"a Python loop": Call(counted_loop, start)}
    yield topic, f"fori_loop of {steps:,} steps", Call(counted, start), python, LOOP
    yield topic, f"jit of a fori_loop of {steps:,} steps", Call(jit.jit(counted), start), python, LOOP
