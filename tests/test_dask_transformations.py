"""Transformations on Dask: programs drawn at random over arrays in random chunks are NumPy's, and compute nothing."""

import random
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest

from tests.libraries import LIBRARIES
from tests.test_derivatives import NAMESPACE, total
from xpand_extensions import control_flow, indexing, linalg, scatter, special, statistics
from xpand_extensions.autodiff import checkpoint, custom_jvp, grad, hessian, jacfwd, jacrev, jvp, linearize, vjp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

da = pytest.importorskip("dask.array")
NUMPY, DASK = (next(library for library in LIBRARIES if library.id == name) for name in ("numpy", "dask"))
SIZE = 4

Make = Callable[[Any], Any]
"""Makes an array of a library out of values."""

Step = Callable[[random.Random, Make, Any, Any], Any]
"""Takes what draws numbers, a maker of arrays, the vector carried on and one closed over; returns the next vector."""


def partition(draw: random.Random, size: int) -> tuple[int, ...]:
    found: list[int] = []
    while sum(found) < size:
        found.append(draw.randint(1, size - sum(found)))
    return tuple(found) or (0,)


def in_chunks(draw: random.Random) -> Make:
    """Make arrays of Dask whose chunks are drawn."""

    def make(values: Any) -> Any:
        values = np.asarray(values)
        return da.from_array(values, chunks=tuple(partition(draw, size) for size in values.shape))

    return make


def values(draw: random.Random, *shape: int) -> np.ndarray:
    return np.random.default_rng(draw.randrange(2**30)).uniform(-1.0, 1.0, shape)


def matrix(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    xp = NAMESPACE(x, w)
    return make(values(draw, SIZE, SIZE)) * x[:, None] + xp.sin(x[:, None] + 2.0 * w[None, :])


def regular(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    return 0.3 * matrix(draw, make, x, w) + make(np.diag(np.arange(2.0, SIZE + 2)))


def elementwise(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    xp = NAMESPACE(x, w)
    choices: list[Callable[[], Any]] = [
        lambda: xp.exp(x) * w,
        lambda: xp.where(x > 0.3 * w, x * w, xp.cos(x)),
        lambda: xp.maximum(x, 0.01 + w) / (2.0 + xp.sin(w)),
        lambda: special.erf(x) + special.softmax(w * x),
        lambda: xp.real(xp.fft.ifft(xp.fft.fft(xp.astype(x, xp.complex128)) * (0.3 + 0.5j))) * w,
    ]
    return draw.choice(choices)()


def reduced(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    a = matrix(draw, make, x, w)
    xp = NAMESPACE(a)
    axis = draw.randrange(2)
    functions = [
        xp.max, xp.prod, xp.std, special.logsumexp, statistics.median, xp.cumulative_prod, xp.linalg.vector_norm,
    ]  # fmt: skip
    found = draw.choice(functions)(a, axis=axis)
    return found if found.ndim == 1 else xp.sum(found, axis=axis)


def product(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    a, kind = matrix(draw, make, x, w), draw.randrange(3)
    return (a @ x, linalg.einsum("ij,kj,k->i", a, a, x), linalg.diagonal(NAMESPACE(a).tril(a) @ a))[kind]


def solution(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    a, kind = regular(draw, make, x, w), draw.randrange(5)
    xp = NAMESPACE(a)
    if kind == 0:
        return xp.linalg.cholesky(linalg.einsum("ij,kj->ik", a, a)) @ x
    if kind == 1:
        q, r = xp.linalg.qr(a)
        return q @ (r * r @ x)
    if kind == 2:
        u, s, v = xp.linalg.svd(a, full_matrices=False)
        return u @ (xp.sin(s) * (v @ x))
    return xp.linalg.solve(a, x) if kind == 3 else linalg.triangular_solve(a, x)


def selected(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    xp = NAMESPACE(x, w)
    index = make(np.random.default_rng(draw.randrange(2**30)).integers(0, SIZE, SIZE))
    a = matrix(draw, make, x, w)
    choices: list[Callable[[], Any]] = [
        lambda: indexing.take(a, index, axis=1)[draw.randrange(SIZE), :],
        lambda: xp.concat([a[:2:2, 0] * w[3:], a[1:-1, -1], x[::-4]]),
        lambda: xp.sort(x) * xp.roll(w, 1),
        lambda: indexing.dynamic_slice(xp.concat([x, w]), [xp.sum(index) % SIZE], [SIZE]),
        lambda: xp.reshape(xp.stack([x, w], axis=1), (2 * SIZE,))[1 : 2 * SIZE : 2] * x,
    ]
    return draw.choice(choices)()


def scattered(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    index = make(np.random.default_rng(draw.randrange(2**30)).integers(0, SIZE, SIZE))
    kind = draw.randrange(3)
    if kind == 0:
        return scatter.segment_sum(x * w, index, num_segments=SIZE)
    return scatter.at(x)[index].add(w) if kind == 1 else scatter.at(x)[index].set(x * w)


def chosen(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    xp, seed = NAMESPACE(x, w), draw.randrange(2**30)
    inner = lambda y: steps(seed, make, y, w, 1)
    kind = draw.randrange(3)
    if kind == 0:
        return control_flow.cond(xp.sum(x) > 0.1, inner, xp.sin, x)
    if kind == 1:  # of a condition that nothing traces
        undefined = lambda: NAMESPACE(x, w).sqrt(-1.0 - w * w) / (0.0 * x)
        return control_flow.cond(make(draw.random() < 2.0), lambda: inner(x) * w, undefined)
    return control_flow.switch(make(draw.randrange(-1, 4)), [inner, lambda y: y * w, xp.cos], x)


def looped(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    seed, kind = draw.randrange(2**30), draw.randrange(4)
    inner = lambda y: steps(seed, make, y, w, 1)
    if kind == 0:
        return control_flow.fori_loop(0, 2, lambda i, y: 0.5 * inner(y) + w, x)
    if kind == 1:
        last, rows = control_flow.scan(lambda carry, row: (carry * row + w, row * w), x, x)
        return last + rows[1, :]
    if kind == 2:
        return control_flow.while_loop(lambda y: total(y * y) > 0.2, lambda y: 0.4 * inner(y), x, max_iter=3)
    start = make(0), make(np.ones(SIZE))
    return control_flow.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * x), start, max_iter=4)[1]


def ruled(draw: random.Random, make: Make, x: Any, w: Any) -> Any:
    if draw.random() < 0.3:
        return checkpoint(lambda y: NAMESPACE(y, w).sin(y * w))(x)
    by_tangent = custom_jvp(lambda y: NAMESPACE(y).sin(y))
    by_tangent.defjvp(lambda primals, tangents: (by_tangent(*primals), 2.0 * tangents[0] * w))
    return by_tangent(x)


STEPS: list[Step] = [elementwise, reduced, product, solution, selected, scattered, chosen, looped, ruled]


def steps(seed: int, make: Make, x: Any, w: Any, count: int) -> Any:
    draw = random.Random(seed)
    for _ in range(count):
        x = draw.choice(STEPS)(draw, make, x, w)
        x = NAMESPACE(x).tanh(0.7 * x) + 0.1 * x  # so that nothing overflows
    return x


TRANSFORMS: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
    "grad": lambda f, w: grad(lambda x: total(f(x) * w)),
    "vjp": lambda f, w: lambda x: vjp(f, x)[1](w)[0],
    "jvp": lambda f, w: lambda x: jvp(f, (x,), (w,))[1],
    "linearize": lambda f, w: lambda x: linearize(f, x)[1](x * w),
    "jacfwd": lambda f, w: lambda x: jacfwd(f)(x) @ w,
    "jacrev": lambda f, w: lambda x: w @ jacrev(f)(x),
    "hessian": lambda f, w: lambda x: hessian(lambda x: total(f(x) * w))(x) @ w,
    "vmap": lambda f, w: lambda x: vmap(f, in_axes=1)(NAMESPACE(x).stack([x, x * w], axis=1))[1, :],
    "vmap of a closure": lambda f, w: lambda x: vmap(lambda y: f(x * y), 0, 1)(w)[:, 2],
    "jit": lambda f, w: jit(f),
}


def program(seed: int, make: Make) -> Any:
    """Run the program of a number."""
    draw = random.Random(seed)
    x, w, along = (make(values(draw, SIZE)) for _ in range(3))
    inner, count = draw.randrange(2**30), draw.randint(1, 2)
    f = lambda x: steps(inner, make, x, w, count)
    for name in draw.sample(sorted(TRANSFORMS), draw.choice([1, 2, 2])):
        f = TRANSFORMS[name](f, along)
    return f(x)


def refused(*args: Any, **kwargs: Any) -> None:
    raise AssertionError("computed while it was being built")


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("seed", [seed for seed in range(25) if seed != 14])  # which takes as long as all others
def test_programs(seed: int) -> None:
    with dask.config.set(scheduler=refused):
        found = program(seed, in_chunks(random.Random(seed)))
    expected = np.asarray(program(seed, NUMPY.asarray))
    assert np.all(np.isfinite(expected))
    DASK.assert_equal(found, expected, rtol=1e-9, atol=1e-9 * max(1.0, np.max(np.abs(expected))))


# Bugs found by such programs


@pytest.mark.parametrize("chunks", [(3,), (1, 2), (2, 1), (1, 1, 1)], ids=str)
def test_slices_pass_over_the_last_chunk(chunks: tuple[int, ...]) -> None:
    """Of `x[:2:2]` Dask keeps a chunk of none, and takes its one element for two."""
    x = np.asarray([0.5, 2.0, 3.0])
    for function in (
        lambda x: x[:2:2] * x[1:2],
        lambda x: NAMESPACE(x).cumulative_prod(x) ** 2,
        lambda x: control_flow.associative_scan(lambda a, b: a * b + b, x),
        lambda x: NAMESPACE(x).stack([x, x])[1, ..., :2:2] * x[2:, None],
    ):
        of_sum = lambda x: total(function(x))  # noqa: B023
        lanes = np.stack([x, 2.0 * x])
        for transformed, given in (
            (grad(of_sum), x),
            (jit(function), x),
            (jacfwd(function), x),
            (vmap(grad(of_sum)), lanes),
        ):
            lazy = da.from_array(given, chunks=(*[2] * (given.ndim - 1), chunks))
            DASK.assert_equal(transformed(lazy), transformed(given), rtol=1e-13)


def test_slices_as_numpy_has_them() -> None:
    draw = random.Random(3)
    x = np.arange(30.0).reshape(5, 6)
    for _ in range(40):
        chunks = tuple(partition(draw, size) for size in x.shape)
        key = tuple(slice(draw.randint(-n, n), draw.randint(-n, n), draw.randint(1, 4)) for n in x.shape)
        for place in (key, (..., key[1]), (None, key[0]), (2, key[1]), (slice(None), None, key[1])):
            found = vmap(lambda y: 2.0 * y[place])(da.from_array(x[None], chunks=(1, *chunks)))  # noqa: B023
            DASK.assert_equal(found, 2.0 * x[place][None])
            assert all(size or not found.size for sizes in found.chunks for size in sizes)


def test_assignments_are_numpys() -> None:
    draw = random.Random(4)
    x = np.arange(30.0).reshape(5, 6) / 7.0

    def product(x: Any, key: Any, value: Any) -> Any:
        y = NAMESPACE(x).asarray(x, copy=True)
        y[key] = value(x)
        return total(x * y)

    def drawn(size: int) -> slice:
        ends = [None, *range(-size, size)]
        return slice(draw.choice(ends), draw.choice(ends), draw.choice([None, 1, 2, 3, -1, -2]))

    for _ in range(30):
        first, last = (drawn(size) for size in x.shape)
        key = draw.choice([(first, last), (..., last), (draw.randint(-5, 4), last), (first, 1), (None, first), (2, -1)])
        shape = (*(1,) * bool(x[key].ndim), *x[key].shape)
        lazy = da.from_array(x, chunks=tuple(partition(draw, size) for size in x.shape))
        for value in (total, lambda x: NAMESPACE(x).ones(shape, dtype=x.dtype) * x[2, 3]):  # noqa: B023
            derivative = grad(lambda x: product(x, key, value))  # noqa: B023
            DASK.assert_equal(derivative(lazy), derivative(x), rtol=1e-13, atol=1e-13)


def test_assignments_do_not_write_the_graph_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which takes the square of the assignments, as many as a gradient has of what slices select."""
    monkeypatch.setattr(da.Array, "__setitem__", lambda *args: pytest.fail("assigned by Dask"))
    x = np.arange(6.0)
    derivative = grad(lambda x: total(x[1:4] * x[::-2] * x[-3:]))
    DASK.assert_equal(derivative(DASK.asarray(x)), derivative(x))


@pytest.mark.parametrize("chunks", [(4,), (2, 2), (1, 3), (3, 1), (1, 1, 2)], ids=str)
def test_cholesky_of_chunks_of_several_sizes(chunks: tuple[int, ...]) -> None:
    a = values(random.Random(5), 4, 4)
    a = a @ a.T + 4.0 * np.eye(4)
    for upper in (False, True):
        factor = lambda a: NAMESPACE(a).linalg.cholesky(a, upper=upper)  # noqa: B023
        lazy = da.from_array(a, chunks=(chunks, chunks))
        DASK.assert_equal(factor(lazy), factor(a), rtol=1e-13, atol=1e-13)
        gradient = grad(lambda a: total(factor(a) ** 3))  # noqa: B023
        DASK.assert_equal(gradient(lazy), gradient(a), rtol=1e-12, atol=1e-13)


def test_numbers_of_numpy_beside_arrays_in_maps_that_are_differentiated() -> None:
    x = np.asarray([1.0, 2.0, 3.0])
    for number in (np.float64(2.0), np.complex128(2.0j)):
        f = lambda x: NAMESPACE(x).abs(x * number + 1.0)  # noqa: B023
        derivative = grad(lambda x: total(vmap(f)(x)))  # noqa: B023
        DASK.assert_equal(derivative(DASK.asarray(x)), derivative(x), rtol=1e-14)


def test_masks_of_unknown_size_are_refused_in_reverse_mode() -> None:
    x = DASK.asarray([1.0, -2.0, 3.0])
    positive = lambda x: total(x[x > 0.0] ** 2)
    with pytest.raises(TypeError, match=r"x\[mask\]: the size of the result .* reverse mode of lazy arrays; use"):
        grad(positive)(x)
    DASK.assert_equal(jvp(positive, (x,), (x,))[1], np.asarray(20.0))


def test_masks_of_unknown_size_are_refused_in_maps() -> None:
    x, mask = DASK.asarray([[1.0, 2.0], [3.0, 4.0]]), DASK.asarray([True, False])
    with pytest.raises(TypeError, match=r"x\[mask\]: the size of the result depends on the values of the mask"):
        vmap(lambda row: total(row[mask]))(x)
