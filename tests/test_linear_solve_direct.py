"""Factorizations as objects: every library against NumPy and SciPy; what is singular; transformations."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings, strategies as st

import xpand
from tests.laziness import nothing_computed
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library, unless
from tests.operations import (
    Case,
    Check,
    check_values,
    checked,
    jax_grad,
    jax_jit,
    jax_vmap,
    torch_compile,
    torch_grad,
    torch_vmap,
)
from tests.systems import SOLVABLE, SYSTEMS, UNSOLVABLE
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions import autodiff, jit, sparse, vmap
from xpand_extensions.linear_solve import Status, direct_solve, factorize
from xpand_extensions.linear_solve._factors import factor_cholesky, factor_lu, factor_qr, factor_triangular

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]
DENSE = ["lu", "cholesky", "qr", "auto"]
FORMATS = ["coo", "csr", "csc"]


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype in ("float32", "complex64") else 1e-10


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def regular(*shape: int, dtype: str = "float64") -> np.ndarray:
    return normal(*shape, dtype=dtype) + 4 * np.eye(shape[-1], dtype=dtype)


def definite(a: np.ndarray) -> np.ndarray:
    return (a @ a.conj().mT + np.eye(a.shape[-1])).astype(a.dtype)


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve for vectors along the last axis."""
    return np.linalg.solve(a, b[..., None])[..., 0]


def skeel(a: np.ndarray) -> float:
    return float(np.max(np.sum(np.abs(np.linalg.inv(a)) @ np.abs(a), axis=-1), initial=0.0))


def container(library: Library, a: Any, format: str = "csr", index: str = "int64") -> Any:
    """Make a container of the parts of SciPy's matrix, in their order."""
    a = getattr(scipy.sparse, f"{format}_array")(a)
    if format == "coo":
        coords = tuple(library.asarray(x, dtype=index) for x in a.coords)
        return sparse.COO(library.asarray(a.data), coords, a.shape)
    parts = (library.asarray(a.data), library.asarray(a.indices, dtype=index), library.asarray(a.indptr, dtype=index))
    return getattr(sparse, format.upper())(*parts, a.shape)


def random_sparse(size: int, dtype: str = "float64", seed: int = 0) -> Any:
    a = scipy.sparse.random_array((size, size), density=0.2, rng=seed).tocsr()
    a = a + scipy.sparse.diags_array(np.full(size, 4.0))
    return a.astype(dtype) * (1 + 0.5j) if dtype.startswith("c") else a.astype(dtype)


SPARSE = random_sparse(6, seed=3).tocoo()


def sparse_solve(values: Any, rows: Any, columns: Any, b: Any) -> Any:
    return direct_solve(sparse.COO(values, (rows, columns), (*values.shape[:-1], 6, 6)), b, axis=-1)


def sparse_reference(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, b: np.ndarray) -> np.ndarray:
    return solve(scipy.sparse.coo_array((values, (rows, columns)), shape=(6, 6)).toarray(), b)


by_rows = partial(direct_solve, axis=-1)
A, B, STACK = regular(4, 4), normal(3, 4), regular(2, 4, 4)
CASES = {
    "lu": Case(by_rows, (STACK, normal(2, 4)), reference=solve, differentiable=(0, 1), rtol=1e-10),
    "lu, many right-hand sides": Case(
        lambda a, b: factorize(a, method="lu").solve_transposed(b, axis=-1),
        (A, B),
        reference=lambda a, b: solve(a.mT, b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "cholesky": Case(
        lambda a, b: direct_solve(a + xpand.array_namespace(a).matrix_transpose(a), b, positive_definite=True),
        (definite(A), B[0]),
        reference=lambda a, b: solve(a + a.mT, b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "qr": Case(
        lambda a, b: direct_solve(a, b, method="qr"), (A, B[0]), reference=solve, differentiable=(0, 1), rtol=1e-10
    ),
    "lower": Case(
        lambda a, b: factorize(a, method="lower").solve(b),
        (A, B[0]),
        reference=lambda a, b: solve(np.tril(a), b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "sparse": Case(
        sparse_solve,
        (SPARSE.data, *(x.astype(np.int64) for x in SPARSE.coords), normal(2, 6)),
        reference=sparse_reference,
        differentiable=(0, 3),
        rtol=1e-10,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@unless(lambda library, case: library.lazy and case is CASES["sparse"])  # see test_dask
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad, traced_second]
OF_TORCH = [torch_vmap, torch_grad]
OF_JAX = [jax_jit, jax_vmap, jax_grad]
# JAX takes a second or more for each; what differs between cases is how the factors are applied.
CHOSEN = {"lu": [*OF_JAX, torch_compile], "sparse": OF_JAX, "cholesky": [jax_grad]}


@checked(CASES, only=lambda name, check: check in (*TRACED, *OF_TORCH, *CHOSEN.get(name, ())))
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# Every shape and type


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str, str]:
    dtype, method = draw(st.sampled_from(FLOATING)), draw(st.sampled_from(DENSE))
    stack = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    size = draw(st.integers(0, 5))
    a = regular(*stack, size, size, dtype=dtype)
    a = definite(a) if method == "cholesky" else a
    before = draw(st.sampled_from([stack, (), (2, *(1 for _ in stack))]))
    return a, normal(*before, size, dtype=dtype), dtype, method


def test_dense_systems(library: Library) -> None:
    @settings(max_examples=6 if library.lazy or library.id == "jax" else 25)
    @given(system=systems())
    def run(system: tuple[np.ndarray, np.ndarray, str, str]) -> None:
        a, b, dtype, method = system
        rtol = 10 * tolerance(dtype)
        found = factorize(library.asarray(a), method=method)
        library.assert_equal(found.status, np.zeros(a.shape[:-2], np.int32))
        assert found.shape == a.shape
        assert found.dtype == library.asarray(a).dtype
        library.assert_equal(found.solve(library.asarray(b), axis=-1), solve(a, b), rtol=rtol, atol=rtol)
        library.assert_equal(found.solve_transposed(library.asarray(b), axis=-1), solve(a.mT, b), rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize("method", DENSE)
def test_complex_transposes(library: Library, method: str) -> None:
    a, b = regular(2, 3, 3, dtype="complex128"), normal(2, 3, dtype="complex128")
    a = definite(a) if method == "cholesky" else a
    found = factorize(library.asarray(a), method=method).solve_transposed(library.asarray(b), axis=-1)
    library.assert_equal(found, solve(a.mT, b), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@unless(lambda dtype, format, library: library.id == "jax" and dtype != "float64" and format != "csr")
def test_sparse_systems(library: Library, format: str, dtype: str) -> None:
    rtol = tolerance(dtype)
    for size, index, symmetric in ((9, "int32", None), (1, "int64", True), (0, "int64", None), (7, "int64", True)):
        a = random_sparse(size, dtype) if size else scipy.sparse.csr_array((0, 0), dtype=dtype)
        a = a + a.T if symmetric else a
        found = factorize(container(library, a, format, index), symmetric=symmetric)
        b = normal(2, size, dtype=dtype)
        library.assert_equal(found.solve(library.asarray(b), axis=-1), solve(a.toarray(), b), rtol=rtol, atol=rtol)
        expected = solve(a.toarray().T, b[0])
        library.assert_equal(found.solve_transposed(library.asarray(b[0])), expected, rtol=rtol, atol=rtol)
        assert found.method.startswith("SuperLU")
        assert ("on the host" in found.method) == (library.id != "numpy")


def test_mixed_types(library: Library) -> None:
    a, b = regular(3, 3), normal(3, dtype="complex128")
    library.assert_equal(direct_solve(library.asarray(a), library.asarray(b)), solve(a, b), rtol=1e-12)
    x = library.asarray(normal(3, dtype="float32"))
    assert direct_solve(library.asarray(a), x).dtype == library.xp.float64
    if not library.lazy:
        s = random_sparse(5)
        b = normal(2, 5, dtype="complex128")
        found = by_rows(container(library, s), library.asarray(b))
        library.assert_equal(found, solve(s.toarray(), b), rtol=1e-12)
        found = by_rows(container(library, s.astype(np.float32)), library.asarray(b))
        library.assert_equal(found, solve(s.toarray(), b), rtol=1e-5)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sparse_patterns(library: Library, format: str) -> None:
    """Entries out of order, of one place, beyond the last row; batches of values, and of patterns."""
    rows, columns = np.asarray([2, 0, 1, 0, 2, 1]), np.asarray([2, 1, 1, 0, 2, 2])
    values = normal(3, 6) + 3
    dense = np.zeros((3, 3, 3))
    for k in range(6):
        dense[:, rows[k], columns[k]] += values[:, k]
    b, rhs = normal(4, 1, 3), normal(3, 3)
    of = library.asarray
    if format == "coo":
        one = sparse.COO(of(values), (of(rows), of(columns)), (3, 3, 3))
        orders = np.asarray([np.roll(np.arange(6), k) for k in range(3)])
        each = np.take_along_axis(values, orders, axis=-1)
        many = sparse.COO(of(each), (of(rows[orders]), of(columns[orders])), (3, 3, 3))
    else:
        major, minor = (rows, columns) if format == "csr" else (columns, rows)
        order = np.argsort(major, kind="stable")
        ends = np.searchsorted(major[order], np.arange(4))
        # Padding comes last, and counts as nothing.
        padded = np.concatenate([values[:, order], np.full((3, 2), 7.0)], axis=-1)
        minor = np.concatenate([minor[order], [0, 0]])
        cls = getattr(sparse, format.upper())
        one = cls(of(padded), of(minor), of(ends), (3, 3, 3))
        many = cls(of(padded), of(np.stack([minor] * 3)), of(np.stack([ends] * 3)), (3, 3, 3))
    for matrix in (one, many):
        library.assert_equal(factorize(matrix).solve(of(b), axis=-1), solve(dense, b), rtol=1e-10)
        library.assert_equal(factorize(matrix).solve_transposed(of(rhs), axis=-1), solve(dense.mT, rhs), rtol=1e-10)


# Systems that can't be solved


def verdicts() -> dict[str, tuple[np.ndarray, dict[str, Status]]]:
    """Matrices of size 3, and what each method says of them."""
    converged, singular, infinite = Status.CONVERGED, Status.SINGULAR, Status.NON_FINITE
    broken, one = Status.BREAKDOWN, np.eye(3)
    any_of = lambda status, cholesky: {"lu": status, "qr": status, "sparse": status, "cholesky": cholesky}
    nan, inf, wide = one.copy(), one.copy(), np.diag([1e-200, 1.0, 1e200])
    nan[1, 1], inf[2, 0] = np.nan, np.inf
    return {
        "identity": (one, any_of(converged, converged)),
        "zero": (0 * one, any_of(singular, broken)),
        "empty row": (np.diag([1.0, 0.0, 2.0]), any_of(singular, broken)),
        "twice a row": (np.asarray([[1.0, 2, 3], [1, 2, 3], [0, 1, 1]]), any_of(singular, broken)),
        "to rounding": (np.arange(1.0, 10).reshape(3, 3), any_of(singular, broken)),
        "indefinite": (np.asarray([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]), any_of(converged, broken)),
        "NaN": (nan, any_of(infinite, infinite)),
        "infinite": (inf, any_of(infinite, infinite)),
        "scaled": (wide, any_of(converged, converged)),
    }


VERDICTS = verdicts()


@pytest.mark.parametrize("method", ["lu", "qr", "cholesky"])
def test_verdicts_in_a_stack(library: Library, method: str) -> None:
    """One matrix that can't be solved with neither raises nor spoils the others."""
    matrices = np.stack([a for a, _ in VERDICTS.values()])
    expected = np.asarray([status[method] for _, status in VERDICTS.values()], np.int32)
    found = factorize(library.asarray(matrices), method=method)
    library.assert_equal(found.status, expected)
    b = normal(3)
    x, condition = library.to_numpy(found.solve(library.asarray(b), axis=-1)), library.to_numpy(found.condition)
    for name, row, status in zip(VERDICTS, x, expected):
        if status == Status.CONVERGED:
            np.testing.assert_allclose(row, solve(VERDICTS[name][0], b), rtol=1e-12)
        elif name != "to rounding" and (name, method) != ("twice a row", "qr"):  # QR may leave a rounding error for 0
            assert np.isnan(row).all(), name
    np.testing.assert_array_equal(condition < 1 / np.finfo(float).eps, expected == Status.CONVERGED)
    assert np.isnan(condition[list(VERDICTS).index("NaN")])


@pytest.mark.parametrize("name", VERDICTS)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_verdicts_on_sparse_matrices(library: Library, name: str) -> None:
    a, status = VERDICTS[name]
    for symmetric in (False, *([True] if np.array_equal(a, a.T) else [])):
        found = factorize(container(library, a), symmetric=symmetric)
        library.assert_equal(found.status, np.asarray(status["sparse"], np.int32))
        x = library.to_numpy(found.solve(library.asarray(np.ones(3))))
        if status["sparse"] == Status.CONVERGED:
            np.testing.assert_allclose(x, solve(a, np.ones(3)), rtol=1e-12)
        elif name != "to rounding":
            assert np.isnan(x).all()


def of_bank(library: Library, systems: list[Any]) -> list[Any]:
    """All of a bank on NumPy; some, with some of each kind, elsewhere, where the work on each takes longer."""
    return systems if library.id == "numpy" else systems[:: {"jax": 90, "dask": 20}.get(library.id, 10)]


def backward_error(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> float:
    """Measure by how much, relatively, a system would have to be changed for `x` to solve it."""
    scale = np.abs(a).sum(axis=-1).max(initial=0.0) * np.abs(x).max(initial=0.0) + np.abs(b).max(initial=0.0)
    return float(np.abs(b - a @ x).max(initial=0.0) / scale) if scale else 0.0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@unless(lambda dtype, library: library.id == "jax" and dtype == "float32")
def test_bank(library: Library, dtype: str) -> None:
    eps = float(np.finfo(dtype).eps)
    for system in of_bank(library, SOLVABLE):
        if system.condition > 1e-2 / eps:
            continue
        precision = dtype.replace("float32", "complex64").replace("float64", "complex128")
        a, b = (x.astype(precision if system.is_complex else dtype) for x in (system.matrix, system.b))
        factorizations = {method: factorize(library.asarray(a), method=method) for method in ("lu", "qr")}
        if system.is_definite:
            factorizations["cholesky"] = factorize(library.asarray(a), positive_definite=True)
        if not library.lazy:
            factorizations["sparse"] = factorize(container(library, a), symmetric=system.is_symmetric)
        for method, found in factorizations.items():
            x = library.to_numpy(found.solve(library.asarray(b), axis=-1))
            assert int(library.to_numpy(found.status)) == Status.CONVERGED, (system.name, method)
            assert backward_error(a, x, b) < 20 * eps * max(len(b), 1), (system.name, method)


def test_bank_of_what_has_no_solution(library: Library) -> None:
    singular = [system for system in SYSTEMS if system.is_singular]
    for system in of_bank(library, [*UNSOLVABLE, *singular]):
        a, b = library.asarray(system.matrix), library.asarray(system.b)
        factorizations = [factorize(a, method="lu"), factorize(a, method="qr")]
        if not library.lazy:
            factorizations += [factorize(container(library, system.matrix), symmetric=each) for each in (False, True)]
        for found in factorizations:
            status = int(library.to_numpy(found.status))
            if not np.isfinite(system.matrix).all():
                assert status == Status.NON_FINITE, system.name
            elif np.isfinite(system.b).all():
                assert status == Status.SINGULAR, system.name
            else:  # the matrix is fine
                assert status == Status.CONVERGED, system.name
                assert not np.isfinite(library.to_numpy(found.solve(b))).all()


def laplacian(size: int, *, neumann: bool) -> Any:
    """Make the Laplacian on a grid in two dimensions; that of a closed domain is singular to rounding alone."""
    diagonal = np.full(size, 2.0)
    if neumann:
        diagonal[[0, -1]] = 1.0
    one = scipy.sparse.diags_array([diagonal, -np.ones(size - 1), -np.ones(size - 1)], offsets=[0, 1, -1])
    unit = scipy.sparse.eye_array(size)
    return scipy.sparse.csr_array(scipy.sparse.kron(one, unit) + scipy.sparse.kron(unit, one))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [3, 8, 16])
def test_closed_domains_are_singular_and_open_ones_are_not(dtype: str, size: int) -> None:
    library = LIBRARIES[0]
    for neumann in (True, False):
        a = laplacian(size, neumann=neumann).astype(dtype)
        for symmetric in (False, True):
            found = factorize(container(library, a), symmetric=symmetric)
            assert int(found.status) == (Status.SINGULAR if neumann else Status.CONVERGED)
        for method in ("lu", "qr"):
            assert int(factorize(a.toarray(), method=method).status) == int(found.status)


def test_condition_numbers(library: Library) -> None:
    """Never above the number; within a tenth of it for random matrices; right for those that are known."""
    matrices = normal(20, 6, 6)
    condition = library.to_numpy(factor_lu(library.asarray(matrices))[-2])
    exact = np.asarray([skeel(a) for a in matrices])
    assert (condition <= exact * (1 + 1e-9)).all()
    assert (condition >= exact / 10).all()
    others = [
        factor_qr(library.asarray(matrices))[-2],
        factor_lu(library.asarray(matrices * np.logspace(0, 100, 6)[:, None]))[-2],
    ]
    for other in others:
        np.testing.assert_allclose(library.to_numpy(other), condition, rtol=1e-6)
    a = definite(matrices)
    condition = library.to_numpy(factor_cholesky(library.asarray(a))[-2])
    np.testing.assert_allclose(condition, library.to_numpy(factor_lu(library.asarray(a))[-2]), rtol=1e-6)
    a = definite(normal(20, 6, 6, dtype="complex128"))
    condition = library.to_numpy(factor_cholesky(library.asarray(a))[-2])
    np.testing.assert_allclose(condition, library.to_numpy(factor_lu(library.asarray(a))[-2]), rtol=1e-6)
    many = normal(100, 6, 6, dtype="complex128")
    condition = library.to_numpy(factor_lu(library.asarray(many))[-2])
    assert np.mean(condition / np.asarray([skeel(a) for a in many])) > 0.93
    b = np.tril(regular(3, 5, 5, dtype="complex128"))
    exact = np.asarray([skeel(each) for each in b])
    for factor in (factor_triangular, factor_lu):
        condition = library.to_numpy(factor(library.asarray(b))[-2])
        assert (condition <= exact * (1 + 1e-9)).all()
        assert (condition >= exact / 10).all()


@pytest.mark.parametrize("decimals", [4, 8, 12, 18])
def test_ill_conditioned(library: Library, decimals: int) -> None:
    """A condition number of 1e12 is solved with; one of 1e18 is singular to the digits that there are."""
    q, _ = np.linalg.qr(normal(8, 8))
    p, _ = np.linalg.qr(normal(8, 8))
    a = q @ np.diag(np.logspace(0, -decimals, 8)) @ p
    x = normal(8)
    for method in ("lu", "qr"):
        found = factorize(library.asarray(a), method=method)
        status = Status.SINGULAR if decimals > 16 else Status.CONVERGED
        library.assert_equal(found.status, np.asarray(status, np.int32))
        if decimals < 16:
            y = library.to_numpy(found.solve(library.asarray(a @ x)))
            np.testing.assert_allclose(y, x, rtol=0, atol=10.0 ** (decimals - 14))
            np.testing.assert_allclose(a @ y, a @ x, rtol=0, atol=1e-13)


# Factors are made once


@pytest.fixture
def factored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count SuperLU's factorizations, by the sizes of the matrices, with nothing cached at first."""
    from xpand_extensions.plugins.numpy.linear_solve import _direct_sparse

    monkeypatch.setattr(_direct_sparse, "_cache", {})
    monkeypatch.setattr(_direct_sparse, "_cached_bytes", 0)
    sizes: list[int] = []
    factor = scipy.sparse.linalg.splu

    def splu(a: Any, **options: Any) -> Any:
        sizes.append(a.shape[0])
        return factor(a, **options)

    monkeypatch.setattr(scipy.sparse.linalg, "splu", splu)
    return sizes


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sparse_factors_are_reused(library: Library, factored: list[int]) -> None:
    a = container(library, random_sparse(8, seed=11))
    b = library.asarray(normal(8))
    found = factorize(a)
    others = [factorize(container(library, random_sparse(8, seed=20 + i))) for i in range(10)]
    assert len(factored) == 11
    for _ in range(2):
        found.solve(b)
        found.solve_transposed(b)
        others[3].solve(b)
    gradient = autodiff.grad(lambda b: xpand.array_namespace(b).sum(found.solve(b) ** 2))
    gradient(b)
    assert len(factored) == 11
    # Through the matrix too, one factorization serves both modes.
    through = lambda values: xpand.array_namespace(values).sum(direct_solve(a.with_values(values), b) ** 2)
    autodiff.grad(through)(a.values)
    assert len(factored) == 11
    autodiff.grad(through)(a.values * 2.0)
    assert len(factored) == 12


def test_factors_of_another_matrix_are_not_taken(factored: list[int]) -> None:
    """A tree that was changed is solved with as what it is now; an array written to later is not."""
    a = random_sparse(5, seed=2)
    matrix = container(LIBRARIES[0], a)
    b = normal(5)
    found = factorize(matrix)
    doubled = found._replace(matrix=matrix.with_values(2 * matrix.values))
    np.testing.assert_allclose(doubled.solve(b), solve(2 * a.toarray(), b), rtol=1e-10)
    swapped = a.toarray()[::-1].copy()  # the sum of the values is the same
    np.testing.assert_allclose(factorize(sparse.from_dense(swapped)).solve(b), solve(swapped, b), rtol=1e-10)
    values = np.array(matrix.values)
    changed = factorize(matrix.with_values(values))
    values *= 2
    np.testing.assert_allclose(changed.solve(b), solve(2 * a.toarray(), b), rtol=1e-10)


def test_factors_are_cached_up_to_a_limit(factored: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    from xpand_extensions.plugins.numpy.linear_solve import _direct_sparse

    matrices = [container(LIBRARIES[0], random_sparse(5, seed=50 + seed)) for seed in range(6)]
    found = [factorize(matrix) for matrix in matrices]
    b = normal(5)
    for each in found:
        each.solve(b)
    assert len(factored) == 6
    monkeypatch.setattr(_direct_sparse, "_MAX_BYTES", 0)
    found[0].solve(b)  # drops all but the four used last
    assert len(factored) == 6
    assert len(_direct_sparse._cache) == 4
    for each in (found[3], found[4], found[5], found[0]):
        each.solve(b)
    assert len(factored) == 6
    expected = solve(random_sparse(5, seed=51).toarray(), b)
    np.testing.assert_allclose(found[1].solve(b), expected, rtol=1e-10)
    assert len(factored) == 7
    assert _direct_sparse._cached_bytes == sum(each.bytes for each in _direct_sparse._cache.values())


# Trees


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", ["lu", "sparse", "lower"])
def test_factorizations_pass_through_jit_and_vmap(library: Library, method: str) -> None:
    a, b = regular(3, 4, 4), normal(3, 4)
    x, right = library.asarray(a), library.asarray(b)
    if method == "sparse":
        places = [np.repeat(np.arange(4), 4), np.tile(np.arange(4), 4)]
        coords = tuple(library.asarray(place) for place in places)
        make = lambda x: factorize(
            sparse.COO(xpand.array_namespace(x).reshape(x, (*x.shape[:-2], 16)), coords, x.shape)
        )
    else:
        make = lambda x: factorize(x, method=method)
    expected = solve(np.tril(a) if method == "lower" else a, b)
    apply = lambda found, b: (found.solve(b, axis=-1), found.status)
    # PyTorch takes tens of seconds to compile the factorization; torch_compile goes through it without that.
    compiled = jit.jit if library.id != "torch" else lambda function: function
    for found in (make(x), compiled(make)(x), vmap.vmap(make)(x)):
        library.assert_equal(found.solve(right, axis=-1), expected, rtol=1e-10)
        library.assert_equal(found.status, np.zeros(3, np.int32))
        library.assert_equal(compiled(apply)(found, right)[0], expected, rtol=1e-10)
    one = make(x[0, ...])
    mapped = vmap.vmap(apply, in_axes=(None, 0))(one, right)[0]
    first = np.tril(a[0]) if method == "lower" else a[0]
    library.assert_equal(mapped, solve(first, b), rtol=1e-10)


def test_factorizations_are_trees_of_jax_and_torch() -> None:
    import jax
    import torch

    a, b = regular(3, 3), normal(3)
    found = factorize(jax.numpy.asarray(a))
    x = jax.jit(lambda found, b: found.solve(b))(found, jax.numpy.asarray(b))
    np.testing.assert_allclose(x, solve(a, b), rtol=1e-10)
    made = jax.jit(lambda a: factorize(a, method="qr"))(jax.numpy.asarray(a))
    np.testing.assert_allclose(made.solve(jax.numpy.asarray(b)), solve(a, b), rtol=1e-10)
    many = factorize(torch.asarray(np.stack([a, 2 * a])))
    x = torch.func.vmap(lambda found, b: found.solve(b), in_dims=(0, None))(many, torch.asarray(b))
    np.testing.assert_allclose(x, solve(np.stack([a, 2 * a]), b), rtol=1e-10)


# Derivatives


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", ["lu", "sparse"])
def test_second_derivatives(library: Library, method: str) -> None:
    values, b = library.asarray(SPARSE.data), library.asarray(normal(6))
    coords = tuple(library.asarray(x.astype(np.int64)) for x in SPARSE.coords)

    def function(values: Any, b: Any) -> Any:
        a = sparse.COO(values, coords, (6, 6))
        return direct_solve(a if method == "sparse" else a.todense(), b)

    autodiff.check_grads(function, (values, b), order=2 if library.id in ("numpy", "torch") else 1)


@pytest.mark.parametrize("method", ["lu", "cholesky", "qr", "sparse"])
def test_complex_gradients(method: str) -> None:
    """On every library the gradient is JAX's of the solution that JAX itself has."""
    import jax

    a, b = regular(3, 3, dtype="complex128"), normal(3, dtype="complex128")
    a = definite(a) if method == "cholesky" else a

    def total(a: Any, b: Any) -> Any:
        if method == "sparse":
            xp = xpand.array_namespace(a)
            places = [np.repeat(np.arange(3), 3).tolist(), np.tile(np.arange(3), 3).tolist()]
            a = sparse.COO(xp.reshape(a, (9,)), tuple(xp.asarray(x) for x in places), (3, 3))
        x = direct_solve(a, b, method="auto" if method == "sparse" else method)
        return xpand.array_namespace(x).sum(xpand.array_namespace(x).abs(x) ** 2)

    own = lambda a, b: (abs(jax.numpy.linalg.solve(a, b)) ** 2).sum()
    expected = jax.grad(own, (0, 1))(jax.numpy.asarray(a), jax.numpy.asarray(b))
    for library in EAGER_LIBRARIES[:4]:
        found = autodiff.grad(total, (0, 1))(library.asarray(a), library.asarray(b))
        for actual, wanted in zip(found, expected):
            library.assert_equal(actual, np.asarray(wanted), rtol=1e-9, atol=1e-12)


# Missing packages and functions


def test_dask_stays_lazy() -> None:
    import dask.array as da

    b = normal(2, 4)
    a, right = da.from_array(STACK, chunks=(1, 2, 3)), da.from_array(b, chunks=(1, 4))
    with nothing_computed():
        found = {method: factorize(a, method=method) for method in ("lu", "qr", "lower")}
        results = {method: (each.solve(right, axis=-1), each.status) for method, each in found.items()}
    for method, (x, status) in results.items():
        expected = np.tril(STACK) if method == "lower" else STACK
        np.testing.assert_allclose(x, solve(expected, b), rtol=1e-9)
        np.testing.assert_array_equal(status, np.zeros(2))
    with pytest.raises(xpand.UnsupportedError, match="compute it, and solve with NumPy's arrays"):
        factorize(sparse.COO(da.ones(3), (da.arange(3), da.arange(3)), (3, 3)))


def test_bad_input(library: Library) -> None:
    a, v = library.asarray(A), library.asarray(B[0])
    found = factorize(a)
    integers = library.asarray(np.eye(4, dtype=int))
    calls: list[tuple[Callable[[], Any], type, str]] = [
        (lambda: factorize(a, method="choleski"), ValueError, "factorize: method must be one of .* you mean 'chol"),
        (lambda: factorize(a, method=1), TypeError, "factorize: method must be one of"),
        (lambda: factorize(a, positive_definite="yes"), TypeError, "positive_definite must be True or False"),
        (lambda: factorize(a, symmetric=1), TypeError, "symmetric must be True or False"),
        (lambda: factorize(a[:2, :]), ValueError, r"factorize: A must hold square matrices, \(..., n, n\), got"),
        (lambda: factorize(v), ValueError, "factorize: A must hold square matrices"),
        (lambda: factorize(integers), TypeError, "factorize: A must have a floating-point data type, got .*astype"),
        (lambda: factorize([[1.0]]), TypeError, "factorize: A must be"),
        (lambda: found.solve(v[:3]), ValueError, r"solve: b must have the shape \(4,\) or \(..., 4, k\) .* got \(3,\)"),
        (lambda: found.solve(library.asarray(1.0)), ValueError, r"solve: b must have the shape \(4,\)"),
        (lambda: found.solve(integers), TypeError, "solve: b must have a floating-point data type"),
        (lambda: found.solve_transposed([1.0] * 4), TypeError, "solve_transposed: b must be an array, got list"),
        (lambda: factor_lu(v), ValueError, "factor_lu: a must hold square matrices"),
        (lambda: factor_cholesky(integers), TypeError, "factor_cholesky: a must have a floating-point data type"),
        (lambda: factor_qr(a[:, :2]), ValueError, "factor_qr: a must hold square matrices"),
        (lambda: factor_triangular(v), ValueError, "factor_triangular: a must hold square matrices"),
    ]
    stack = factorize(library.asarray(STACK))
    three = library.asarray(normal(3, 4))
    calls.append((lambda: stack.solve(three, axis=-1), ValueError, "solve: takes arrays that broadcast together"))
    if not library.lazy:
        wide = container(library, scipy.sparse.csr_array(np.ones((2, 3))))
        whole = container(library, scipy.sparse.csr_array(np.eye(3, dtype=np.int64)))
        calls += [
            (lambda: factorize(wide), ValueError, "factorize: A must hold square matrices"),
            (lambda: factorize(whole), TypeError, "factorize: A must have a floating-point data type"),
            (lambda: factorize(wide, method="cholesky"), ValueError, "method='cholesky' is for dense matrices"),
        ]
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="solve: takes arrays of one library"):
        factorize(np.eye(2)).solve(torch.ones(2, dtype=torch.float64))
    with pytest.raises(ValueError, match="solve: takes arrays on one device"):
        factorize(strict.eye(2)).solve(strict.ones(2, device=strict.Device("device1")))


@pytest.mark.parametrize("method", DENSE)
def test_narrow_types(method: str) -> None:
    import jax.numpy as jnp
    import torch

    a = np.asarray([[4.0, 0.5], [0.5, 3.0]])
    for xp, dtype in ((np, np.float16), (torch, torch.bfloat16), (jnp, jnp.bfloat16), (jnp, jnp.float16)):
        x = factorize(xp.asarray(a, dtype=dtype), method=method).solve(xp.asarray([5.0, 6.5], dtype=dtype))
        assert x.dtype == dtype
        assert np.asarray(x.tolist()) == pytest.approx([1.0, 2.0], rel=8 * float(xp.finfo(dtype).eps))
