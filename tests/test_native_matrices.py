"""`jit(function, compiler="native")` on NumPy: products of matrices, linear systems and factors, with NumPy's bits."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.test_native import assert_same_bits, native, programs, reasons
from xpand import trees
from xpand_extensions import control_flow, linalg
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.jit.native import _matrices, _products
from xpand_extensions.plugins.numpy.jit.native._program import Program
from xpand_extensions.plugins.numpy.jit.native._ufuncs import fused
from xpand_extensions.vmap import vmap

of = xpand.array_namespace


def check(f: Callable[..., Any], *arrays: Any, left: frozenset[str] = frozenset()) -> None:
    """Compare a program with NumPy's; all of its operations are compiled, but for those `left` to NumPy."""
    assert reasons(f, *arrays).keys() <= left
    assert_same_bits(*(program(*arrays) for program in programs(f)))


def matrices(*shapes: tuple[int, ...], dtype: str = "float64") -> list[Any]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=shape) * 3).astype(dtype) for shape in shapes]


PRODUCTS = [
    ((4, 4), (4, 4)),
    ((3, 5), (5, 2)),
    ((2, 17), (17, 19)),
    ((40, 33), (33, 20)),
    ((4,), (4, 3)),
    ((3, 20), (20,)),
]
PRODUCTS += [
    ((7,), (7,)),
    ((30,), (30,)),
    ((5, 1), (1, 6)),
    ((1, 9), (9, 2)),
    ((2, 3, 4), (4, 5)),
    ((3, 1, 2, 30), (2, 30, 30)),
]


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32"])
def test_products(dtype: str) -> None:
    def f(*given: Any) -> list[Any]:
        xp = of(*given)
        # Sums first, so that the operands are computed, and not only given.
        return [xp.matmul(x + x, y + 1) for x, y in zip(given[::2], given[1::2])]

    check(f, *matrices(*(shape for pair in PRODUCTS for shape in pair), dtype=dtype))


@pytest.mark.parametrize("n", [3, 20, 70])
def test_products_of_transposes(n: int) -> None:
    def f(x: Any, y: Any, v: Any) -> list[Any]:
        xp = of(x)
        xt, z = x.mT, x.mT * 2.0 + y.mT
        found = [xt @ y, y @ xt, xt @ y.mT, xt @ v, v @ xt, z @ y, z @ v, v @ z, x @ (y + xt), x[1:, ...] @ v]
        return [
            *found,
            xp.vecdot(x + 1.0, y),
            xp.vecdot(v, v),
            z,
            xp.tensordot(x, y, axes=((0,), (1,))),
            xp.diff(z @ y),
        ]

    x, y, v = matrices((n, n), (n, n), (n,))
    program, expected = native(f), jit(f, compiler="numpy")
    for a in (x, np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2], x[::-1]):
        for b in (y, np.asfortranarray(y)):
            found, wanted = program(a, b, v), expected(a, b, v)
            assert_same_bits(found, wanted)
            # The order in memory is NumPy's too, on which the values of later operations depend.
            assert [each.flags.f_contiguous for each in found] == [each.flags.f_contiguous for each in wanted]
    # Arguments may share memory.
    assert reasons(f, x, y, v).keys() <= {"matrix_transpose", "tensordot", *(["matmul"] if n > 16 else [])}


@pytest.mark.parametrize("n", [2, 20, 60])
def test_products_of_a_matrix_and_its_transpose(n: int) -> None:
    check(lambda x: (x + 1.0) @ (x + 1.0).mT, *matrices((n, n + 1)), left=frozenset({"matmul", "matrix_transpose"}))
    check(lambda x: x @ x.mT, *matrices((n, n + 1)), left=frozenset({"matmul", "matrix_transpose"}))


def test_small_products_are_in_registers() -> None:
    assert not _products.is_chain("d", 1, 64, 1) or _products.is_chain("d", 4, 4, 4)
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 10_000))
    exact = [float(fraction(a) * fraction(b) + fraction(c)) for a, b, c in zip(x, y, z)]
    assert np.array_equal(fused(x, y, z), exact)


def fraction(x: float) -> Any:
    from fractions import Fraction

    return Fraction(float(x))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("shape", [(2, 2), (5, 5), (3, 4, 4)], ids=str)
def test_systems(dtype: str, shape: tuple[int, ...]) -> None:
    def f(a: Any, b: Any, v: Any) -> list[Any]:
        xp = of(a)
        spd = a @ a.mT + xp.eye(a.shape[-1], dtype=a.dtype)
        lower = xp.linalg.cholesky(spd)
        solve = linalg.triangular_solve
        found = [xp.linalg.inv(a), xp.linalg.det(a), xp.linalg.solve(a, b), lower, xp.linalg.cholesky(spd, upper=True)]
        found += [xp.linalg.solve(a.mT, b + 1.0), xp.tril(a + 1.0, k=-1), xp.triu(a), xp.linalg.diagonal(a) + 1.0]
        found += [*xp.linalg.slogdet(a), *xp.linalg.eigh(spd), xp.linalg.eigvalsh(spd)]
        found += [solve(lower, b), solve(lower, b, transpose=True), solve(spd, b, lower=False, unit_diagonal=True)]
        found += [solve(spd, b.mT, lower=False, transpose=True, left_side=False)]
        return [*found, *([xp.linalg.solve(a, v), solve(lower, v)] if a.ndim == 2 else [])]

    check(
        f, *matrices(shape, (*shape[:-1], 3), shape[-1:], dtype=dtype), left=frozenset({"matrix_transpose", "matmul"})
    )


def test_what_cannot_be_solved_raises() -> None:
    program = native(lambda x: of(x).linalg.inv(x + 1.0) @ x)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        program(np.zeros((2, 2)))
    program = native(lambda x: of(x).linalg.cholesky(x + 1.0) * 2.0)
    with pytest.raises(np.linalg.LinAlgError, match="definite"), np.errstate(invalid="ignore"):
        program(np.asarray([[1.0, 5.0], [5.0, 1.0]]))


def kalman(a: Any, q: Any, r: Any, h: Any, observed: Any) -> Any:
    """Return the negative logarithm of a likelihood by a Kalman filter."""
    xp = of(a)

    def step(carry: Any, y: Any) -> Any:
        m, p = a @ carry[0], a @ carry[1] @ a.mT + q
        s = h @ p @ h.mT + r
        gain = xp.linalg.solve(s, h @ p).mT
        error = y - h @ m
        logs = xp.log(xp.linalg.diagonal(xp.linalg.cholesky(s)))
        return (m + gain @ error, p - gain @ s @ gain.mT), xp.sum(error * xp.linalg.solve(s, error)) + xp.sum(logs)

    return xp.sum(control_flow.scan(step, (xp.zeros(a.shape[0]), xp.eye(a.shape[0])), observed)[1])


@pytest.mark.parametrize("what", ["value", "grad", "vmap"])
@pytest.mark.parametrize("n", [4, 18])
def test_kalman_filters(n: int, what: str) -> None:
    a, h, observed = matrices((n, n), (2, n), (6, 2))
    arrays = a / n, np.eye(n), 0.5 * np.eye(2), h, observed
    function = {
        "value": kalman,
        "grad": grad(kalman, argnums=(0, 1, 2, 3)),
        "vmap": lambda a, q, r, h, y: vmap(kalman, in_axes=(None, None, None, None, 0))(
            a, q, r, h, of(y).stack([y, -y])
        ),
    }[what]
    assert_same_bits(native(function)(*arrays), jit(function, compiler="numpy")(*arrays))
    assert "scan" not in reasons(function, *arrays) or (what, n) == ("vmap", 18)


def test_functions_that_differ_are_left_to_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.asarray([[2.0, 1.0], [1.0, 3.0]])
    monkeypatch.setitem(_matrices._FUNCTIONS, "inv", (_matrices._FUNCTIONS["inv"][0], lambda x: x))
    _matrices._matrix_loop.cache_clear()
    assert reasons(lambda x: of(x).linalg.inv(x + 1.0), x) == {"linalg.inv": "no inner loop of NumPy"}
    monkeypatch.setitem(_matrices._FUNCTIONS, "inv", (None, np.linalg.inv))
    _matrices._matrix_loop.cache_clear()
    assert reasons(lambda x: of(x).linalg.inv(x + 1.0), x) == {"linalg.inv": "no inner loop of NumPy"}
    _matrices._matrix_loop.cache_clear()


# Arguments in other orders


@pytest.fixture
def by_library(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the list of the programs that NumPy runs instead of machine code."""
    found: list[Any] = []
    run = Program.by_library
    monkeypatch.setattr(Program, "by_library", lambda self, *arrays: found.append(self) or run(self, *arrays))
    return found


def softmax(x: Any, y: Any) -> Any:
    xp = of(x)
    e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
    return e / xp.sum(e, axis=1, keepdims=True) * y


IN_COLUMNS: dict[str, Callable[..., Any]] = {
    "elementwise": lambda x, y: of(x).sin(x * 2.0 + y) * y + 1.0,
    "transposes": lambda x, y: (x.mT * 2.0 + 1.0, x.mT + y.mT, of(x).permute_dims(x, (1, 0)) * 0.5),
    "sums": lambda x, y: [of(x).sum(x * y, axis=axis) + 1.0 for axis in (None, 0, 1)],
    "statistics": lambda x, y: [f(x + y, axis=i) * 2.0 for f in (of(x).mean, of(x).var, of(x).max) for i in (0, 1)],
    "softmax": softmax,
    "mixed": lambda x, y: (of(x).sum(x), of(x).sum(y, axis=0) * 2.0, of(x).reshape(x, (-1,)) + 1.0, x[:, 0] * 3.0),
    "booleans": lambda x, y: of(x).where(of(x).any(x > y, axis=1, keepdims=True), x, 0.5) + of(x).all(x > y, axis=0),
    "product": lambda x, y: (x @ y.mT) @ x + 1.0,
    "loop": lambda x, y: control_flow.fori_loop(0, 3, lambda i, c: c * 0.5 + of(x).sum(x, axis=0), y[0, ...] * 1.0),
    "gradient": grad(lambda x, y: of(x).sum(softmax(x, y) ** 2)),
    "complex": lambda x, y: of(x).sum((x + 1j * y) * of(x).exp(1j * x), axis=0) * 2.0,
}


@pytest.mark.parametrize("shape", [(2, 3), (60, 40)], ids=str)
@pytest.mark.parametrize("name", IN_COLUMNS)
def test_arguments_in_the_order_of_columns(name: str, shape: tuple[int, ...], by_library: list[Any]) -> None:
    f, rng = IN_COLUMNS[name], np.random.default_rng(0)
    program, by_numpy = native(f), jit(f, compiler="numpy")
    x, y = rng.normal(size=(2, *shape))
    columns = np.asfortranarray
    for arrays in ((columns(x), columns(y)), (columns(x), y), (x, columns(y)), (x, y)):
        found, expected = program(*arrays), by_numpy(*arrays)
        assert_same_bits(found, expected)
        for a, b in zip(trees.leaves(found), trees.leaves(expected), strict=True):
            assert np.asarray(a).flags.c_contiguous or np.asarray(b).flags.f_contiguous
    assert not by_library


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 1), (1, 2), (0, 2)], ids=str)
def test_sums_of_stacks_in_the_order_of_columns(axis: Any, by_library: list[Any]) -> None:
    def f(x: Any) -> list[Any]:
        y = x * 2.0
        return [of(x).sum(y, axis=axis) + 1.0, of(x).sum(y, axis=axis, keepdims=True) * 3.0]

    x = np.random.default_rng(0).normal(size=(3, 20, 30)).mT
    found, expected = native(f)(x), jit(f, compiler="numpy")(x)
    assert_same_bits(found, expected)
    assert [np.squeeze(each).strides for each in found] == [np.squeeze(each).strides for each in expected]
    assert not by_library


def test_constants_in_the_order_of_columns() -> None:
    rng = np.random.default_rng(0)
    for n in (20, 100):
        c, x = np.asfortranarray(rng.normal(size=(n, n))), rng.normal(size=(n, n))
        f = lambda x, c=c: (x * 1.5) @ c + of(x).sum(c * 2.0, axis=0)
        assert_same_bits(native(f)(x), f(x))
