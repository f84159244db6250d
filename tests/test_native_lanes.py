"""Native loops of lanes that stop at different steps: values are those of eager execution, bit by bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import xpand
from tests.test_native import assert_same_bits
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.control_flow import cond, fori_loop, scan, while_loop
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.plugins.numpy.jit.native import BACKEND
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

if not BACKEND.is_available():
    pytest.skip("not an x86-64 machine", allow_module_level=True)

from xpand_extensions.plugins.numpy.jit.native._lanes import LEAST, lanes_of
from xpand_extensions.plugins.numpy.jit.native._support import support_of

of = xpand.array_namespace
NUMBERS = np.random.default_rng(0)
LANES = 3 * LEAST + 5


def is_by_lane(function: Callable[..., Any], *arrays: Any) -> bool:
    """Return whether each lane of a program's first loop takes only its own steps."""
    graph = simplified(make_graph(function)(*arrays))
    loop = next(each for each in graph.equations if each.op.name == "while_loop")
    return lanes_of(loop, support_of(graph).facts.orders) is not None


def root(a: Any) -> Any:
    """Return a square root by Newton's method, and the number of steps."""
    xp = of(a)
    is_far = lambda carry: xp.abs(carry[0] * carry[0] - a) > 1e-6 * a
    return while_loop(is_far, lambda carry: (0.5 * (carry[0] + a / carry[0]), carry[1] + 1), (a, xp.asarray(0)))


def collatz(k: Any) -> Any:
    xp = of(k)

    def step(carry: Any) -> Any:
        k, count = carry
        return xp.where(k % 2 == 0, k // 2, 3 * k + 1), count + 1

    return while_loop(lambda carry: carry[0] > 1, step, (k, xp.zeros_like(k)))[1]


def escape(c: Any) -> Any:
    xp = of(c)
    is_near = lambda carry: (xp.real(carry[0]) ** 2 + xp.imag(carry[0]) ** 2 < 4.0) & (carry[1] < 60)
    return while_loop(is_near, lambda carry: (carry[0] * carry[0] + c, carry[1] + 1), (0 * c, xp.asarray(0)))


def rotation(y: Any) -> Any:
    """Turn and shrink a vector, and its transpose, until it is short."""
    xp = of(y)
    captured = xp.asarray([0.5, 0.25], dtype=y.dtype)

    def step(carry: Any) -> Any:
        y, m = carry
        y = xp.stack([0.9 * y[0] + 0.2 * y[1], -0.3 * y[0] + 0.7 * y[1]]) + 0.001 * captured
        return y, xp.concat([xp.expand_dims(y, axis=0), m.mT[:1, ...] * 0.5], axis=0)

    return while_loop(lambda carry: xp.any(xp.abs(carry[0]) > 0.1), step, (y, xp.stack([y, y])))


def called(a: Any) -> Any:
    """Use functions that NumPy's own loops compute, one after the other, of one and of several numbers for a lane."""
    xp = of(a)

    def step(carry: Any) -> Any:
        w, size, pair = carry
        e = xp.exp(-xp.abs(w))
        w = xp.sin(w * e) + (xp.cos(w) + 2.0) ** -0.5 * 0.01
        pair = xp.log1p(xp.stack([e, xp.abs(w)]) ** 1.5)
        return w, size + xp.sum(xp.abs(pair)) + 0.1 * e, pair

    return while_loop(lambda carry: carry[1] < a * a, step, (a, xp.zeros_like(a), xp.stack([a, a])))


def flags(a: Any) -> Any:
    """Carry booleans and small integers; NaNs stop a lane."""
    xp = of(a)

    def step(carry: Any) -> Any:
        a, is_even, count = carry
        return a * 1.25 + xp.where(is_even, 0.5, 0.25), ~is_even, count + xp.astype(is_even, xp.int8)

    return while_loop(lambda carry: carry[0] < 20.0, step, (a, a > 3.0, xp.astype(a > 2.0, xp.int8)))


def of_numbers(dtype: str = "float64", shape: tuple[int, ...] = ()) -> Any:
    return (NUMBERS.normal(size=(LANES, *shape)) * 5.0).astype(dtype)


PROGRAMS = {
    "root": (root, 10.0 ** NUMBERS.uniform(-4, 4, LANES)),
    "root, single precision": (root, (10.0 ** NUMBERS.uniform(-4, 4, LANES)).astype("float32")),
    "collatz": (collatz, NUMBERS.integers(-3, 100, LANES)),
    "collatz, 32 bits": (collatz, NUMBERS.integers(1, 100, LANES).astype("int32")),
    "escape": (escape, of_numbers() * 0.3 + 0.2j * of_numbers()),
    "rotation": (rotation, of_numbers(shape=(2,))),
    "called": (called, of_numbers()),
    "called, single precision": (called, of_numbers("float32")),
    "flags": (flags, np.where(NUMBERS.random(LANES) < 0.2, np.nan, np.abs(of_numbers()))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_lane_takes_its_own_steps(name: str) -> None:
    f, x = PROGRAMS[name]
    program = jit(vmap(f), compiler="native")
    assert_same_bits(program(x), vmap(f)(x))
    assert is_by_lane(vmap(f), x)
    assert_same_bits(program(x[::-1].copy()), vmap(f)(x[::-1].copy()))
    assert_same_bits(program(np.repeat(x[:1], LANES, axis=0)), vmap(f)(np.repeat(x[:1], LANES, axis=0)))


@pytest.mark.parametrize("count", [0, 1, 3, LANES])
def test_lanes_without_a_step(count: int) -> None:
    """A lane that never starts keeps its initial values, and is not computed: its steps would be undefined."""

    def f(x: Any, y: Any) -> Any:
        xp = of(x)
        is_large = lambda carry: carry[0] > 1.0
        return while_loop(
            is_large, lambda carry: (carry[0] / y, carry[1] + xp.sqrt(y)), (x, xp.ones((), dtype=x.dtype))
        )

    x, y = np.full(LANES, 0.5), np.full(LANES, -0.0)
    x[:count], y[:count] = np.linspace(2.0, 90.0, LANES)[:count], 1.5
    mixed = NUMBERS.permutation(LANES)
    program = jit(vmap(f), compiler="native")
    assert is_by_lane(vmap(f), x, y)
    with np.errstate(all="raise"):
        assert_same_bits(program(x[mixed], y[mixed]), vmap(f)(x[mixed], y[mixed]))


def test_lanes_warn_as_eager_execution_does() -> None:
    def f(x: Any) -> Any:
        return while_loop(lambda y: y < 10.0, lambda y: 1.0 / (y - 3.0) + y + 1.0, x)

    x = np.full(LANES, 4.0)
    program = jit(vmap(f), compiler="native")
    with np.errstate(all="raise"):
        assert_same_bits(program(x), vmap(f)(x))
    x[7] = 3.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        found = program(x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert_same_bits(found, vmap(f)(x))


@pytest.mark.parametrize("limit", [1, 4])
def test_lanes_stop_at_a_limit(limit: int) -> None:
    f = lambda x: while_loop(lambda y: y < 10.0, lambda y: y * 1.5 + 0.25, x, max_iter=limit)
    x = np.abs(of_numbers())
    assert is_by_lane(vmap(f), x)
    assert_same_bits(jit(vmap(f), compiler="native")(x), vmap(f)(x))


def test_captured_arrays_with_and_without_lanes() -> None:
    def f(x: Any, rate: Any, both: Any) -> Any:
        xp = of(x)
        step = lambda y: y * (1.0 + rate) + xp.sum(both) + xp.sum(x * both)
        return while_loop(lambda y: xp.all(y < 50.0), step, x)

    x, rate, both = np.abs(of_numbers(shape=(3,))), np.abs(of_numbers()) * 0.01, np.asarray([0.1, 0.2, 0.3])
    mapped = vmap(f, in_axes=(0, 0, None))
    assert is_by_lane(mapped, x, rate, both)
    assert_same_bits(jit(mapped, compiler="native")(x, rate, both), mapped(x, rate, both))


def test_derivatives_of_lanes() -> None:
    def f(a: Any) -> Any:
        xp = of(a)
        is_far = lambda y: xp.abs(y * y - a) > 1e-9 * a
        return while_loop(is_far, lambda y: 0.5 * (y + a / y), a, max_iter=20)

    x, t = 10.0 ** NUMBERS.uniform(-2, 2, LANES), of_numbers()
    tangent = vmap(lambda x, t: jvp(f, (x,), (t,)))
    assert is_by_lane(tangent, x, t)
    assert_same_bits(jit(tangent, compiler="native")(x, t), tangent(x, t))
    outside = lambda x, t: jvp(vmap(f), (x,), (t,))
    assert_same_bits(jit(outside, compiler="native")(x, t), outside(x, t))
    slopes = jit(vmap(grad(f)), compiler="native")(x)
    assert_same_bits(slopes, jit(vmap(grad(f)), compiler="numpy")(x))
    np.testing.assert_allclose(slopes, 0.5 / np.sqrt(x), rtol=1e-6)


def inner_loop(x: Any) -> Any:
    inner = lambda y: while_loop(lambda z: z > 1.0, lambda z: z * 0.5, y * 3.0)
    return while_loop(lambda y: y < 30.0, lambda y: y + inner(y) + 0.5, x)


def counted_loop(x: Any) -> Any:
    return while_loop(lambda y: y < 30.0, lambda y: fori_loop(0, 3, lambda i, z: z * 1.1 + i, y), x)


def branch(x: Any) -> Any:
    return while_loop(lambda y: y < 30.0, lambda y: cond(y > 5.0, lambda z: z * 2.0, lambda z: z + 1.0, y), x)


def after_a_scan(x: Any) -> Any:
    rows = scan(lambda c, _: (c * 0.5, c), x, None, length=4)[1]
    return while_loop(lambda y: of(x).sum(y) < 30.0, lambda y: y * 1.5 + 1.0, rows)


@pytest.mark.parametrize("f", [inner_loop, counted_loop, branch, after_a_scan])
def test_loops_and_branches_of_lanes(f: Callable[..., Any]) -> None:
    x = np.abs(of_numbers())
    assert_same_bits(jit(vmap(f), compiler="native")(x), vmap(f)(x))


def test_loops_that_connect_lanes_run_as_one() -> None:
    """The first axis need not be one of lanes: a step may combine its elements."""
    programs = [
        lambda x: while_loop(
            lambda c: of(x).any(c[1]), lambda c: (c[0] * 1.5 + of(x).sum(c[0]), c[0] < 30.0), (x, x < 9)
        ),
        lambda x: while_loop(lambda c: of(x).any(c[1]), lambda c: (of(x).flip(c[0]) * 1.5, c[0] < 30.0), (x, x < 9)),
        lambda x: while_loop(lambda c: of(x).any(c[1]), lambda c: (c[0][::-1] * 1.5, c[0] < 30.0), (x, x < 9)),
        lambda x: while_loop(lambda c: of(x).any(c[1]), lambda c: (of(x).roll(c[0], 1) * 1.5, c[0] < 30.0), (x, x < 9)),
    ]
    x = np.linspace(1.0, 12.0, LANES)
    for f in programs:
        assert not is_by_lane(f, x)
        assert_same_bits(jit(f, compiler="native")(x), f(x))


def random_program(seed: int) -> Callable[..., Any]:
    """Make a loop of random operations on a number, a vector and an integer, which counts down."""
    functions = ("sin", "sqrt", "exp", "abs", "tanh", "floor", "negative", "square")
    pairs = ("add", "subtract", "multiply", "maximum", "minimum", "atan2", "divide")

    def f(x: Any, count: Any) -> Any:
        xp, rng = of(x), np.random.default_rng(seed)

        def step(carry: Any) -> Any:
            a, v, k = carry
            scalars, vectors = [a, v[0], v[2], xp.astype(k, xp.float64), x * 0.5], [v, xp.flip(v), v * a]
            for _ in range(rng.integers(6, 14)):
                pool = scalars if rng.random() < 0.6 else vectors
                y, z = (pool[i] for i in rng.integers(0, len(pool), 2))
                kind = rng.integers(0, 4)
                if kind == 0:
                    pool.append(getattr(xp, functions[rng.integers(0, len(functions))])(y))
                elif kind == 1:
                    pool.append(getattr(xp, pairs[rng.integers(0, len(pairs))])(y, z))
                elif kind == 2:
                    pool.append(xp.where(y < z, y, z * 0.5))
                else:
                    scalars.append(xp.sum(vectors[-1] ** 2))
                    vectors.append(xp.stack([scalars[-2], scalars[-1], scalars[0]]))
            bounded = lambda y: xp.clip(xp.where(xp.isnan(y), 0.125, y), -50.0, 50.0)
            return bounded(scalars[-1]), bounded(vectors[-1]), (k - 1) // 1

        return while_loop(lambda carry: carry[2] > 0, step, (x, xp.stack([x, -x, x * x]), count))

    return f


@pytest.mark.parametrize("seed", range(8))
def test_random_loops(seed: int) -> None:
    f, counts = vmap(random_program(seed)), np.random.default_rng(seed).integers(-1, 9, LANES)
    x = of_numbers()
    with np.errstate(all="ignore"):
        assert_same_bits(jit(f, compiler="native")(x, counts), f(x, counts))
    assert is_by_lane(f, x, counts)
