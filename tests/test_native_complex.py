"""`jit(function, compiler="native")` of complex numbers: the values are those of eager NumPy, bit by bit."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import xpand
from tests.test_native import applied, assert_same_bits, elementwise, misaligned, native, programs, reasons, samples
from xpand_extensions import control_flow, linalg, scatter
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

of = xpand.array_namespace
DTYPES = ("complex128", "complex64")


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    """Return complex numbers, with special ones as parts."""
    found = np.empty(shape, dtype)
    for part, number in ((found.real, seed), (found.imag, seed + 100)):
        part[...] = samples(part.dtype.name, part.size, number).reshape(shape)
    return found


def ordinary(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype)


def check(f: Callable[..., Any], *arrays: Any, left: frozenset[str] = frozenset()) -> None:
    """Compare a program with NumPy's; all of its operations are compiled, but for those `left` to NumPy."""
    assert reasons(f, *arrays).keys() <= left
    with np.errstate(all="ignore"):
        assert_same_bits(*(program(*arrays) for program in programs(f)))


@pytest.mark.parametrize("size", [3, 100], ids=["in registers", "in memory"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_elementwise_operations(dtype: str, size: int) -> None:
    names = elementwise(dtype)
    f = lambda x, y: [applied(name, *(x, y)[:count]) for name, count in names]
    x, y = numbers(dtype, (2 * size,), 0), numbers(dtype, (2 * size,), 1)
    program = native(f)
    with np.errstate(all="ignore"):
        for given in ((x[:size], y[:size]), (x[::2], y[::2]), (x[:size][::-1], y[:size]), (x[0], y[1])):
            assert_same_bits(program(*given), f(*map(np.asarray, given)))
    # NumPy makes views of the parts; xpand corrects values of the three functions.
    assert reasons(f, x, y).keys() == {"real", "imag", "tanh", "expm1", "log1p"}
    assert len(names) > 35


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_in_memory(dtype: str) -> None:
    """NumPy multiplies numbers with negative strides in another way."""
    f = lambda x, y: [
        of(x).flip(x)[1:] * y[1:],
        of(x).abs(of(x).flip(x)),
        x[::-2] * 1j + y[::2],
        x[1::3] * y[1::3],
        of(x).square(x[::-1]),
    ]
    x, y = ordinary(dtype, (40,), 0), ordinary(dtype, (40,), 1)
    program = native(f)
    for given in ((x, y), (x[::-1], y), (x[::-1], y[::-1]), (misaligned(x), y)):
        assert_same_bits(program(*given), f(*given))


@pytest.mark.parametrize("size", [3, 50], ids=["in registers", "in memory"])
def test_casts_choices_and_parts(size: int) -> None:
    def f(z: Any, w: Any, x: Any, i: Any, k: Any) -> list[Any]:
        xp = of(z)
        casts = [xp.astype(each, dtype) for each in (z, w, x, i, k) for dtype in (xp.complex128, xp.complex64)]
        mixed = [z * x, x + 1j * x, i * 2j, 1j - z, z / 2, 2.5 / z, z * w, x * w, w + i, z**2, z**x, k * z, z == x]
        parts = [xp.real(z) * xp.imag(w) + x, xp.conj(z) * z, xp.real(z * w) + 1.0, -xp.imag(w) - x]
        chosen = [xp.where(k, z, w), xp.where(xp.real(z) > 0, z, 0.5), xp.where(z == w, x, z)]
        return [*casts, *mixed, *parts, *chosen, xp.astype(z, xp.bool) & k, xp.logical_or(z, w)]

    arrays = numbers("complex128", (size,), 2), numbers("complex64", (size,), 3), samples("float64", size, 4)
    check(f, *arrays, samples("int64", size, 5), samples("bool", size, 6))


@pytest.mark.parametrize("shape", [(7,), (300,), (20, 33), (3, 1, 50)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(dtype: str, shape: tuple[int, ...]) -> None:
    axes: list[Any] = [None, 0, -1, (0, len(shape) - 1)] if len(shape) > 1 else [None, 0]

    def f(x: Any) -> list[Any]:
        xp = of(x)
        y = x + 0.0
        found = [xp.sum(each, axis=axis) for axis in axes for each in (y, xp.real(y))]
        found += [reduce(y, axis=axes[-1]) for reduce in (xp.prod, xp.mean, xp.any, xp.all, xp.var)]
        found += [xp.std(y, axis=axis, keepdims=True) for axis in axes[:2]]
        found += [xp.linalg.vector_norm(y, axis=axis) for axis in (None, -1)]
        found += [xp.linalg.vector_norm(y, ord=ord) for ord in (1, np.inf)]
        return [*found, xp.cumulative_sum(y, axis=-1), xp.mean(xp.real(y), axis=0)]

    program = native(f)
    for x in (ordinary(dtype, shape, 7) * 100, numbers(dtype, shape, 8)):
        assert not reasons(f, x)
        with np.errstate(all="ignore"):
            assert_same_bits(program(x), f(x))


@pytest.mark.parametrize("shape", [(2, 3), (6, 20)], ids=str)
def test_rearrangements_and_parts_of_arrays(shape: tuple[int, ...]) -> None:
    def f(z: Any, w: Any, i: Any) -> list[Any]:
        xp = of(z)
        y = z * 1j + w
        y[0, ...] = 2j
        y[:, 1:] = xp.real(w)[:, :-1]
        changed = y + 0.0
        changed[i, ...] = z[i - 1, ...] * 2.0
        ids = xp.asarray([1, 0, 1, -1, 0, 1][: shape[0]])
        return [
            xp.roll(y, 1, axis=0) + xp.flip(z, axis=1),
            xp.concat([y, z], axis=0) * 1j,
            xp.stack([y, w], axis=-1) - 1.0,
            xp.reshape(y, (-1,)) + 0.5,
            (y.mT * 2.0).mT + z,
            changed,
            xp.take(z, ids, axis=0) * y[ids, ...],
            scatter.at(y)[ids].set(w),
            scatter.at(y[:, 0])[ids].add(w[:, 1]),
            scatter.segment_sum(w[:, 0] * 2.0, ids % 2, num_segments=2),
            xp.tril(y @ xp.reshape(w, (w.shape[1], w.shape[0]))),
            xp.linalg.outer(y[0, :], w[:, 0]),
            xp.diff(y, axis=0),
        ]

    check(
        f,
        ordinary("complex128", shape, 9),
        ordinary("complex128", shape, 10),
        np.asarray(1),
        left=frozenset({"reshape"}),
    )


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices(dtype: str, n: int) -> None:
    def f(a: Any, b: Any) -> list[Any]:
        xp = of(a)
        c = a * 1j + b
        positive = c @ xp.conj(c).mT + n * xp.eye(n, dtype=a.dtype)
        found = [c @ b, c @ b[0, ...], xp.vecdot(c, b), c.mT @ (b + 1.0), xp.tensordot(c, b, axes=2)]
        found += [xp.linalg.solve(c, b), xp.linalg.solve(c, b[:, 0]), xp.linalg.inv(c), xp.linalg.det(c)]
        found += [*xp.linalg.slogdet(c), xp.linalg.cholesky(positive), *xp.linalg.eigh(positive)]
        found += [xp.linalg.eigvalsh(positive), linalg.triangular_solve(c, b, lower=True)]
        return [each * 0.5 for each in found]

    check(f, ordinary(dtype, (n, n), 11), ordinary(dtype, (n, n), 12))


# Loops and derivatives


def population(rates: Any, psi: Any) -> Any:
    """Return the mean population of the second of two states, driven by a field, by the method of Runge and Kutta."""
    xp = of(psi)

    def slope(psi: Any, t: Any) -> Any:
        drive = rates[1] * xp.cos(rates[2] * t)
        return -1j * xp.stack([rates[0] * psi[0] + drive * psi[1], drive * psi[0] - rates[0] * psi[1]])

    def step(psi: Any, t: Any) -> Any:
        h = 0.05
        first = slope(psi, t)
        second = slope(psi + 0.5 * h * first, t + 0.5 * h)
        third = slope(psi + 0.5 * h * second, t + 0.5 * h)
        psi = psi + (h / 6) * (first + 2 * second + 2 * third + slope(psi + h * third, t + h))
        return psi, xp.abs(psi[1, ...]) ** 2

    return xp.mean(control_flow.scan(step, psi, xp.arange(40) * 0.05)[1])


def of_loss(psi: Any, phase: Any) -> Any:
    """Return a real number of complex arrays, by loops of all kinds."""
    xp = of(psi)
    turn = xp.exp(1j * phase)
    found, _ = control_flow.scan(lambda c, row: (c * turn + row, c), psi, xp.stack([psi, psi * 1j, psi / 3.0]))
    found = control_flow.fori_loop(0, 4, lambda i, c: c * turn / (1.0 + xp.abs(c)) + i, found)
    keep = lambda c: (xp.sum(xp.abs(c[0])) > 0.1) & (c[1] < 9)
    found = control_flow.while_loop(keep, lambda c: (c[0] * (0.5 + 0.1j), c[1] + 1), (found, 0), max_iter=10)[0]
    found = control_flow.cond(xp.real(found[0]) > 0, lambda c: c * 2j, lambda c: xp.conj(c), found)
    return xp.sum(xp.real(found * xp.conj(psi))) + xp.sum(xp.imag(found))


@pytest.mark.parametrize("size", [2, 30], ids=["in registers", "in memory"])
@pytest.mark.parametrize("what", ["value", "grad", "jvp", "vmap", "vmap of grad"])
def test_loops_and_their_derivatives(what: str, size: int) -> None:
    z, w = ordinary("complex128", (size,), 13), ordinary("complex128", (size,), 14)
    phase = np.linspace(0.0, 1.0, size)
    function = {
        "value": of_loss,
        "grad": grad(of_loss, argnums=(0, 1)),
        "jvp": lambda z, phase: jvp(of_loss, (z, phase), (z * 1j, phase))[1],
        "vmap": lambda z, phase: vmap(of_loss, in_axes=(0, None))(of(z).stack([z, w]), phase),
        "vmap of grad": lambda z, phase: vmap(grad(of_loss), in_axes=(0, None))(of(z).stack([z, w]), phase),
    }[what]
    assert_same_bits(native(function)(z, phase), jit(function, compiler="numpy")(z, phase))
    assert what == "vmap of grad" or not reasons(function, z, phase).keys() & {"scan", "while_loop", "cond"}


@pytest.mark.parametrize("derive", [lambda f: f, partial(grad, argnums=(0, 1))], ids=["value", "grad"])
def test_an_equation_of_motion_is_compiled_whole(derive: Callable[..., Any]) -> None:
    rates, psi = np.asarray([0.5, 0.3, 1.1]), np.asarray([1.0 + 0j, 0j])
    function = derive(population)
    assert "scan" not in reasons(function, rates, psi)
    assert_same_bits(native(function)(rates, psi), jit(function, compiler="numpy")(rates, psi))


def test_warnings_are_those_of_numpy() -> None:
    f = lambda z: z / (z - 1.0) + of(z).log(z)
    z = np.asarray([1.0 + 0j, 0j, 2j])
    with np.errstate(invalid="ignore"):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            expected = f(z)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            found = native(f)(z)
    assert_same_bits(found, expected)


# Random programs


def random_program(choose: random.Random, x: Any, y: Any, depth: int) -> Any:
    """Combine two complex arrays of shape (n, m) by random operations to a third."""
    xp, arrays = of(x), [x, y]
    for _ in range(choose.randint(3, 6)):
        a, b = choose.choice(arrays), choose.choice(arrays)
        kind = choose.randrange(22 if depth else 20)
        if kind == 0:
            found = getattr(xp, choose.choice(["add", "subtract", "multiply", "divide"]))(a, b)
        elif kind == 1:
            found = getattr(xp, choose.choice(["sin", "exp", "sqrt", "log", "tanh", "square", "sign"]))(a)
        elif kind == 2:
            found = xp.where(xp.real(a) > xp.imag(b), a, choose.choice([b, 0.5, 2j]))
        elif kind == 3:
            found = xp.roll(a, choose.randint(-2, 2), axis=choose.choice([0, 1, -1]))
        elif kind == 4:
            found = xp.flip(a, axis=choose.choice([0, 1, None])) * choose.choice([b, 1j])
        elif kind == 5:
            found = xp.broadcast_to(xp.sum(a, axis=choose.choice([0, 1]), keepdims=True), a.shape) * 0.1 + b
        elif kind == 6:
            found = xp.concat([a[1:, ...], b[:1, ...]], axis=0)
        elif kind == 7:
            found = xp.stack([a[:, 0], *[b[:, i] for i in range(1, b.shape[1])]], axis=1)
        elif kind == 8:
            found = a + 0.0
            found[choose.choice([0, -1]), ...] = choose.choice([b[0, ...], xp.real(b)[0, ...]])
            found[:, ::2] = a[:, ::2] * 0.5j
        elif kind == 9:
            found = xp.conj(a) * choose.choice([xp.real(b), xp.imag(b), b]) + 1j * xp.imag(a)
        elif kind == 10:
            statistic = choose.choice([xp.mean, xp.var, xp.std])
            found = a - statistic(b, axis=choose.choice([0, 1, None]), keepdims=True)
        elif kind == 11:
            found = xp.abs(choose.choice([a, a[:, ::-1]])) * b
        elif kind == 12:
            rows = xp.argmax(xp.real(a), axis=1) % a.shape[0]
            found = xp.take(a, rows, axis=0) + b[rows, rows % b.shape[1]][:, None]
        elif kind == 13:
            indices = xp.asarray([choose.randrange(a.shape[0]) for _ in range(a.shape[0])])
            found = scatter.at(a)[indices].add(b) if choose.random() < 0.5 else b + 0.0
            found[indices, ...] = a
        elif kind == 14:
            found = xp.astype(xp.astype(a, xp.complex64) * (0.5 - 0.1j), xp.complex128) + b
        elif kind == 15:
            found = (a @ xp.conj(b).mT) @ choose.choice([a, b + 1.0]) * 0.1
        elif kind == 16:
            found = (a @ b[0, :])[:, None] + (b[:, 0] @ a) * 0.5j
        elif kind == 17:
            turned = a.mT * 0.5j + choose.choice([b.mT, 1.0])
            found = (turned + 0.0).mT + (b @ turned[:, 0])[:, None]
        elif kind == 18:
            found = xp.cumulative_sum(a, axis=choose.choice([0, 1])) * 0.1 + xp.vecdot(a, b)[:, None]
        elif kind == 19:
            ids = xp.asarray([choose.randrange(a.shape[0]) for _ in range(a.shape[0])])
            found = scatter.segment_sum(a, ids, num_segments=a.shape[0]) + xp.sum(xp.real(b), axis=0)
        elif kind == 20:
            inner = partial(random_program, random.Random(choose.random()), y=b, depth=depth - 1)
            step = lambda c, row, inner=inner: (inner(x=c) * 0.5, c + row)
            last, rows = control_flow.scan(step, a, xp.stack([a, b, a]))
            found = last + rows[1, ...]
        else:
            inner = partial(random_program, random.Random(choose.random()), y=b, depth=depth - 1)
            found = control_flow.cond(
                xp.real(a[0, 0]) > xp.imag(b[0, 0]), lambda c, inner=inner: inner(x=c), lambda c: c * 2j, a
            )
        arrays.append(found)
    return arrays[-1] * 0.5 + arrays[-2]


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    choose = random.Random(seed)
    shape = choose.choice([(2, 3), (3, 4), (6, 7), (5, 40)])
    of_program, depth = choose.random(), choose.choice([0, 0, 1, 1])
    f = lambda x, y: random_program(random.Random(of_program), x, y, depth)
    functions = {
        "value": f,
        "grad": grad(lambda x, y: of(x).sum(of(x).real(f(x, y)))),
        "jvp": lambda x, y: jvp(f, (x, y), (y, x))[1],
        "vmap": lambda x, y: vmap(f)(of(x).stack([x, y]), of(x).stack([y, x])),
    }
    function = functions[choose.choice(sorted(functions))]
    x, y = ordinary("complex128", shape, seed), ordinary("complex128", shape, seed + 1)
    program, by_library = native(function), jit(function, compiler="numpy")
    if choose.random() < 0.5:
        x[0, 1], y[1, 1] = (
            choose.choice([-0.0, np.inf, complex(0.0, np.nan), 1e-310]),
            choose.choice([0.0, 1j * np.inf]),
        )
    given = [(x, y), (np.asfortranarray(x), y), (np.repeat(x, 2, axis=1)[:, ::2], y[:, ::-1]), (misaligned(x), y)]
    with np.errstate(all="ignore"):
        for arrays in given:
            assert_same_bits(program(*arrays), by_library(*arrays))
