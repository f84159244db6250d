"""Triangular systems, dense and sparse: every library against SciPy, transformations, zeros on the diagonal."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given, settings, strategies as st

from tests.libraries import EAGER_LIBRARIES, Library, unless
from tests.operations import Case, check_values, jax_grad, torch_compile, torch_grad, torch_vmap
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand_extensions import autodiff, jit, sparse, vmap
from xpand_extensions.linear_solve import Status, factorize, solve, solve_triangular

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def regular(*shape: int, dtype: str = "float64") -> np.ndarray:
    return normal(*shape, dtype=dtype) + 4 * np.eye(shape[-1], dtype=dtype)


def reference(
    a: np.ndarray, b: np.ndarray, lower: bool = True, unit_diagonal: bool = False, transposed: bool = False
) -> np.ndarray:
    """Solve for vectors along the last axis."""
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = np.where(np.eye(a.shape[-1], dtype=bool), a.dtype.type(1), a)
    return np.linalg.solve(a.mT if transposed else a, b[..., None])[..., 0]


def container(library: Library, a: Any, format: str = "csr") -> Any:
    a = getattr(scipy.sparse, f"{format}_array")(a)
    if format == "coo":
        return sparse.COO(library.asarray(a.data), tuple(map(library.asarray, a.coords)), a.shape)
    return getattr(sparse, format.upper())(*map(library.asarray, (a.data, a.indices, a.indptr)), a.shape)


A, B, STACK = regular(4, 4), normal(3, 4), regular(2, 4, 4)
ROWS, COLUMNS = np.nonzero(np.asarray([[1, 0, 1, 0], [1, 1, 0, 1], [0, 1, 1, 0], [1, 0, 0, 1]]))


def of_pattern(values: Any, rows: Any, columns: Any, b: Any) -> Any:
    matrix = sparse.COO(values, (rows, columns), (*values.shape[:-1], 4, 4))
    return solve_triangular(matrix, b, axis=-1, lower=False, transposed=True)


def of_pattern_reference(values: np.ndarray, rows: np.ndarray, columns: np.ndarray, b: np.ndarray) -> np.ndarray:
    dense = scipy.sparse.coo_array((values, (rows, columns)), shape=(4, 4)).toarray()
    return reference(dense, b, lower=False, transposed=True)


CASES = {
    "dense": Case(
        partial(solve_triangular, axis=-1), (STACK, normal(2, 4)), reference=reference, differentiable=(0, 1)
    ),
    "solve": Case(
        lambda a, b: solve(a, b, axis=-1, method="upper").x,
        (A, B),
        reference=lambda a, b: reference(a, b, lower=False),
        differentiable=(0, 1),
    ),
    "dense, many right-hand sides": Case(
        lambda a, b: solve_triangular(a, b, axis=-1, lower=False, unit_diagonal=True, transposed=True),
        (A, B),
        reference=lambda a, b: reference(a, b, False, True, True),
        differentiable=(0, 1),
    ),
    "sparse": Case(
        of_pattern,
        (normal(len(ROWS)) + 4, ROWS, COLUMNS, B),
        reference=of_pattern_reference,
        differentiable=(0, 3),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
@unless(lambda library, case: library.lazy and case is CASES["sparse"])  # factors of sparse matrices need all values
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


CHECKS = [traced_forward, traced_second, torch_grad]
OF_DENSE = [traced_stage, traced_vmap, traced_grad, torch_vmap]
CHOSEN = {"dense": [*OF_DENSE, torch_compile, jax_grad], "dense, many right-hand sides": OF_DENSE}


@pytest.mark.parametrize(
    ("name", "transformation"),
    [(name, each) for name in CASES for each in (*CHECKS, *CHOSEN.get(name, ()))],
    ids=lambda x: getattr(x, "__name__", x),
)
def test_transformations(name: str, transformation: Callable[[Case], None]) -> None:
    transformation(CASES[name])


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sparse_triangles_under_jit_and_vmap(library: Library) -> None:
    """The pattern is the same for all lanes, or each has its own order of it."""
    values, orders = normal(3, len(ROWS)) + 4, np.stack([np.roll(np.arange(len(ROWS)), k) for k in range(3)])
    expected = np.stack([of_pattern_reference(x, ROWS, COLUMNS, B[i]) for i, x in enumerate(values)])
    rows, columns, b = library.asarray(ROWS), library.asarray(COLUMNS), library.asarray(B)
    for transform in (lambda f: f, jit.jit) if library.id != "torch" else (jit.jit,):
        mapped = transform(vmap.vmap(of_pattern, in_axes=(0, None, None, 0)))
        library.assert_equal(mapped(library.asarray(values), rows, columns, b), expected, rtol=1e-12)
    shuffled = [np.take_along_axis(values, orders, axis=-1), ROWS[orders], COLUMNS[orders]]
    found = vmap.vmap(of_pattern)(*map(library.asarray, shuffled), b)
    library.assert_equal(found, expected, rtol=1e-12)
    one = jit.jit(of_pattern)(library.asarray(values[0]), rows, columns, b[0, :])
    library.assert_equal(one, expected[0], rtol=1e-12)


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str, dict[str, bool]]:
    dtype = draw(st.sampled_from(FLOATING))
    stack = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    size = draw(st.integers(0, 5))
    before = draw(st.sampled_from([stack, (), (2, *(1 for _ in stack))]))
    options = {name: draw(st.booleans()) for name in ("lower", "unit_diagonal", "transposed")}
    return regular(*stack, size, size, dtype=dtype), normal(*before, size, dtype=dtype), dtype, options


def test_systems(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 25)
    @given(system=systems(), format=st.sampled_from(["dense", "coo", "csr", "csc"]))
    def run(system: tuple[np.ndarray, np.ndarray, str, dict[str, bool]], format: str) -> None:
        a, b, dtype, options = system
        rtol = 2e-4 if dtype in ("float32", "complex64") else 1e-10
        if format == "dense" or library.lazy or a.ndim > 2:
            matrix = library.asarray(a)
        else:
            a[abs(a) < 0.5] = 0
            matrix = container(library, a, format)
        found = solve_triangular(matrix, library.asarray(b), axis=-1, **options)
        library.assert_equal(found, reference(a, b, **options), rtol=rtol, atol=rtol)

    run()


def test_against_scipy(library: Library) -> None:
    a, b = regular(5, 5), normal(5)
    expected = scipy.linalg.solve_triangular(a, b, lower=True, trans="T")
    library.assert_equal(solve_triangular(*map(library.asarray, (a, b)), transposed=True), expected, rtol=1e-12)


def test_the_other_triangle_is_not_read(library: Library) -> None:
    a = regular(3, 3)
    a[0, 2] = a[1, 2] = np.nan
    b = normal(3)
    expected = scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False)
    library.assert_equal(solve_triangular(library.asarray(a), library.asarray(b)), expected, rtol=1e-12)
    if not library.lazy:
        library.assert_equal(solve_triangular(container(library, a), library.asarray(b)), expected, rtol=1e-12)
    np.fill_diagonal(a, np.nan)
    expected = np.linalg.solve(np.tril(a, -1) + np.eye(3), b)
    options = {"unit_diagonal": True}
    library.assert_equal(solve_triangular(library.asarray(a), library.asarray(b), **options), expected, rtol=1e-12)
    if not library.lazy:
        found = solve_triangular(container(library, a), library.asarray(b), **options)
        library.assert_equal(found, expected, rtol=1e-12)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_zeros_on_the_diagonal(library: Library) -> None:
    a = np.asarray([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0], [1.0, 1.0, 3.0]])
    b = library.asarray(np.ones(3))
    for matrix in (library.asarray(a), container(library, a)):
        with pytest.raises(ValueError, match=r"solve_triangular: A has a zero on the diagonal.*factorize"):
            solve_triangular(matrix, b)
    stored = sparse.CSR(*map(library.asarray, (np.asarray([1.0, 0.0]), np.arange(2), np.arange(3))), (2, 2))
    with pytest.raises(ValueError, match="zero on the diagonal"):
        solve_triangular(stored, b[:2])
    library.assert_equal(solve_triangular(library.asarray(a), b, unit_diagonal=True), np.asarray([1.0, -1.0, 1.0]))


def test_verdicts_in_a_stack(library: Library) -> None:
    a = np.stack([regular(3, 3), regular(3, 3), regular(3, 3), np.diag([1.0, 1e-200, 1.0])])
    a[1, 1, 1], a[2, 2, 0] = 0.0, np.inf
    b = normal(3)
    for lower in (True, False):
        matrices = a if lower else a.mT
        found = factorize(library.asarray(matrices), method="lower" if lower else "upper")
        statuses = [Status.CONVERGED, Status.SINGULAR, Status.NON_FINITE, Status.CONVERGED]
        library.assert_equal(found.status, np.asarray(statuses, np.int32))
        assert found.method.startswith("triangular (")
        x = library.to_numpy(found.solve(library.asarray(b)))
        assert np.isnan(x[1:3]).all()
        for i in (0, 3):
            np.testing.assert_allclose(x[i], reference(matrices[i], b, lower), rtol=1e-10)
            transposed = library.to_numpy(found.solve_transposed(library.asarray(b)))[i]
            np.testing.assert_allclose(transposed, reference(matrices[i], b, lower, False, True), rtol=1e-10)
        if not library.lazy:
            for matrix, status in zip(matrices, statuses):
                one = factorize(container(library, matrix), method="lower" if lower else "upper")
                library.assert_equal(one.status, np.asarray(status, np.int32))
                assert one.method.startswith("triangular (SuperLU")


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_second_derivatives(library: Library) -> None:
    values, b = library.asarray(normal(len(ROWS)) + 4), library.asarray(B[0])
    rows, columns = library.asarray(ROWS), library.asarray(COLUMNS)
    order = 2 if library.id in ("numpy", "torch") else 1
    autodiff.check_grads(lambda values, b: of_pattern(values, rows, columns, b), (values, b), order=order)


def test_bad_input(library: Library) -> None:
    a, v = library.asarray(A), library.asarray(B[0])
    integers = library.asarray(np.eye(4, dtype=int))
    calls: list[tuple[Callable[[], Any], type, str]] = [
        (lambda: solve_triangular(a, v, lower="no"), TypeError, "solve_triangular: lower must be True or False"),
        (lambda: solve_triangular(a, v, unit_diagonal=1), TypeError, "unit_diagonal must be True or False"),
        (lambda: solve_triangular(a, v, transposed=None), TypeError, "transposed must be True or False"),
        (lambda: solve_triangular(a[:2, :], v), ValueError, "solve_triangular: A must hold square matrices"),
        (lambda: solve_triangular(integers, v), TypeError, "A must have a floating-point data type"),
        (lambda: solve_triangular(a, integers), TypeError, "b must have a floating-point data type"),
        (lambda: solve_triangular(a, v[:3]), ValueError, r"solve_triangular: b must have the shape \(4,\)"),
        (lambda: solve_triangular(a, [1.0]), TypeError, "solve_triangular: b must be an array, got list"),
        (lambda: solve_triangular([[1.0]], v), TypeError, "solve_triangular: A must be"),
    ]
    if not library.lazy:
        wide = container(library, np.ones((2, 3)))
        calls.append((lambda: solve_triangular(wide, v), ValueError, "solve_triangular: A must hold square matrices"))
    for call, error, message in calls:
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("lower", [True, False])
def test_named_as_a_method(library: Library, lower: bool) -> None:
    """`solve` reads that triangle alone, for its residual too, and says which of a stack is singular."""
    method = "lower" if lower else "upper"
    matrices, b = regular(3, 4, 4), normal(3, 4)
    matrices[:, *((0, 3) if lower else (3, 0))] = np.nan
    expected = reference(np.nan_to_num(matrices), b, lower=lower)
    matrices[1, 2, 2] = 0.0
    result = solve(library.asarray(matrices), library.asarray(b), axis=-1, method=method, throw=False)
    status = [Status.CONVERGED, Status.SINGULAR, Status.CONVERGED]
    library.assert_equal(result.status, np.asarray(status, np.int32))
    library.assert_equal(result.x[::2, :], expected[::2], rtol=1e-10)
    assert (library.to_numpy(result.residual_norm)[::2] < 1e-12).all()
    assert result.method.startswith("triangular (")
    if not library.lazy:
        whole = regular(4, 4)
        result = solve(container(library, whole), library.asarray(b), axis=-1, method=method)
        library.assert_equal(result.x, reference(whole, b, lower=lower), rtol=1e-10)
        assert library.to_numpy(result.converged).all()
    with pytest.raises(ValueError, match=f"solve: method='{method}' needs a matrix, got a function"):
        solve(lambda x: x, library.asarray(b), method=method)
    with pytest.raises(ValueError, match=f"solve: method='{method}' needs a square A"):
        solve(library.asarray(normal(3, 4)), library.asarray(b[:, :3]), axis=-1, method=method)
