"""How solvers arrange matrices for many products: plans, diagonals, formats, and members of batches one by one."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings

import xpand
from tests.libraries import EAGER_LIBRARIES, Library
from tests.sparse_problems import FORMATS, made, matrices
from xpand_extensions import sparse
from xpand_extensions._linear_solve_krylov import System
from xpand_extensions._linear_solve_operators import Matrix, ready
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.plugins.jax._krylov import _fast
from xpand_extensions.plugins.jax._sparse_diagonals import Diagonals, by_diagonals
from xpand_extensions.plugins.numpy import _krylov as on_numpy
from xpand_extensions.plugins.torch import _krylov as on_torch

JAX = next(each for each in EAGER_LIBRARIES if each.id == "jax")
TORCH = next(each for each in EAGER_LIBRARIES if each.id == "torch")
VECTORS: Any = None


def container(library: Library, a: np.ndarray, format: str = "csr") -> Any:
    found = scipy.sparse.csr_array(a)
    parts = [library.asarray(x) for x in (found.data, found.indices, found.indptr)]
    return sparse.convert(sparse.CSR(*parts, found.shape), format)


def banded(m: int, n: int, offsets: list[int]) -> np.ndarray:
    rng = np.random.default_rng(3)
    return sum(np.diag(rng.uniform(1.0, 2.0, size=max(m, n)), k)[:m, :n] for k in offsets)


def line(n: int) -> np.ndarray:
    return 2.5 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4), (1, 3)], ids=str)
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
def test_products_by_diagonals(shape: tuple[int, int], batch: tuple[int, ...]) -> None:
    m, n = shape
    a = banded(m, n, [-2, 0, 1])
    csr = container(JAX, a)
    weights = np.linspace(1.0, 2.0, 2)[:, None] if batch else np.ones(())
    csr = container(JAX, a).with_values(JAX.asarray(weights * JAX.to_numpy(csr.values)))
    found = by_diagonals(Matrix(csr.prepared(), False, False))
    assert isinstance(found, Diagonals)
    x, y = np.linspace(-1.0, 2.0, n), np.linspace(1.0, -2.0, m)
    whole = weights[..., None] * a
    JAX.assert_equal(found.product(JAX.asarray(x), VECTORS, VECTORS), whole @ x, rtol=1e-14)
    JAX.assert_equal(found.transposed(JAX.asarray(y), VECTORS, VECTORS), y @ whole, rtol=1e-14)


@settings(max_examples=8, deadline=None)
@given(matrices(dtypes=["float64", "complex128"]))
def test_diagonals_of_any_matrix(problem: Any) -> None:
    a, dense = made(JAX, problem)
    matrix = ready(Matrix(a, False, False))
    found = by_diagonals(matrix)
    x, y = np.arange(1.0, 1.0 + dense.shape[1]), np.arange(1.0, 1.0 + dense.shape[0])
    JAX.assert_equal(found.product(JAX.asarray(x, dense.dtype), VECTORS, VECTORS), dense @ x, rtol=0)
    JAX.assert_equal(found.transposed(JAX.asarray(y, dense.dtype), VECTORS, VECTORS), dense.T @ y, rtol=0)


def test_padding_and_duplicates_by_diagonals() -> None:
    parts = [np.asarray([1.0, 2.0, 4.0, 8.0, 99.0]), np.asarray([0, 0, 1, 2, 0]), np.asarray([0, 2, 3, 4])]
    a = sparse.CSR(*map(JAX.asarray, parts), (3, 3))
    found = by_diagonals(Matrix(a.prepared(), True, True))
    assert isinstance(found, Diagonals)
    assert found.offsets == (0,)
    JAX.assert_equal(found.product(JAX.asarray(np.ones(3)), VECTORS, VECTORS), np.asarray([3.0, 4.0, 8.0]))


def test_many_diagonals_stay_as_they_are() -> None:
    rng = np.random.default_rng(0)
    a = container(JAX, np.diag(np.ones(50)) + (rng.random((50, 50)) < 0.05)).prepared()
    assert a.plan.diagonals == ()
    matrix = Matrix(a, False, False)
    assert by_diagonals(matrix) is matrix
    system = System(matrix, None, None, VECTORS, VECTORS)
    assert _fast(system) is system


def test_a_plan_is_shared_by_what_has_the_pattern() -> None:
    a = container(JAX, line(5))
    b = a.with_values(2.0 * a.values)
    assert b.prepared().plan is a.prepared().plan
    assert a.mT.prepared().plan is a.prepared().plan
    assert a.prepared().mT.plan is a.prepared().plan
    JAX.assert_equal(b.mT @ JAX.asarray(np.arange(5.0)), 2.0 * line(5).T @ np.arange(5.0))


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("format", FORMATS)
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
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
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
        results.append(solve(matrix, library.asarray(b), method="cg", max_steps=(3, 40)))
    for result in results:
        library.assert_equal(result.x[1, ...], np.linalg.solve(dense, b[..., None])[..., 0], rtol=1e-7)
        library.assert_equal(result.iterations, library.to_numpy(results[0].iterations))
        library.assert_equal(result.x, library.to_numpy(results[0].x), rtol=1e-10)
        assert result.status.shape == (2, 3, 2)


def test_members_share_what_singular_systems_have_in_common() -> None:
    n = 8
    path = np.diag([1.0] + [2.0] * (n - 2) + [1.0]) - np.eye(n, k=1) - np.eye(n, k=-1)
    b = np.random.default_rng(2).normal(size=(3, n))
    b = b - b.mean(axis=1, keepdims=True)
    numpy = next(each for each in EAGER_LIBRARIES if each.id == "numpy")
    result = solve(container(numpy, path), b, method="cg", nullspace="constant", rtol=1e-12)
    assert result.converged.all()
    np.testing.assert_allclose(result.x, b @ np.linalg.pinv(path), atol=1e-9)


def test_on_the_host_only_what_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(
        on_torch, "on_host", lambda *args, **options: calls.append(1) or on_numpy.krylov(*args, **options)
    )
    a, b = container(TORCH, line(6)), TORCH.asarray(np.ones(6))
    expected = np.linalg.solve(line(6), np.ones(6))
    TORCH.assert_equal(solve(a, b, method="cg", rtol=1e-12).x, expected, rtol=1e-9)
    assert len(calls) == 1
    TORCH.assert_equal(solve(a, b, method="cg", rtol=1e-12, preconditioner=lambda r: 0.4 * r).x, expected, rtol=1e-9)
    TORCH.assert_equal(solve(a, b, method="bicgstab", rtol=1e-12).x, expected, rtol=1e-9)
    TORCH.assert_equal(solve(a.todense(), b, method="cg", rtol=1e-12).x, expected, rtol=1e-9)
    assert len(calls) == 1
    b = b.clone().requires_grad_()
    solve(a, b, method="cg", rtol=1e-12).x.sum().backward()
    TORCH.assert_equal(b.grad, np.linalg.solve(line(6), np.ones(6)), rtol=1e-9)
