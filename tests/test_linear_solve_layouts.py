"""How solvers arrange matrices for many products: plans, diagonals, formats, and batch elements one by one."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import xpand
from tests.libraries import EAGER_LIBRARIES, Library
from tests.sparse_problems import FORMATS, made, matrices
from xpand import trees
from xpand_extensions import linear_solve, sparse
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve._operators import ready
from xpand_extensions.plugins.jax.linear_solve import _krylov as columns
from xpand_extensions.plugins.jax.sparse._layouts import Diagonals, Rows, arranged
from xpand_extensions.plugins.numpy.linear_solve import _krylov as on_numpy
from xpand_extensions.plugins.numpy.sparse import _diagonals as numpy_diagonals

solve = partial(linear_solve.solve, throw=False)  # what is tested is the status

JAX = next(each for each in EAGER_LIBRARIES if each.id == "jax")
TORCH = next(each for each in EAGER_LIBRARIES if each.id == "torch")
NUMPY = next(each for each in EAGER_LIBRARIES if each.id == "numpy")


def container(library: Library, a: np.ndarray, format: str = "csr") -> Any:
    found = scipy.sparse.csr_array(a)
    parts = [library.asarray(x) for x in (found.data, found.indices, found.indptr)]
    return sparse.convert(sparse.CSR(*parts, found.shape), format)


def banded(m: int, n: int, offsets: list[int]) -> np.ndarray:
    rng = np.random.default_rng(3)
    return sum(np.diag(rng.uniform(1.0, 2.0, size=max(m, n)), k)[:m, :n] for k in offsets)


def line(n: int) -> np.ndarray:
    return 2.5 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


@pytest.mark.parametrize(("shape", "batch"), [((5, 5), ()), ((4, 7), (2,)), ((7, 4), ()), ((1, 3), ())], ids=str)
def test_products_by_diagonals(shape: tuple[int, int], batch: tuple[int, ...]) -> None:
    m, n = shape
    a = banded(m, n, [-2, 0, 1])
    csr = container(JAX, a)
    weights = np.linspace(1.0, 2.0, 2)[:, None] if batch else np.ones(())
    csr = container(JAX, a).with_values(JAX.asarray(weights * JAX.to_numpy(csr.values)))
    assert isinstance(arranged(csr.prepared()), Diagonals)
    check_products(csr.prepared(), weights[..., None] * a)


def check_products(prepared: Any, dense: np.ndarray) -> None:
    *_, m, n = dense.shape
    given = []
    for size in (n, m):
        x = np.linspace(-1.0, 2.0, size).astype(dense.dtype)
        given.append([x, x[:, None], np.stack([x, x**2], axis=-1)])

    @jax.jit
    def products(a: Any, xs: Any, ys: Any) -> Any:
        layout = arranged(a)
        return [layout @ x for x in xs], [layout.mT @ y for y in ys]

    layout = arranged(prepared)
    for found, whole, xs in zip(products(prepared, *given), (dense, np.swapaxes(dense, -1, -2)), given):
        for one, x in zip(found, xs):
            JAX.assert_equal(one, whole @ x, rtol=1e-13, atol=1e-13)
    assert layout.ndim == layout.mT.ndim == dense.ndim


@settings(max_examples=5, deadline=None)
@given(matrices((3, 4), ["complex128"]))
def test_diagonals_of_any_matrix(problem: Any) -> None:
    a, dense = made(JAX, problem)
    ready_one = ready(a)
    found = arranged(ready_one)
    assert isinstance(found, Diagonals | Rows) == bool(ready_one.plan.slots.shape[0])
    check_products(ready_one, dense)


@pytest.mark.parametrize("together", [True, False], ids=["all entries", "entry by entry"])
def test_products_by_places_in_rows(monkeypatch: pytest.MonkeyPatch, together: bool) -> None:
    monkeypatch.setattr(f"{Rows.__module__}.FEW_ROWS", 40 if together else 39)
    rng = np.random.default_rng(5)
    dense = np.zeros((40, 30))
    for row in dense:
        row[rng.permutation(30)[:3]] = rng.normal(size=3)
    one = container(JAX, dense).prepared()
    found = arranged(one)
    assert isinstance(found, Rows)
    assert found.values.shape == ((40, 3) if together else (3, 40))
    check_products(one, dense)
    batch = one.with_values(JAX.asarray(np.stack([JAX.to_numpy(one.values), 2.0 * JAX.to_numpy(one.values)])))
    check_products(batch, np.stack([dense, 2.0 * dense]))


def test_padding_and_duplicates_by_diagonals() -> None:
    parts = [np.asarray([1.0, 2.0, 4.0, 8.0, 99.0]), np.asarray([0, 0, 1, 2, 0]), np.asarray([0, 2, 3, 4])]
    a = sparse.CSR(*map(JAX.asarray, parts), (3, 3))
    found = arranged(a.prepared())
    assert isinstance(found, Diagonals)
    assert found.offsets == (0,)
    JAX.assert_equal(found @ JAX.asarray(np.ones(3)), np.asarray([3.0, 4.0, 8.0]))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4), (1, 3)], ids=str)
def test_products_by_diagonals_on_numpy(shape: tuple[int, int], dtype: str) -> None:
    dense = banded(*shape, [-2, 0, 1]).astype(dtype)
    a = container(NUMPY, dense)
    places = numpy_diagonals.positions_of(a.indices, a.indptr, shape, 4.0)
    assert places is not None
    x, out = np.linspace(-1.0, 2.0, shape[1], dtype=dtype), np.ones(shape[0], dtype=dtype)
    numpy_diagonals.by_diagonals(a.values, places).add_product(x, out)
    np.testing.assert_allclose(out, 1 + dense @ x, rtol=1e-14 if dtype == "float64" else 1e-6)


def test_padding_duplicates_and_no_diagonals_on_numpy() -> None:
    values, indices, indptr = np.asarray([1.0, 2.0, 4.0, 8.0, 99.0]), np.asarray([0, 0, 1, 2, 0]), np.arange(4) + 1
    indptr[0] = 0
    places = numpy_diagonals.positions_of(indices, indptr, (3, 3), 1.5)
    assert places is not None
    assert places.offsets.tolist() == [0]
    assert numpy_diagonals.by_diagonals(values, places).data.tolist() == [[3.0, 4.0, 8.0]]
    assert numpy_diagonals.positions_of(indices, np.zeros(4, dtype=np.int64), (3, 3), 1.5) is None
    scattered = container(NUMPY, np.eye(50)[np.random.default_rng(0).permutation(50)])
    assert numpy_diagonals.positions_of(scattered.indices, scattered.indptr, (50, 50), 1.5) is None


@pytest.mark.parametrize("library", [NUMPY, TORCH], ids=str)
def test_long_iterations_go_over_to_diagonals(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pattern is looked at once, each matrix brought into diagonals once, and the steps are the same."""
    made = {"positions_of": 0, "by_diagonals": 0}

    def counted(name: str) -> Any:
        inner = getattr(numpy_diagonals, name)

        def call(*args: Any) -> Any:
            made[name] += 1
            return inner(*args)

        return call

    for name in made:
        monkeypatch.setattr(on_numpy, name, counted(name))
    n = 60
    dense, b = line(n) - 0.5 * np.eye(n), np.random.default_rng(1).normal(size=(3, n))
    a = container(library, dense)
    short = solve(a, library.asarray(b[0]), method="cg", max_steps=(20, 30))
    assert made == {"positions_of": 0, "by_diagonals": 0}
    monkeypatch.setattr(on_numpy, "_MANY_STEPS", 10)
    long = solve(a, library.asarray(b[0]), method="cg", max_steps=(20, 30))
    assert made == {"positions_of": 1, "by_diagonals": 1}
    for found, expected in zip(trees.leaves(long), trees.leaves(short)):
        library.assert_equal(found, library.to_numpy(expected))
    monkeypatch.setattr(on_numpy, "_FEW_UNKNOWNS", 0)
    weights = np.asarray([[1.0], [2.0], [3.0]])
    for matrix, scale, matrices_made in ((a, 1.0, 2), (a.with_values(library.asarray(weights) * a.values), weights, 5)):
        result = solve(matrix, library.asarray(b), axis=-1, method="cg", rtol=1e-12)
        library.assert_equal(result.x, np.linalg.solve(dense, b.T).T / scale, rtol=1e-9, atol=1e-10)
        assert made["by_diagonals"] == matrices_made
    assert made["positions_of"] == 3


def test_what_has_no_layout_stays_as_it_is() -> None:
    one_long_row = np.eye(50)
    one_long_row[3, :] = 1.0
    a = container(JAX, one_long_row).prepared()
    assert arranged(a) is a
    assert arranged(a.tocoo()).format == "coo"
    assert arranged(a.todense()).shape == (50, 50)


def test_many_diagonals_are_rows() -> None:
    rng = np.random.default_rng(0)
    dense = np.stack([rng.permutation(np.arange(50.0) % 5) for _ in range(50)])
    assert container(JAX, dense).prepared().plan.diagonals == ()


def test_a_plan_is_shared_by_what_has_the_pattern() -> None:
    a = container(JAX, line(5))
    b = a.with_values(2.0 * a.values)
    assert b.prepared().plan is a.prepared().plan
    assert a.mT.prepared().plan is a.prepared().plan
    assert a.prepared().mT.plan is a.prepared().plan
    JAX.assert_equal(b.mT @ JAX.asarray(np.arange(5.0)), 2.0 * line(5).T @ np.arange(5.0))


@pytest.mark.parametrize(
    ("library", "format"),
    [(x, format) for x in EAGER_LIBRARIES for format in FORMATS if x is not JAX or format == "coo"],
)
def test_formats_and_their_derivatives(library: Library, format: str) -> None:
    dense = line(6) + 0.3 * np.eye(6, k=2)
    a, b = container(library, dense, format), library.asarray(np.linspace(1.0, 2.0, 6))
    expected = np.linalg.solve(dense, np.linspace(1.0, 2.0, 6))
    library.assert_equal(solve(a, b, method="bicgstab", rtol=1e-12).x, expected, rtol=1e-9)

    def total(values: Any) -> Any:
        x = solve(a.with_values(values), b, method="bicgstab", rtol=1e-12).x
        return xpand.array_namespace(x).sum(x)

    rows, columns = (library.to_numpy(each) for each in a.tocoo().coords)
    adjoint = np.linalg.solve(dense.T, np.ones(6))
    library.assert_equal(grad(total)(a.values), -adjoint[rows] * expected[columns], rtol=1e-8)


@pytest.mark.parametrize("library", [each for each in EAGER_LIBRARIES if each.id in ("numpy", "torch", "jax")], ids=str)
def test_compiled_with_a_plan(library: Library) -> None:
    dense = line(6)
    a, b = container(library, dense).prepared(), np.linspace(1.0, 2.0, 6)
    compiled = jit(lambda a, b: solve(a, b, method="cg", rtol=1e-12).x)
    library.assert_equal(compiled(a, library.asarray(b)), np.linalg.solve(dense, b), rtol=1e-10)


@pytest.mark.parametrize("kind", ["one", "dense", "csr", "coo", "own pattern"])
@pytest.mark.parametrize("library", [each for each in EAGER_LIBRARIES if each is not JAX], ids=str)
def test_one_by_one_is_as_together(library: Library, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    n, weights = 12, np.asarray([[1.0], [3.0]])
    dense = weights[..., None] * line(n) if kind != "one" else line(n)
    b = np.random.default_rng(1).normal(size=(3, 2, n))
    one = container(library, line(n), "coo" if kind == "coo" else "csr")
    batch = one.with_values(library.asarray(weights) * one.values[None, :])
    matrix = {"one": one, "dense": library.asarray(dense), "csr": batch, "coo": batch}.get(kind)
    if matrix is None:
        pattern = [library.asarray(np.stack([library.to_numpy(x)] * 2)) for x in one.pattern]
        matrix = sparse.CSR(batch.values, *pattern, batch.shape)
    results = []
    for few in (0, 10**6) if library.id in ("numpy", "torch") else (0,):
        monkeypatch.setattr(on_numpy, "_FEW_UNKNOWNS", few)
        monkeypatch.setattr(on_numpy, "_FEW_SYSTEMS", 0)
        results.append(solve(matrix, library.asarray(b), axis=-1, method="cg", max_steps=(3, 40)))
    for result in results:
        library.assert_equal(result.x[1, ...], np.linalg.solve(dense, b[..., None])[..., 0], rtol=1e-7)
        library.assert_equal(result.iterations, library.to_numpy(results[0].iterations))
        library.assert_equal(result.x, library.to_numpy(results[0].x), rtol=1e-10)
        assert result.status.shape == (2, 3, 2)


def test_many_systems_as_columns_end_as_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have ended wait: one of a zero right-hand side, one that takes a step, one of NaN."""
    n, products, inner = 12, [], columns._product
    monkeypatch.setattr(columns, "_MANY", 5)
    monkeypatch.setattr(columns, "_product", lambda a, x: products.append(x.shape) or inner(a, x))
    b = np.random.default_rng(1).normal(size=(5, n)) * np.asarray([1.0, 0.0, 1e-3, 1.0, np.nan])[:, None]
    b[3] = np.linalg.eigh(line(n))[1][:, 0]
    found = solve(container(JAX, line(n)).prepared(), JAX.asarray(b), axis=-1, method="cg", max_steps=(3, 40))
    assert products == [(n, 5)] * len(products) != []
    for i in range(5):
        alone = solve(container(NUMPY, line(n)), b[i], method="cg", max_steps=(3, 40))
        assert found.history == alone.history == ()
        for together, expected in zip(found[: len(found) - 1], alone):
            JAX.assert_equal(together[:, i, ...], expected, rtol=1e-7, atol=1e-12)


def test_lanes_share_what_singular_systems_have_in_common() -> None:
    n = 8
    path = np.diag([1.0] + [2.0] * (n - 2) + [1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)
    b = np.random.default_rng(2).normal(size=(3, n))
    b = b - b.mean(axis=1, keepdims=True)
    result = solve(container(NUMPY, path), b, axis=-1, method="cg", nullspace="constant", rtol=1e-12)
    assert result.converged.all()
    np.testing.assert_allclose(result.x, b @ np.linalg.pinv(path), atol=1e-9)


def test_on_the_host_only_what_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    krylov = on_numpy.krylov
    monkeypatch.setattr(on_numpy, "krylov", lambda *args, **options: calls.append(1) or krylov(*args, **options))
    a, b = container(TORCH, line(6)), TORCH.asarray(np.ones(6))
    expected = np.linalg.solve(line(6), np.ones(6))
    TORCH.assert_equal(solve(a, b, method="cg", rtol=1e-12).x, expected, rtol=1e-9)
    assert len(calls) == 1
    TORCH.assert_equal(solve(a, b, method="cg", rtol=1e-12, preconditioner=lambda r: 0.4 * r).x, expected, rtol=1e-9)
    TORCH.assert_equal(solve(a, b, method="qmr", rtol=1e-12).x, expected, rtol=1e-9)
    TORCH.assert_equal(solve(a.todense(), b, method="cg", rtol=1e-12).x, expected, rtol=1e-9)
    assert len(calls) == 1
    TORCH.assert_equal(solve(a, b, method="bicgstab", rtol=1e-12).x, expected, rtol=1e-9)
    assert len(calls) == 2
    b = b.clone().requires_grad_()
    solve(a, b, method="cg", rtol=1e-12).x.sum().backward()
    TORCH.assert_equal(b.grad, np.linalg.solve(line(6), np.ones(6)), rtol=1e-9)


def test_loops_hold_the_preconditioner_once() -> None:
    """XLA's time to compile grows with the number of its applications in the program."""
    dense = 4.0 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1)
    calls = []

    def preconditioner(r: Any) -> Any:
        calls.append(r)
        return 0.25 * r

    b = JAX.asarray(np.arange(6.0))
    solution = jax.jit(lambda b: solve(JAX.asarray(dense), b, method="cg", preconditioner=preconditioner).x)(b)
    np.testing.assert_allclose(solution, np.linalg.solve(dense, b), rtol=1e-5)
    assert len(calls) == 2  # the other one is for the derivative


def test_preconditioned_systems_with_and_without_derivatives() -> None:
    """One matrix is solved for concrete arrays, then with derivatives in both modes."""
    a = container(JAX, 4.0 * np.eye(6) - np.eye(6, k=1) - np.eye(6, k=-1))
    b, direction = JAX.asarray(np.arange(6.0)), JAX.asarray(np.ones(6))
    f = lambda b: solve(a, b, method="cg", rtol=1e-12, preconditioner=linear_solve.jacobi(a)).x @ direction
    value = f(b)
    slope = jax.grad(f)(b)
    np.testing.assert_allclose(slope @ b, value, rtol=1e-9)
    np.testing.assert_allclose(jax.jvp(f, (b,), (direction,))[1], f(direction), rtol=1e-9)
