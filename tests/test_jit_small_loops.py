"""Loops on a few numbers, which `jit(function, compiler="numpy")` does by Python code: NumPy's values and warnings."""

import random
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import xpand
from xpand import trees
from xpand_extensions import control_flow
from xpand_extensions.autodiff import checkpoint, grad, jvp
from xpand_extensions.jit import jit, lower, make_graph
from xpand_extensions.plugins.numpy.jit import _small_loops
from xpand_extensions.tracing._compile import Step, compiled as program_of
from xpand_extensions.vmap import vmap

of = xpand.array_namespace
Y = np.asarray([0.5, -1.5])


@pytest.fixture(autouse=True)
def again(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Accept all loops that can be written, and return a list of those that NumPy does again."""
    found: list[Any] = []

    def program(graph: Any, steps: list[Step]) -> Callable[..., Any]:
        run = make_program(graph, steps)
        return lambda *arrays: found.append(graph) or run(*arrays)

    make_program = _small_loops.program
    monkeypatch.setattr(_small_loops, "program", program)
    monkeypatch.setattr(_small_loops, "GAIN", 1e9)
    return found


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return jit(function, compiler="numpy")


def accepted(function: Callable[..., Any], *arrays: Any) -> bool:
    """Return whether the outer loop of a program is done by Python code."""
    lines = lower(function, compiler="numpy")(*arrays).as_text().splitlines()
    (found,) = [line for line in lines if line.startswith("    ") and line[4] != " " and " = scan(" in line]
    return "not compiled" not in found


def results(run: Callable[..., Any], *arrays: Any) -> tuple[list[Any], set[str]]:
    """Return the results of a call, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = [np.asarray(x) for x in trees.leaves(run(*arrays))]
        except FloatingPointError as error:
            found = [np.asarray(str(error))]
    return found, {str(each.message) for each in caught}


def assert_same(found: list[Any], expected: list[Any]) -> None:
    for x, wanted in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
        if x.dtype.kind == "f":
            assert np.array_equal(
                np.where(np.isnan(x), 0.0, x).view("u8"), np.where(np.isnan(wanted), 0.0, wanted).view("u8")
            )
            assert np.array_equal(np.isnan(x), np.isnan(wanted))
        else:
            assert np.array_equal(x, wanted)


def compare(function: Callable[..., Any], *arrays: Any) -> None:
    """Compare a compiled function with its operations one by one: values and warnings."""
    found, warned = results(compiled(function), *arrays)
    expected, should_warn = results(make_graph(function)(*arrays).run, *arrays)
    assert_same(found, expected)
    assert warned == should_warn


def path(p: Any, y: Any) -> Any:
    """Return the sum of squares along a path of predators and prey."""
    xp = of(y)

    def step(y: Any, _: Any) -> tuple[Any, Any]:
        dy = xp.stack([p[0] * y[0] - p[1] * y[0] * y[1], p[2] * y[0] * y[1] - p[3] * y[1]])
        y = y + 0.01 * dy
        return y, y

    return xp.sum(control_flow.scan(step, y, None, length=100)[1] ** 2)


@pytest.mark.parametrize("what", ["value", "grad", "jvp", "vmap", "grad of grad"])
def test_a_path_and_its_derivatives(what: str, again: list[Any]) -> None:
    p, y = np.asarray([1.1, 0.4, 0.1, 0.4]), np.asarray([10.0, 10.0])
    function = {
        "value": path,
        "grad": grad(path, argnums=(0, 1)),
        "jvp": lambda p, y: jvp(path, (p, y), (p, y)),
        "vmap": lambda p, y: vmap(path, in_axes=(None, 0))(p, of(y).stack([y, 2 * y])),
        "grad of grad": grad(lambda p, y: of(y).sum(grad(path)(p, y) ** 2)),
    }[what]
    compare(function, p, y)
    assert not again
    assert accepted(path, p, y)


@pytest.mark.parametrize("what", ["value", "grad"])
def test_checkpointed_steps(what: str, again: list[Any]) -> None:
    def total(p: Any, y: Any) -> Any:
        step = checkpoint(lambda y: y + 0.01 * p * y * y[0])
        return of(y).sum(control_flow.scan(lambda y, _: (step(y), None), y, None, length=100)[0])

    compare(total if what == "value" else grad(total, argnums=(0, 1)), np.asarray(0.3), Y)
    assert not again
    assert accepted(total, np.asarray(0.3), Y)


# Numbers that Python's floats treat in another way


def loop(step: Callable[..., Any], carry: Any = Y, length: int = 9) -> Callable[..., Any]:
    return lambda y: control_flow.fori_loop(0, length, lambda i, c: step(c, y), carry)


SPECIAL = {
    "division by zero": (lambda c, y: c / (y - y[0]), Y),
    "division by infinity": (lambda c, y: 1.0 / (c / (y * 1e-320)) + y, Y),
    "overflow": (lambda c, y: c * 1e200 + y, Y),
    "overflow that is not in the result": (lambda c, y: of(y).where(c * 1e200 > 1e300, y, c * 1e200), Y),
    "infinity minus infinity": (lambda c, y: of(y).where(c * 1e300 - c * 1e300 > 0, y, c * 3.0), Y),
    "root of a negative number": (lambda c, y: of(y).sqrt(c + 0.0 * y), Y),
    "NaN": (lambda c, y: of(y).where(of(y).isnan(y), 1.0, c + 1.0), np.asarray([np.nan, 1.0])),
    "infinite argument": (lambda c, y: c + 1.0 / y, np.asarray([np.inf, 1.0])),
    "zeros with signs": (lambda c, y: of(y).maximum(of(y).minimum(-0.0 * c, y), -y), np.asarray([0.0, -0.0])),
    "sum of negative zeros": (lambda c, y: of(y).sum(y) * 1.0 + 0.0 * c, np.asarray([-0.0, -0.0])),
    "logarithm of zero": (lambda c, y: of(y).exp(of(y).log(y - y[0])), Y),
    "function of a number": (lambda c, y: of(y).tanh(c[0]) * y + of(y).expm1(c[1]), Y),
}


@pytest.mark.parametrize("what", SPECIAL)
def test_special_numbers(what: str) -> None:
    step, y = SPECIAL[what]
    compare(loop(step), y)
    compare(lambda y: control_flow.scan(lambda c, _: (step(c, y), c), Y, None, length=3), y)


def compare_step(function: Callable[..., Any], *arrays: Any) -> bool:
    """Compare a function without a loop with its operations; return whether Python code does it."""
    graph = make_graph(function)(*arrays)
    run = program_of(graph)
    step = _small_loops.step_of_numbers(graph, run)
    special = [np.asarray([np.inf, -0.0, np.nan, 1e300][: x.size]) for x in arrays]
    small = [np.full_like(x, 1e-200) for x in arrays]
    for given in (arrays, [x[::-1] for x in arrays], special, [np.zeros_like(x) for x in arrays], small):
        for reactions in ({}, {"under": "warn"}):
            with np.errstate(**reactions):
                found, expected = results(step, *given), results(run, *given)
            assert_same(found[0], expected[0])
            assert found[1] == expected[1]
    return step is not run


@pytest.mark.parametrize("what", SPECIAL)
def test_special_numbers_in_single_steps(what: str) -> None:
    step, y = SPECIAL[what]
    assert compare_step(lambda y: (step(Y, y), step(y, y)), y)


@pytest.mark.parametrize("seed", range(20))
def test_random_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)

    def step(x: Any, y: Any) -> Any:
        choose, arrays = random.Random(seed), [x, y]
        for _ in range(5):
            arrays.append(operation(choose, arrays))
        return arrays[-1] * 0.5 + arrays[-2] * 0.1, arrays[-3], arrays[-2][0]

    x, y = rng.normal(size=3), rng.normal(size=3)
    compare_step(step, x, y)
    compare_step(lambda x, y: jvp(step, (x, y), (y, x)), x, y)


def test_single_steps_that_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    y = np.asarray([1.0, 2.0])
    assert compare_step(lambda y: (y * y[0], y - y[1]), y)
    assert not compare_step(lambda y: y * y[0], y)  # one result may be no tuple
    assert not compare_step(lambda y: (y * y[0], of(y).cumulative_sum(y)), y)
    assert not compare_step(lambda y: (loop(lambda c, y: c + y)(y), y + 1.0), y)
    monkeypatch.setattr(_small_loops, "GAIN", 0.6)
    assert not compare_step(lambda y: (y * y[0], y - y[1]), y)


def test_arrays_that_are_read_backwards() -> None:
    """The last bits of NumPy's functions may depend on the direction."""
    f = lambda y: control_flow.fori_loop(0, 9, lambda i, c: of(y).atan2(c, y) + 0.1 * c, y)
    compare(f, np.random.default_rng(0).normal(size=16)[::-1])


def test_flags_that_raise(again: list[Any]) -> None:
    f = loop(lambda c, y: c * 1e-100 + 0.0 * y)
    program, y = compiled(f), np.asarray([0.5, 1.0])
    with np.errstate(under="raise"):
        assert results(program, y) == results(make_graph(f)(y).run, y)
        assert again
    again.clear()
    assert_same(*(results(each, y)[0] for each in (program, make_graph(f)(y).run)))
    assert not again
    f = loop(lambda c, y: c / y)
    with np.errstate(divide="raise", invalid="ignore"):
        assert results(compiled(f), 0.0 * y) == results(make_graph(f)(y).run, 0.0 * y)


def test_integers_go_round(again: list[Any]) -> None:
    f = lambda i: control_flow.while_loop(
        lambda c: c[1] < 9, lambda c: (c[0] * 2**20 - i, c[1] + 1), (i, of(i).asarray(0))
    )
    compare(f, np.asarray([3, -5]))
    assert again
    again.clear()
    compare(f, np.asarray([0, 0]))
    assert not again


def test_masks_and_other_types_are_left_to_numpy(again: list[Any]) -> None:
    program = compiled(loop(lambda c, y: c * 0.5 + y))
    masked = np.ma.MaskedArray([1.0, 2.0], [False, True])
    assert isinstance(program(masked), np.ma.MaskedArray)
    assert not again  # the function itself has been called


def test_arguments_and_results() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        xp = of(a)
        step = lambda s, row: (
            (s[0] + row[0] @ row[0] * 0.0 if False else s[0] + xp.sum(row[0]), ~s[1], s[2] + row[1]),
            (s[0], s[1], row[0]),
        )
        return control_flow.scan(step, (a, b, xp.asarray(2)), (c, xp.arange(5)))

    a, b, c = np.asarray(0.5), np.asarray(True), np.linspace(0.0, 1.0, 20)[::2].reshape(5, 2)
    c.flags.writeable = False
    compare(f, a, b, c)
    program = compiled(f)
    (total, flag, count), stacked = program(a, b, c)
    assert (count, flag) == (12, False)
    for x in stacked:
        assert not any(np.shares_memory(x, y) for y in (a, b, c))
        x[...] = 0
    assert_same(*(results(program, a, b, c)[0] for _ in range(2)))
    assert total == 0.5 + c.sum()


def test_branches_are_done_where_they_are_chosen(again: list[Any]) -> None:
    def f(y: Any) -> Any:
        branches = [lambda c: c * 0.5, lambda c: 1.0 / (c - y), lambda c: c + y]
        step = lambda i, c: control_flow.switch(i % 2 * 2, branches, c)
        return control_flow.fori_loop(0, 5, step, y)

    def g(y: Any) -> Any:
        step = lambda i, c: control_flow.cond(y[0] == 0, lambda c: c + 1.0, lambda c: c / y[0], c)
        return control_flow.fori_loop(0, 5, step, y)

    compare(g, Y)
    compare(g, 0.0 * Y)
    assert not again
    compare(f, Y)


def test_limits_of_while_loops() -> None:
    def f(y: Any, most: int) -> Any:
        test = lambda c: of(y).sum(c[0]) < 10.0
        return control_flow.while_loop(
            test, lambda c: (c[0] * 1.5 + 1.0, c[1] + 1), (y, of(y).asarray(0)), max_iter=most
        )

    for most in (0, 1, 50):
        for y in (Y, Y + 100.0):
            compare(partial(f, most=most), y)


@pytest.mark.parametrize(
    ("what", "step", "y"),
    [
        ("many elements", lambda c, y: c * 0.5 + of(y).sum(y), np.ones(17)),
        ("single precision", lambda c, y: c * 0.5, np.ones(2, np.float32)),
        ("other operations", lambda c, y: of(y).sort(c * 0.5), Y),
        ("computed indices", lambda c, y: c * y[of(y).argmax(c)], Y),
        ("an infinite constant", lambda c, y: of(y).minimum(c * 0.5, np.inf), Y),
        ("backwards", lambda c, y: of(y).exp(of(y).flip(c)) * y, Y),
    ],
)
def test_loops_that_are_left_to_numpy(what: str, step: Callable[..., Any], y: Any) -> None:
    f = lambda y: control_flow.fori_loop(0, 9, lambda i, c: step(c, y), y)
    assert not accepted(f, y)
    assert_same(*(results(each, y)[0] for each in (compiled(f), make_graph(f)(y).run)))


def test_loops_that_gain_little_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_small_loops, "GAIN", 0.6)
    functions = lambda c, y: of(y).exp(c) - y
    assert not accepted(loop(functions), Y)
    assert not accepted(loop(lambda c, y: c * y - 1.0, length=2), Y)
    assert accepted(loop(lambda c, y: c * y - 1.0, length=100), Y)
    monkeypatch.setattr(_small_loops, "MOST", 3)
    assert not accepted(loop(lambda c, y: c * y - 1.0, length=100), Y)


# Random programs


def operation(choose: random.Random, arrays: list[Any]) -> Any:
    a, b = choose.choice(arrays), choose.choice(arrays)
    xp, size = of(a), a.shape[0]
    unary = ["sin", "exp", "tanh", "abs", "floor", "sign", "square", "log1p", "negative", "round", "reciprocal"]
    choices: list[Callable[[], Any]] = [
        lambda: getattr(xp, choose.choice(["add", "subtract", "multiply", "maximum", "minimum", "atan2", "copysign"]))(
            a, b
        ),
        lambda: a / (b + choose.choice([0.0, 3.0])),
        lambda: getattr(xp, choose.choice(unary))(a),
        lambda: xp.sqrt(xp.abs(a)) - choose.choice([1, 2.5]),
        lambda: xp.where(a > b, a, choose.choice([b, 0.5])),
        lambda: choose.choice([xp.flip, lambda x: xp.roll(x, 1), lambda x: xp.reshape(x[:, None] * 2, (-1,))])(a),
        lambda: xp.stack([a[i] for i in choose.sample(range(size), size)]),
        lambda: xp.concat([a[1:], b[:1]]),
        lambda: xp.broadcast_to(xp.sum(a), a.shape) * 0.3 + b,
        lambda: with_element(a, choose.randrange(size), b[0]),
        lambda: xp.astype(a > b, xp.float64) * 3 - a,
        lambda: xp.clip(a, -0.5, choose.choice([0.5, b])),
        lambda: xp.where(xp.any(a > b) | xp.all(a < 0.3), a, -b),
        lambda: a ** choose.choice([2, 3, 2.0, 0.5]),
        lambda: xp.where(xp.isnan(a) | ~xp.isfinite(b) ^ (a >= b), 0.0, a),
        lambda: control_flow.cond(a[0] > b[-1], lambda a, b: a * b + 0.5, lambda a, b: b - a / b, a, b),
    ]
    return choose.choice(choices)()


def with_element(x: Any, i: int, value: Any) -> Any:
    x = x + 0.0
    x[i] = value
    return x


def random_loop(seed: int, x: Any, y: Any) -> Any:
    choose = random.Random(seed)
    xp, count, inner = of(x), choose.randint(2, 7), choose.random()
    kind = choose.choice(["scan", "while", "fori", "nested"])

    def step(a: Any, b: Any) -> tuple[Any, Any]:
        within, arrays = random.Random(inner), [a, b, y]
        for _ in range(count):
            arrays.append(operation(within, arrays))
        return arrays[-1] * 0.5 + arrays[-2] * 0.1, arrays[-2][0]

    def bounded(a: Any) -> Any:
        test = lambda c: (xp.sum(c[0]) < 3.0) & (c[1] < 20)
        return control_flow.while_loop(test, lambda c: (step(c[0], x)[0], c[1] + 1), (a, xp.asarray(0)), max_iter=7)

    if kind == "scan":
        last, rows = control_flow.scan(step, x, xp.stack([x, y, x - y]))
        return last * xp.sum(rows)
    if kind == "while":
        last, steps = bounded(x)
        return last * xp.astype(steps, xp.float64)
    if kind == "fori":
        return control_flow.fori_loop(0, 5, lambda i, a: step(a, y * xp.astype(i, xp.float64))[0], x)
    return control_flow.scan(lambda a, b: (bounded(a * 0.1 + b)[0], a), x, xp.stack([x, y, y]))[0]


@pytest.mark.parametrize("seed", range(40))
def test_random_loops(seed: int) -> None:
    choose, rng = random.Random(seed), np.random.default_rng(seed)
    f, shape = partial(random_loop, seed), (choose.choice([1, 2, 3, 6]),)
    functions = {
        "value": f,
        "grad": grad(lambda x, y: of(x).sum(f(x, y)), argnums=(0, 1)),
        "jvp": lambda x, y: jvp(f, (x, y), (y, x)),
        "vmap": lambda x, y: vmap(f)(of(x).stack([x, y]), of(x).stack([y, x])),
    }
    what = choose.choice(["value", *functions])
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    program, eager = compiled(functions[what]), make_graph(functions[what])(x, y).run
    special = x.copy()
    special[-1] = choose.choice([0.0, -0.0, np.inf, np.nan, 1e300, 1e-310])
    for arrays in ((x, y), (special, y), (y, np.copysign(0.0, special)), (x[::-1], np.repeat(y, 2)[::2])):
        (found, warned), (expected, should_warn) = results(program, *arrays), results(eager, *arrays)
        assert_same(found, expected)
        assert what in ("grad", "jvp") or warned == should_warn  # derivatives do not warn under `jit`
