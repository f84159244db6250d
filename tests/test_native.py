"""`jit(function, compiler="native")` on NumPy: the values are those of eager NumPy, bit by bit."""

import importlib
import itertools
import math
import random
import threading
import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from pkgutil import iter_modules
from typing import Any

import numpy as np
import pytest

import xpand
from tests.test_control_flow_compiled import CASES as LOOPS
from xpand import trees
from xpand_extensions import control_flow, scatter
from xpand_extensions.autodiff import checkpoint, checkpoint_name, grad, jvp
from xpand_extensions.jit import jit, lower, make_graph
from xpand_extensions.tracing._backend import FAILURES
from xpand_extensions.tracing._functions import BINARY, UNARY
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

pytest.importorskip("llvmlite")

from xpand_extensions.plugins.numpy.jit.native import BACKEND
from xpand_extensions.plugins.numpy.jit.native._loops import _ahead
from xpand_extensions.plugins.numpy.jit.native._program import Program
from xpand_extensions.plugins.numpy.jit.native._support import left, support_of
from xpand_extensions.plugins.numpy.jit.native._ufuncs import is_same, loop_of
from xpand_extensions.plugins.numpy.jit.native._values import Node

if not BACKEND.is_available():
    pytest.skip("not an x86-64 machine", allow_module_level=True)

of = xpand.array_namespace
DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "uint64", "bool")


def native(function: Callable[..., Any]) -> Callable[..., Any]:
    return jit(function, compiler="native")


@lru_cache(maxsize=1)
def programs(function: Callable[..., Any]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the native program and NumPy's: the checks of a function with several arrays compile it once."""
    return native(function), jit(function, compiler="numpy")


def assert_same_bits(found: Any, expected: Any) -> None:
    """Compare trees of arrays: structure, shapes, data types, and bits, but for those of NaNs."""
    assert trees.structure(found) == trees.structure(expected)
    for number, (x, wanted) in enumerate(zip(trees.leaves(found), trees.leaves(expected))):
        x, wanted = np.asarray(x), np.asarray(wanted)
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype), number
        assert is_same(x, wanted), f"result {number}: {x} instead of {wanted}"


def reasons(function: Callable[..., Any], *arrays: Any) -> dict[str, str]:
    """Return why operations of a program are left to the library."""
    graph = simplified(make_graph(function)(*arrays))
    found = left(graph)
    return {each.op.name: found[id(each)] for each in graph.equations if id(each) in found}


def samples(dtype: str, size: int, seed: int) -> Any:
    """Return numbers of a data type, special ones among them."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, size).astype(bool)
    if kind == "f":
        special = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, 1e-310, -3.5, 2.5, 1e38])
        found = rng.normal(size=size) * 10.0 ** rng.integers(-3, 3, size)
        where = rng.random(size) < 0.4
        found[where] = rng.choice(special, size)[where]
        with np.errstate(over="ignore", under="ignore"):
            return found.astype(dtype)
    limits = np.iinfo(dtype)
    special = np.asarray([limits.min, limits.max, 0, 1, 2, 7], dtype=dtype)
    found = rng.integers(0, 70, size).astype(dtype)
    where = rng.random(size) < 0.4
    found[where] = rng.choice(special, size)[where]
    return found


# Elementwise operations


def applied(name: str, *arrays: Any) -> Any:
    return getattr(of(*arrays), name)(*arrays)


def elementwise(dtype: str) -> list[tuple[str, int]]:
    """Return the names of the operations for a data type, with the number of their arrays."""
    x = np.ones(2, dtype)
    found = []
    for name, count in [*((name, 1) for name in UNARY), *((name, 2) for name in BINARY)]:
        try:
            with np.errstate(all="ignore"):
                applied(name, *[x] * count)
        except TypeError:
            continue
        if not (name == "pow" and np.dtype(dtype).kind in "iu"):  # negative exponents raise
            found.append((name, count))
    return found


@pytest.mark.parametrize("size", [3, 100], ids=["in registers", "in memory"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_operations(dtype: str, size: int) -> None:
    names = elementwise(dtype)

    def f(x: Any, y: Any) -> list[Any]:
        return [applied(name, *(x, y)[:count]) for name, count in names]

    program = native(f)
    x, y = samples(dtype, size, 0), samples(dtype, size, 1)
    with np.errstate(all="ignore"):
        assert_same_bits(program(x, y), f(x, y))
        assert_same_bits(program(y, x), f(y, x))
    if x.itemsize > 1:  # others have functions in half precision
        allowed = {"round", "real", "imag", "conj", "pow", *({"floor_divide"} if x.dtype.kind == "f" else ())}
        assert reasons(f, x, y).keys() <= allowed
    assert len(names) > 20


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_and_choices(dtype: str) -> None:
    kind = np.dtype(dtype).kind
    targets = [each for each in DTYPES if kind != "f" or np.dtype(each).kind in "fb"]

    def f(x: Any, y: Any) -> list[Any]:
        xp = of(x)
        casts = [xp.astype(x, getattr(xp, each)) for each in targets]
        return [*casts, xp.where(xp.not_equal(x, y), x, y), xp.where(xp.equal(x, y), x, 1 if kind != "b" else True)]

    x, y = samples(dtype, 50, 2), samples(dtype, 50, 3)
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, y), f(x, y))


def test_numbers_of_python() -> None:
    def f(x: Any, i: Any) -> list[Any]:
        return [x * 2, 2.5 - x, x**2, x**3, x**-1.5, 1 / x, i * 3 - 1, i + 2.5, x > 0, i < 3, 2**x]

    x, i = samples("float64", 40, 4), samples("int32", 40, 5)
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, i), f(x, i))
        assert_same_bits(native(f)(x.astype("float32"), i), f(x.astype("float32"), i))


@pytest.mark.parametrize("dtype", [each for each in DTYPES if np.dtype(each).kind in "iu"])
def test_divisions_of_integers_by_numbers(dtype: str) -> None:
    most = int(np.iinfo(dtype).max)
    divisors = [1, 2, 3, 7, 64, most // 2 + 1, most, *([-1, -3, -8] if np.dtype(dtype).kind == "i" else [])]

    def f(x: Any) -> list[Any]:
        return [each(x, y) for y in divisors for each in (of(x).floor_divide, of(x).remainder)]

    x = samples(dtype, 60, 6)
    with np.errstate(all="ignore"):  # the least integer, divided by -1, is too large
        assert_same_bits(native(f)(x), f(x))
    assert not reasons(f, x)
    program = native(lambda x, y: (x // y, x % y))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        found = program(x, np.zeros_like(x))
    assert_same_bits(found, (np.zeros_like(x), np.zeros_like(x)))


# Rearrangements


@pytest.mark.parametrize("shape", [(2, 3), (5, 7), (4, 1, 9), (1, 40), (0, 3), (3, 0, 2)], ids=str)
def test_rearrangements(shape: tuple[int, ...]) -> None:
    def f(x: Any, y: Any) -> list[Any]:
        xp = of(x)
        z = x * 2.0 + y
        last = xp.concat([z, y, z], axis=-1)
        found = [
            xp.flip(z) + 1.0,
            xp.flip(z, axis=0) * y,
            xp.roll(z, 1, axis=0) + xp.roll(z, -2, axis=-1),
            xp.roll(z, 1) + 1.0,
            xp.reshape(z, (-1,)) - 1.0 if z.shape[0] else z,
            xp.expand_dims(z, axis=1) + 1.0,
            xp.stack([z, y], axis=0),
            xp.stack([z, y, x], axis=-1),
            xp.concat([z, y], axis=0) * 3.0,
            last[..., 1:-1:2] - 1.0,
            last[..., ::-1] + last,
            xp.broadcast_to(z, (2, *z.shape)) + 1.0,
            z[None, ..., None] * 2.0,
            z + xp.sum(xp.ones(3)),
        ]
        if z.shape[0]:
            w = z + 0.0
            w[0, ...] = 5.0
            w[..., 1:] = x[..., :-1] * 2.0
            found += [w, z[0, ...] * 2.0, z[-1:, ...] + z, z[0, ...] + z]
        return found

    x, y = samples("float64", int(np.prod(shape)), 6).reshape(shape), samples("float64", int(np.prod(shape)), 7)
    y = y.reshape(shape)
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, y), f(x.copy(), y))


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4), (4, 2), (2, 3, 40)], ids=str)
def test_triangles(shape: tuple[int, ...], dtype: str) -> None:
    def f(x: Any) -> list[Any]:
        xp, y = of(x), x + x
        return [function(y, k=k) + y for function in (xp.tril, xp.triu) for k in (-3, -1, 0, 1, 2)]

    assert_same_bits(native(f)(x := np.arange(1, 1 + math.prod(shape)).reshape(shape).astype(dtype)), f(x))


@pytest.mark.parametrize("size", [2, 40])
def test_loops_without_steps(size: int) -> None:
    def f(x: Any, rows: Any) -> Any:
        step = lambda carry, row: (carry * 2.0 + row, carry[:1])
        last, stacked = control_flow.scan(step, x + 1.0, rows)
        return last * 3.0, stacked, control_flow.fori_loop(3, 3, lambda i, y: y * 2.0, x - 1.0)

    x = np.arange(float(size))
    for length in (0, 1):
        rows = np.ones((length, size))
        assert_same_bits(native(f)(x, rows), f(x, rows))


@pytest.mark.parametrize("shape", [(2, 3), (3, 30)], ids=str)
def test_parts_are_set_to_values_with_more_axes(shape: tuple[int, ...]) -> None:
    def f(x: Any, y: Any) -> Any:
        z, w, v = x * 2.0, x + 1.0, x - 1.0
        z[0] = (y[0] * 2.0)[None, None]
        w[1, 1:] = y[:1, 1:] + 1.0
        v[:, 0] = (y[:, 0] + 2.0)[None, :]
        return z, w, v

    x, y = (samples("float64", math.prod(shape), seed).reshape(shape) for seed in (1, 2))
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, y), f(x, y))


# Sums


@pytest.mark.parametrize("dtype", ["float64", "float32", "int16", "uint64", "bool", "complex128"])
def test_sums_of_short_rows(dtype: str) -> None:
    def f(x: Any, y: Any) -> list[Any]:
        xp = of(x)
        sums = [xp.sum(x[..., :k], axis=-1, keepdims=k % 2 == 0) for k in range(1, 19)]
        return [*sums, xp.sum(x * y, axis=1), xp.sum(x * y[0, :]), xp.sum(x[:2, :3]), xp.sum(x[:0, :3], axis=1)]

    x, y = (samples(dtype[:7].replace("complex", "float64"), 600, seed).reshape(30, 20) for seed in (8, 9))
    x, y = (np.where(np.isnan(each), 0, each).astype(dtype) for each in (x, y))
    x[3, :] = 0 if x.dtype.kind in "bui" else -0.0
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, y), f(x, y))


OF_DTYPES = [("float64", shape) for shape in [(7,), (13,), (300,), (20, 33), (5, 1, 130), (0, 4), (20000,)]]
OF_DTYPES += [(dtype, (3, 4, 150)) for dtype in ("float64", "float32", "int32", "uint8", "bool")]


@pytest.mark.parametrize(("dtype", "shape"), OF_DTYPES, ids=str)
def test_reductions(dtype: str, shape: tuple[int, ...]) -> None:
    axes: list[Any] = [None, 0, -1, (0, len(shape) - 1)] if len(shape) > 1 else [None, 0]

    def f(x: Any) -> list[Any]:
        xp = of(x)
        y = xp.where(x == x, x, x)
        found = [xp.sum(y, axis=axis, keepdims=keepdims) for axis, keepdims in zip(axes, (True, False) * 2)]
        found += [xp.prod(y, axis=axis) for axis in axes[-1:]]
        if 0 not in y.shape and dtype != "bool":
            found += [xp.max(y, axis=axis) for axis in axes] + [xp.min(y, axis=axes[-1])]
        return found

    x = np.random.default_rng(8).normal(size=shape) * 100
    for values in (x.astype(dtype), samples(dtype, x.size, 9).reshape(shape)):
        with np.errstate(all="ignore"):
            assert_same_bits(native(f)(values), f(values))


def thresholds(least: int, most: int) -> list[int]:
    """Return the sizes around the constants of native code: each, one less and one more."""
    package = importlib.import_module("xpand_extensions.plugins.numpy.jit.native")
    modules = [importlib.import_module(f"{package.__name__}.{each.name}") for each in iter_modules(package.__path__)]
    named = [item for module in (package, *modules) for item in vars(module).items()]
    constants = [x for name, x in named if name.isupper() and type(x) is int and least <= x <= most]
    sizes = {x + i for x in constants for i in (-1, 0, 1)}
    assert {8, 9, 16, 17} <= sizes or least > 8
    return sorted(sizes)


def reduced(x: Any, axis: int | None) -> list[Any]:
    """Reduce arrays along an axis, among them terms that NumPy's inner loops compute, and no other operation uses."""
    xp, numbers = of(x), itertools.count(1)
    terms = lambda: xp.exp(xp.abs(x) * (-0.1 * next(numbers))) * x
    found = [xp.sum(each, axis=axis) for each in (x, terms(), x * x)]
    found += [xp.mean(terms(), axis=axis), xp.std(terms(), axis=axis), xp.prod(terms(), axis=axis)]
    found += [xp.any(terms() > 0.5, axis=axis), xp.all(terms() > -0.5, axis=axis), xp.max(terms(), axis=axis)]
    found += [xp.argmin(terms(), axis=axis), xp.linalg.vector_norm(terms(), axis=axis)]
    return [*found, xp.cumulative_sum(terms(), axis=-1)]


@pytest.mark.parametrize("size", thresholds(2, 3000))
def test_reductions_around_thresholds(size: int) -> None:
    rng = np.random.default_rng(size)
    row = rng.normal(size=size).astype(rng.choice(["float32", "float64"]))
    f = lambda row, rows, columns: [*reduced(row, None), *reduced(rows, 1), *reduced(columns, 0)]
    given = row, rng.normal(size=(3, size)), rng.normal(size=(size, 3))
    assert_same_bits(native(f)(*given), f(*given))


@pytest.mark.parametrize("size", thresholds(3000, 300_000))
def test_sums_of_large_arrays_around_thresholds(size: int) -> None:
    x = np.random.default_rng(size).normal(size=size)
    f = lambda x: [of(x).sum(x), of(x).sum(of(x).sin(x) + x), x[::2] * 2.0 + of(x).max(x)]
    assert_same_bits(native(f)(x), f(x))
    assert_same_bits(native(f)(x.astype("float32")), f(x.astype("float32")))


# Loops and derivatives


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_branches(name: str) -> None:
    function, arrays = LOOPS[name]
    found = native(function)(*arrays)
    assert_same_bits(found, jit(function)(*arrays))
    for x, wanted in zip(trees.leaves(found), trees.leaves(function(*arrays))):
        np.testing.assert_allclose(x, wanted, rtol=1e-12, atol=1e-12)


def scanned(x: Any, y: Any) -> Any:
    xp = of(x)

    def step(carry: Any, row: Any) -> Any:
        a, b = carry
        a = xp.sin(a) * row + y[0]
        b = xp.where(b > 3.0, b * 0.5, b + xp.sum(a))
        return (a, b), a[0] * b

    (a, b), ys = control_flow.scan(step, (x, xp.sum(x)), xp.stack([y, y * 2.0, y - 1.0, y] * 5))
    return xp.sum(a) * b + xp.sum(ys**2)


def halved(x: Any, y: Any) -> Any:
    xp = of(x)
    keep = lambda carry: xp.any(xp.abs(carry[0]) > 0.1) & (carry[1] < 50)
    step = lambda carry: (carry[0] * 0.7 - 0.01 * y, carry[1] + 1)
    return control_flow.while_loop(keep, step, (x, xp.asarray(0)), max_iter=60)[0]


@pytest.mark.parametrize("size", [3, 40], ids=["in registers", "in memory"])
@pytest.mark.parametrize("what", ["value", "grad", "jvp", "vmap", "vmap of grad"])
def test_loops_and_their_derivatives(what: str, size: int) -> None:
    function = {
        "value": scanned,
        "grad": grad(scanned, argnums=(0, 1)),
        "jvp": lambda x, y: jvp(scanned, (x, y), (y, x))[1],
        "vmap": lambda x, y: vmap(scanned, in_axes=(0, None))(of(x).stack([x, y, x - y]), y),
        "vmap of grad": lambda x, y: vmap(grad(scanned), in_axes=(0, None))(of(x).stack([x, y, x - y]), y),
    }[what]
    x, y = np.linspace(-1.0, 1.0, size), np.linspace(0.5, 2.0, size)
    assert_same_bits(native(function)(x, y), jit(function)(x, y))
    assert what == "vmap of grad" or "scan" not in reasons(function, x, y)


@pytest.mark.parametrize("size", [3, 40], ids=["in registers", "in memory"])
@pytest.mark.parametrize("what", ["value", "grad", "jvp"])
def test_loops_of_checkpointed_steps(what: str, size: int) -> None:
    def total(x: Any, y: Any) -> Any:
        step = checkpoint(lambda c, row: checkpoint_name(of(c).sin(c), "sine") * row + y)
        return of(x).sum(control_flow.scan(lambda c, row: (step(c, row), None), x, of(x).stack([y] * 20))[0])

    function = {"value": total, "grad": grad(total, argnums=(0, 1)), "jvp": lambda x, y: jvp(total, (x, y), (y, x))[1]}
    x, y = np.linspace(-1.0, 1.0, size), np.linspace(0.5, 2.0, size)
    assert_same_bits(native(function[what])(x, y), jit(function[what], compiler="numpy")(x, y))
    assert not reasons(function[what], x, y).keys() & {"scan", "checkpoint"}


def test_while_loops() -> None:
    x, y = np.linspace(-1.0, 1.0, 40), np.linspace(0.5, 2.0, 40)
    for function in (halved, lambda x, y: jvp(halved, (x, y), (y, x))[1]):
        assert_same_bits(native(function)(x, y), function(x, y))


def test_branches() -> None:
    def f(i: Any, x: Any) -> Any:
        branches = [lambda x: x * 2.0, lambda x: of(x).sin(x), lambda x: x - of(x).sum(x)]
        return control_flow.switch(i, branches, x) + control_flow.cond(x[0] > 0, lambda x: x, lambda x: -x * x, x)

    program = native(f)
    for size in (4, 50):
        for i in (-3, 0, 1, 2, 9):
            for sign in (1.0, -1.0):
                x = sign * np.linspace(0.5, 1.0, size)
                assert_same_bits(program(np.asarray(i), x), f(np.asarray(i), x))
    assert not reasons(f, np.asarray(1), x).keys() - {"getitem"}


@pytest.mark.parametrize("shape", [(5,), (20,), (6, 3), (4, 5, 30)], ids=str)
def test_indices_that_are_computed(shape: tuple[int, ...]) -> None:
    def f(x: Any, n: Any) -> Any:
        xp = of(x)

        def step(i: Any, carry: Any) -> Any:
            carry = carry + 0.0
            carry[i] = carry[i - 2] * 0.5 + x[i % 3, ...]
            carry[n, ...] = 1.5
            return carry

        return control_flow.fori_loop(0, shape[0], step, xp.sin(x)), x[n] * 2.0, x[-1] + x[n]

    program, x = native(f), np.random.default_rng(3).normal(size=shape)
    for n in (0, 2, -1, -shape[0]):
        assert_same_bits(program(x, np.asarray(n)), f(x, np.asarray(n)))
    assert_same_bits(program(x, np.asarray(1, dtype=np.uint8)), f(x, np.asarray(1, dtype=np.uint8)))
    assert "scan" not in reasons(f, x, np.asarray(0))
    for n in (shape[0], -shape[0] - 1):
        with pytest.raises(IndexError, match="out of bounds"):
            program(x, np.asarray(n))


@pytest.mark.parametrize(("shift", "calls"), [(0.5, 1), (0.25, 2)])
def test_functions_of_the_same_numbers_are_called_once(shift: float, calls: int) -> None:
    def f(x: Any) -> Any:
        xp = of(x)
        step = lambda _, c: c * 0.5 + xp.sin(x * c + 0.5) * xp.sum(xp.sin(x * c + shift), axis=0)
        return control_flow.fori_loop(0, 9, step, x)

    x = np.linspace(-1.0, 1.0, 3)
    assert_same_bits(native(f)(x), jit(f, compiler="numpy")(x))
    program = Program(simplified(make_graph(f)(x)))
    text = program.text.partition('define internal i32 @"body"')[2]
    assert text.count("call void %") == calls


# Random programs


def random_program(choose: random.Random, x: Any, y: Any, depth: int) -> Any:
    """Combine two arrays of shape (n, m) by random operations to a third."""
    xp, arrays = of(x), [x, y]
    for _ in range(choose.randint(3, 8)):
        a, b = choose.choice(arrays), choose.choice(arrays)
        kind = choose.randrange(23 if depth else 21)
        if kind == 0:
            found = getattr(xp, choose.choice(["add", "subtract", "multiply", "divide", "maximum", "minimum"]))(a, b)
        elif kind == 1:
            found = getattr(xp, choose.choice(["sin", "exp", "tanh", "sqrt", "abs", "floor", "log1p", "sign"]))(a)
        elif kind == 2:
            found = xp.where(a > b, a, choose.choice([b, 0.5]))
        elif kind == 3:
            found = xp.roll(a, choose.randint(-2, 2), axis=choose.choice([0, 1, -1]))
        elif kind == 4:
            found = xp.flip(a, axis=choose.choice([0, 1, None])) + 0.0
        elif kind == 5:
            found = xp.broadcast_to(xp.sum(a, axis=choose.choice([0, 1]), keepdims=True), a.shape) * 0.1 + b
        elif kind == 6:
            found = xp.concat([a[1:, ...], b[:1, ...]], axis=0)
        elif kind == 7:
            found = xp.stack([a[:, 0], *[b[:, i] for i in range(1, b.shape[1])]], axis=1)
        elif kind == 8:
            found = a + 0.0
            found[choose.choice([0, -1]), ...] = b[0, ...]
            found[:, ::2] = a[:, ::2] * 0.5
        elif kind == 9:
            found = xp.astype(xp.astype(a > b, xp.int32) * 3 - 1, xp.float64) * a
        elif kind == 10:
            statistic = choose.choice([xp.mean, xp.var, xp.std])
            found = a - statistic(b, axis=choose.choice([0, 1, None]), keepdims=True)
        elif kind == 11:
            found = xp.clip(a, -0.5, choose.choice([0.5, b]))
        elif kind == 12:
            rows = xp.argmax(xp.where(a > b, a, b), axis=1)
            found = xp.take(a, rows % a.shape[0], axis=0) + b[rows % a.shape[0], rows][:, None]
        elif kind == 13:
            indices = xp.asarray([choose.randrange(a.shape[0]) for _ in range(a.shape[0])])
            found = scatter.at(a)[indices].add(b) if choose.random() < 0.5 else b + 0.0
            found[indices, ...] = a
        elif kind == 14:
            found = xp.where(xp.any(a > b, axis=1, keepdims=True), a, xp.diff(xp.concat([a, b[:, :1]], axis=1)))
        elif kind == 15:
            found = (a @ b.mT) @ choose.choice([a, b + 1.0]) * 0.1
        elif kind == 16:
            found = (a @ b[0, :])[:, None] + (b[:, 0] @ a) * 0.5
        elif kind == 17:
            turned = a.mT * 0.5 + choose.choice([b.mT, 1.0])
            found = (turned + 0.0).mT + (b @ turned[:, 0])[:, None]
        elif kind == 18:
            found = xp.cumulative_sum(a, axis=choose.choice([0, 1])) * 0.1 + xp.cumulative_prod(b, axis=1)
        elif kind == 19:
            whole = xp.astype(a * 10.0, choose.choice([xp.int64, xp.int32, xp.int8]))
            found = xp.astype(whole, xp.float64) * 0.1 + b
        elif kind == 20:
            ids = xp.asarray([choose.randrange(a.shape[0]) for _ in range(a.shape[0])])
            reduce = choose.choice([scatter.segment_prod, scatter.segment_min, scatter.segment_max])
            found = xp.clip(reduce(a, ids, num_segments=a.shape[0]), -3.0, 3.0) + b
        elif kind == 21:
            inner = partial(random_program, random.Random(choose.random()), y=b, depth=depth - 1)
            step = lambda c, row, inner=inner: (inner(x=c) * 0.5, c + row)
            last, rows = control_flow.scan(step, a, xp.stack([a, b, a]))
            found = last + rows[1, ...]
        else:
            inner = partial(random_program, random.Random(choose.random()), y=b, depth=depth - 1)
            found = control_flow.cond(a[0, 0] > b[0, 0], lambda c, inner=inner: inner(x=c), lambda c: c * 2.0, a)
        arrays.append(found)
    return arrays[-1] * 0.5 + arrays[-2]


SIZES = [size for size in thresholds(2, 200) if size > 1]


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    choose = random.Random(seed)
    shape = choose.choice([(2, 3), (3, 4), (6, 7), (5, 40)])
    if seed >= 20:
        shape = choose.choice([(2, choose.choice(SIZES)), (choose.choice(SIZES), 2)])
    of_program, depth = choose.random(), choose.choice([0, 0, 1, 1])
    f = lambda x, y: random_program(random.Random(of_program), x, y, depth)
    functions = {
        "value": f,
        "grad": grad(lambda x, y: of(x).sum(f(x, y))),
        "jvp": lambda x, y: jvp(f, (x, y), (y, x))[1],
        "vmap": lambda x, y: vmap(f)(of(x).stack([x, y]), of(x).stack([y, x])),
    }
    function = functions[choose.choice(sorted(functions))]
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    program, by_library = native(function), jit(function, compiler="numpy")
    x[0, 1], y[1, 1] = choose.choice([-0.0, np.inf, np.nan, 1e-310]), choose.choice([0.0, -np.inf, 2.0])
    given = [(x, y), (np.asfortranarray(x), y), (np.repeat(x, 2, axis=1)[:, ::2], y[:, ::-1]), (misaligned(x), y)]
    with np.errstate(all="ignore"):
        for arrays in given:
            assert_same_bits(program(*arrays), by_library(*arrays))


def misaligned(x: Any) -> Any:
    """Return a copy whose elements begin at odd addresses."""
    memory = np.zeros(x.nbytes + 1, np.uint8)
    found = memory[1:].view(x.dtype).reshape(x.shape)
    found[...] = x
    return found


# Calls


def test_warnings_are_those_of_numpy() -> None:
    def f(x: Any) -> Any:
        return of(x).log(x - 1.0) / (x - 1.0) + of(x).where(x == 0, 0.0, 1.0 / x)

    program = native(f)
    x = np.asarray([1.0, 0.0, 2.0, 3.0])

    def told(function: Callable[..., Any], **reactions: Any) -> Any:
        with np.errstate(**reactions), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                function(x)
            except FloatingPointError as error:
                return str(error)
        return sorted(str(each.message) for each in caught)

    for reactions in ({}, {"all": "ignore"}, {"invalid": "ignore"}, {"divide": "raise"}, {"all": "warn"}):
        assert told(program, **reactions) == told(f, **reactions)
    assert told(program)


def test_integer_division_by_zero_warns() -> None:
    f = lambda i, j: i // j + i % j
    i, j = np.arange(50), np.arange(50) % 5
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        expected = f(i, j)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        found = native(f)(i, j)
    assert_same_bits(found, expected)


def test_threads_share_a_program() -> None:
    program = native(lambda x: of(x).sum(of(x).exp(control_flow.fori_loop(0, 9, lambda i, c: c * 0.9 + x, x))))
    arrays = [np.linspace(0.0, 0.1 * i, 5000) for i in range(8)]
    expected = [program(x) for x in arrays]
    wrong: list[int] = []

    def run(number: int) -> None:
        for _ in range(20):
            if program(arrays[number]) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_constants_may_have_any_layout() -> None:
    constant = np.arange(60.0).reshape(5, 12)
    for c in (constant, constant.T.copy().T, constant[:, ::-1], np.broadcast_to(constant[0], (5, 12))):
        f = lambda x, c=c: of(x).sin(x * c) + c * 2.0
        assert_same_bits(native(f)(constant), f(constant))


def test_results_are_new_arrays() -> None:
    x = np.ones((5, 40))
    found = native(lambda x: (x * 2.0 + 1.0, of(x).reshape(x + 1.0, (40, 5))))(x)
    for each in found:
        each[...] = 0.0
        assert not np.shares_memory(each, x)
    assert (x == 1.0).all()


def test_operations_that_are_not_compiled_are_left_to_the_library() -> None:
    def f(x: Any) -> Any:
        xp = of(x)
        return xp.sort(x * 2.0 + 1.0) * 3.0 - xp.astype(xp.argsort(x), xp.float64)

    x = np.linspace(1.0, 0.0, 50)
    assert_same_bits(native(f)(x), f(x))
    assert reasons(f, x) == {"sort": "no native code for it", "argsort": "no native code for it"}
    g = lambda x: control_flow.fori_loop(0, 3, lambda i, c: of(c).sort(c * 0.5 + 1.0) - x, x)
    assert_same_bits(native(g)(x), g(x))
    assert reasons(g, x) == {"scan": "sort in its body: no native code for it"}


# Choosing a compiler


def test_compilers_by_name() -> None:
    x = np.ones(3)
    for name in (None, "numpy", "native"):
        np.testing.assert_array_equal(jit(lambda x: x + 1.0, compiler=name)(x), [2.0] * 3)
    names = "'numpy' or 'native' or 'xla'"
    with pytest.raises(ValueError, match=f"compiler must be None or {names} for the arrays.*got 'eager'"):
        jit(lambda x: x, compiler="eager")(x)
    with pytest.raises(TypeError, match="compiler must be a name or None, got"):
        jit(lambda x: x, compiler=3)  # type: ignore[arg-type]


def test_a_named_compiler_inside_other_transformations() -> None:
    f = jit(lambda x: (x * x).sum(), compiler="native")
    x = np.asarray([1.0, 2.0])
    assert grad(f)(x).tolist() == [2.0, 4.0]
    assert vmap(f)(np.stack([x, 2 * x])).tolist() == [5.0, 20.0]
    assert jit(lambda x: f(x) + 1.0)(x) == 6.0


def test_the_text_of_a_program_tells_what_is_not_compiled() -> None:
    def f(x: Any) -> Any:
        xp = of(x)
        y = control_flow.fori_loop(0, 3, lambda i, c: xp.sort(xp.sin(c)), x)
        return xp.sort(y * 2.0 + 1.0)

    x = np.ones(3)
    program = jit(f, compiler="native").lower(x)
    lines = [line.partition("  # ")[0::2] for line in program.as_text().splitlines()]
    found = {line.split("=")[1].split("(")[0].strip(): note for line, note in lines if note}
    assert found == {
        "scan": "not compiled: sort in its body: no native code for it",
        "sort": "not compiled: no native code for it",
    }
    assert "sin" in program.as_text()
    by_numpy = [line for line in lower(f, compiler="numpy")(x).as_text().splitlines() if " = " in line]
    found = {line.split("=")[1].split("(")[0].strip(): line.partition(" not compiled: ")[2] for line in by_numpy}
    assert found["sin"] == found["multiply"] == "fewer than 32,768 elements"
    assert found["sort"] == "the library's own function computes it"
    assert found["scan"] == "NumPy computes its steps"
    assert program.as_text() == lower(f, compiler="native")(x).as_text()
    assert lower(f)(x).as_text() == "\n".join(line for line, _ in lines)
    np.testing.assert_array_equal(program.compile()(x), f(x))
    with pytest.raises(ValueError, match="compiler must be None or 'numpy' or 'native' or 'xla'"):
        lower(f, compiler="inductor")(x)
    with pytest.raises(TypeError, match="lower: compiler must be a name or None, got"):
        lower(f, compiler=3)  # type: ignore[arg-type]


def test_results_of_the_compiled_code_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are computed again by NumPy only where NumPy warns, or an index is out of bounds."""
    again: list[Program] = []
    by_library = Program.by_library
    monkeypatch.setattr(Program, "by_library", lambda self, *arrays: again.append(self) or by_library(self, *arrays))
    x = np.linspace(0.5, 2.0, 7)
    native(lambda x: of(x).sum(of(x).exp(-x) / x + of(x).sqrt(x)))(x)
    native(lambda x, i: x[i] * 2.0 + of(x).sum(x))(x, np.asarray(3))
    native(lambda x: control_flow.fori_loop(0, 5, lambda i, c: c * x[i] + x, x))(x)
    assert again == []
    with np.errstate(divide="ignore"):
        native(lambda x: 1.0 / x + x)(0.0 * x)
    assert again == []
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        native(lambda x: 1.0 / x + x)(0.0 * x)
    assert len(again) == 1


NATIVE = "xpand_extensions.plugins.numpy.jit.native"


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of the groups that are compiled, where each call takes half a second, and compiling 1.2 s."""
    found: list[Any] = []
    lower_group = type(BACKEND).lower
    monkeypatch.setattr(type(BACKEND), "lower", lambda self, graph: found.append(graph) or lower_group(self, graph))
    monkeypatch.setattr(f"{NATIVE}._seconds", lambda graph: 1.2)
    monkeypatch.setattr(f"{NATIVE}.perf_counter", itertools.count(step=0.5).__next__)
    return found


def looped(x: Any, length: int = 20) -> Any:
    return of(x).sum(control_flow.scan(lambda c, _: (of(c).sin(c) * x, c), x, None, length=length)[1])


def test_loops_are_compiled_when_calls_have_taken_as_long(lowered: list[Any]) -> None:
    program, x = jit(grad(looped)), np.linspace(0.1, 0.9, 3)
    expected = jit(grad(looped), compiler="numpy")(x)
    text = lower(grad(looped))(x).as_text()
    assert text.count("# native code once calls have taken 1.20 s") == text.count(" = scan(") > 0
    for calls in range(1, 6):
        assert_same_bits(program(x), expected)
        assert bool(lowered) == (calls > 3)
    assert len(lowered) == 1
    by_numpy = jit(looped, compiler="numpy")
    assert len({float(by_numpy(x)) for _ in range(6)}) == 1
    assert len(lowered) == 1


def test_long_loops_are_compiled_at_the_first_call(lowered: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{NATIVE}._seconds", lambda graph: 0.012)
    f = partial(looped, length=10_000)
    assert "# native code once calls have taken 0.01 s" in lower(f)(np.asarray(0.5)).as_text()  # by Python's floats
    x = np.linspace(0.1, 0.9, 20)
    assert "# native code at the first call" in lower(f)(x).as_text()
    jit(f)(x)
    assert len(lowered) == 1


@pytest.mark.parametrize("what", ["no loop", "a body that is not compiled", "not installed"])
def test_other_programs_are_not_compiled_by_default(
    lowered: list[Any], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    f: Callable[[Any], Any] = looped
    if what == "not installed":
        monkeypatch.setattr(f"{NATIVE}.find_spec", lambda name: None)
    elif what == "no loop":
        f = lambda x: of(x).sum(of(x).sin(x) * x + 1.0)
    else:
        f = lambda x: control_flow.fori_loop(0, 20, lambda i, c: of(c).sort(c * 0.5 - x), x)
    program, x = jit(f), np.linspace(0.1, 0.9, 3)
    for _ in range(6):
        assert_same_bits(program(x), jit(f, compiler="numpy")(x))
    assert lowered == []
    assert "native" not in lower(f)(x).as_text()


@pytest.mark.parametrize("fails", ["Program.__init__", "support_of"])
def test_numpy_runs_programs_that_fail_to_compile(
    lowered: list[Any], monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("not compiled\nby mistake")

    where = f"{NATIVE}._program.{fails}" if "." in fails else f"{NATIVE}._support.{fails}"
    monkeypatch.setattr(where, fail)
    program, x = jit(looped), np.linspace(0.1, 0.9, 3)
    for _ in range(6):
        assert_same_bits(program(x), jit(looped, compiler="numpy")(x))
    assert " = scan(" in (text := lower(looped)(x).as_text())
    assert text.count("# not compiled: native raised AssertionError: not compiled") > 0
    FAILURES.clear()
    with pytest.raises(AssertionError, match="by mistake"):
        native(looped)(x)


def test_numpy_runs_programs_that_fail_to_compile_for_other_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    f = lambda x: of(x).sum(of(x).sin(x) * x, axis=0)
    program, x = native(f), np.random.default_rng(0).normal(size=(20, 30))
    program(x)
    monkeypatch.setattr(Program, "_for_orders", lambda self, orders: 1 / 0)
    by_columns = np.asfortranarray(x)
    assert_same_bits(program(by_columns), f(by_columns))
    assert_same_bits(program(x), f(x))
    assert list(FAILURES.values()) == ["native raised ZeroDivisionError: division by zero"]
    FAILURES.clear()


def test_a_compiler_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(BACKEND), "is_available", lambda self: False)
    with pytest.raises(ImportError, match=r"compiler='native' needs llvmlite.*pip install 'xpand\[native\]'"):
        jit(lambda x: x, compiler="native")(np.ones(3))


def test_other_libraries_have_other_compilers() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match="compiler must be None or 'torch' or 'inductor'"):
        jit(lambda x: x, compiler="native")(torch.ones(2))


# Parts


def test_loops_of_numpy_are_checked() -> None:
    assert loop_of(np.exp, "d->d") is not None
    assert loop_of(np.exp, "q->q") is None
    assert loop_of(np.divmod, "dd->dd") is None


def test_a_small_group_is_left_to_the_library() -> None:
    f = lambda x: x * 2.0
    graph = simplified(make_graph(f)(np.ones(3)))
    assert BACKEND.lower(graph) is None
    assert all(map(BACKEND.accepts, graph.equations))
    assert not support_of(graph).reasons


def test_a_large_group_is_left_to_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xpand_extensions.plugins.numpy.jit.native.MOST", 4)
    loop = lambda x: control_flow.fori_loop(0, 3, lambda i, c: of(c).sin(c) * c + c * 0.5, x)
    graph = simplified(make_graph(loop)(np.ones(3)))
    assert len(graph.equations) < 4
    assert BACKEND.lower(graph) is None
    assert_same_bits(native(loop)(np.ones(3)), loop(np.ones(3)))


def test_programs_call_the_library_where_the_order_in_memory_matters() -> None:
    f = lambda x: of(x).sum(x * 2.0 + 1.0)
    x = np.random.default_rng(0).normal(size=(300, 200))
    graph = simplified(make_graph(f)(x))
    program = Program(graph)
    assert_same_bits(program(x.T.copy().T)[0], f(x.T.copy().T))
    assert_same_bits(program(x)[0], f(x))


@pytest.mark.parametrize(
    "rearrange", [lambda x: np.repeat(x, 2, axis=0)[::2], np.asfortranarray], ids=["rows", "columns"]
)
def test_the_function_for_another_memory_order_is_made_once(
    monkeypatch: pytest.MonkeyPatch, rearrange: Callable[[Any], Any]
) -> None:
    f = lambda x: of(x).sin(x) * 2.0 + 1.0
    program, x = native(f), rearrange(np.random.default_rng(0).normal(size=(20, 30)))
    assert_same_bits(program(x), f(x))
    monkeypatch.setattr(Program, "_function", None)  # another one would raise
    assert_same_bits(program(x), f(x))


def test_programs_with_derivatives_do_not_warn() -> None:
    """They do not enter `np.errstate` where no floating-point flag is set; errors are still raised if asked for."""
    f = lambda x: of(x).sum(of(x).sqrt(x) / x)
    slope, x = native(grad(f)), np.asarray([1.0, 4.0, 9.0])
    expected = grad(f)(x)
    assert_same_bits(slope(x), expected)
    x[1] = 0.0
    assert_same_bits(slope(x), grad(f)(x))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        slope(x)
    assert "warn" in np.geterr().values()
    pair = native(lambda x: (grad(f)(x), {"x": x * 2.0}))
    assert_same_bits(pair(x), (grad(f)(x), {"x": x * 2.0}))


def test_functions_of_rows_are_called_before_a_loop() -> None:
    """NumPy's functions of the rows alone take one call for all steps."""

    def f(k: Any, rows: Any, c: Any) -> Any:
        xp = of(c)

        def step(c: Any, rows: Any) -> Any:
            t, pair = rows
            late = xp.exp(xp.sin(k[0] * t)) - xp.cos(k * pair) * xp.cos(k * pair)
            return 0.5 * c + xp.sin(c) * xp.sum(late) + xp.maximum(xp.log(t), -9.0), (late, xp.tanh(t), xp.cos(k) + t)

        return control_flow.scan(step, c, rows)

    k, c, rng = np.asarray([0.3, 1.7]), np.ones(3), np.random.default_rng(0)
    t, pairs = rng.uniform(0.1, 3.0, 40), rng.normal(size=(40, 2))
    for steps in (40, 2, 1):
        rows = t[:steps], pairs[:steps]
        assert_same_bits(native(f)(k, rows, c), f(k, rows, c))
    graph = simplified(make_graph(f)(k, rows, c))
    (loop,) = [each for each in graph.equations if each.op.name == "scan"]
    constants, body = loop.params["constants"], loop.params["body"].graph
    nodes = [Node(x.shape, x.dtype) for x in body.inputs[:constants]]
    assert _ahead(body, nodes, 1, 1) is None
    found = _ahead(body, nodes, 1, 40)
    assert found is not None
    rest, calls = ([each.op.name for each in graph.equations] for graph in found)
    assert {"sin", "cos", "exp", "log", "tanh"} <= set(calls)
    assert rest.count("sin") == 1  # of the carry
    assert not {"exp", "log", "tanh"} & set(rest)
    total = lambda *given: of(c).sum(f(*given)[0])
    assert_same_bits(native(grad(total))(k, (t, pairs), c), jit(grad(total), compiler="numpy")(k, (t, pairs), c))
    t[3] = 0.0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        found = native(f)(k, (t, pairs), c)
    with np.errstate(all="ignore"):
        assert_same_bits(found, f(k, (t, pairs), c))


def test_parts_that_are_set_are_computed_where_they_are_read() -> None:
    """A range of the last axis that is replaced by an expression is no array of its own, however it is read."""

    def f(x: Any, y: Any) -> list[Any]:
        xp = of(x)

        def replaced(value: Any, key: Any) -> Any:
            z = x * 1.0
            z[key] = value
            return z

        z = replaced(y * 2.0 + 1.0, (slice(None), slice(1, 8)))
        w = replaced(y - x[:, 3:10], (Ellipsis, slice(3, None)))
        v = replaced(z[:, 1:8] * w[:, :7], (slice(None), slice(None, 7)))
        return [
            z + w,
            xp.exp(v) + w,
            xp.roll(v, 3, axis=1) - v,
            xp.sum(w * v, axis=1),
            xp.flip(w + 1.0, axis=1),
            w.T + 1.0,
            z[2, :] + v[:, 5][0],
            xp.max(z + v, axis=0),
            xp.sin(replaced(w[:, 2:9] * 0.5, (slice(None), slice(2, 9)))),
        ]

    x, y = samples("float64", 110, 3).reshape(11, 10), samples("float64", 77, 4).reshape(11, 7)
    with np.errstate(all="ignore"):
        assert_same_bits(native(f)(x, y), f(x, y))
