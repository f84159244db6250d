"""Schur forms, square roots of matrices, Sylvester equations: every library against SciPy, transformations."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import linalg
from xpand_extensions.autodiff import jvp

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def squared(*shape: int, dtype: str = "float64") -> np.ndarray:
    x = normal(*shape, dtype=dtype) + 2.0 * np.eye(shape[-1], dtype=dtype)
    return np.asarray(x @ x, dtype=dtype)


def adjoint(x: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(x, -1, -2))


def root(x: np.ndarray) -> np.ndarray:
    found = np.stack([scipy.linalg.sqrtm(m) for m in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape)
    return np.asarray(found if x.dtype.kind == "c" else found.real)


def sylvester(a: np.ndarray, b: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Solve as one linear system."""
    m, n = q.shape[-2:]
    system = np.kron(a, np.eye(n)) + np.kron(np.eye(m), b.T)
    return np.asarray(np.linalg.solve(system, q.reshape(-1)).reshape(m, n))


def modulus_of_schur(x: Any) -> Any:
    """Functions of the factors that don't depend on phases."""
    triangle, unitary = linalg.schur(x)
    return abs(triangle), abs(unitary) ** 2


A, B, Q = normal(3, 3) + 3.0 * np.eye(3), normal(2, 2) + 2.0 * np.eye(2), normal(3, 2)
CASES = {
    "schur": Case(
        modulus_of_schur,
        (A,),
        reference=lambda x: tuple(
            f(each) for f, each in zip((np.abs, lambda z: np.abs(z) ** 2), scipy.linalg.schur(x, output="complex"))
        ),
        differentiable=(0,),
        rtol=1e-9,
    ),
    "sqrtm": Case(linalg.sqrtm, (squared(3, 3),), reference=root, differentiable=(0,), rtol=1e-10),
    "sqrtm, complex": Case(linalg.sqrtm, (squared(2, 3, 3, dtype="complex128"),), reference=root, rtol=1e-10),
    "solve_sylvester": Case(
        linalg.solve_sylvester, (A, B, Q), reference=sylvester, differentiable=(0, 1, 2), rtol=1e-10, atol=1e-12
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked({name: case for name, case in CASES.items() if case.differentiable})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("dtype", FLOATING)
def test_every_type(library: Library, dtype: str) -> None:
    tolerance = 1e-5 if dtype in ("float32", "complex64") else 1e-12
    as_complex = np.result_type(dtype, np.complex64)
    for size in (1, 2, 3, 7):
        x = normal(2, size, size, dtype=dtype)
        triangle, unitary = map(library.to_numpy, linalg.schur(library.asarray(x)))
        assert triangle.dtype == unitary.dtype == as_complex
        np.testing.assert_allclose(unitary @ triangle @ adjoint(unitary), x, atol=20 * tolerance)
        np.testing.assert_allclose(unitary @ adjoint(unitary), np.broadcast_to(np.eye(size), x.shape), atol=tolerance)
        assert not np.tril(triangle, k=-1).any()
        power = squared(2, size, size, dtype=dtype)
        root = library.to_numpy(linalg.sqrtm(library.asarray(power)))
        assert root.dtype == np.dtype(dtype)
        np.testing.assert_allclose(root @ root, power, atol=200 * tolerance)
        b, q = normal(size + 1, size + 1, dtype=dtype), normal(size, size + 1, dtype=dtype)
        solution = linalg.solve_sylvester(*map(library.asarray, (power, b @ b, q)))
        expected = np.stack([sylvester(a, b @ b, q) for a in power.astype(as_complex)])
        expected = (expected if as_complex == dtype else expected.real).astype(dtype)
        library.assert_equal(solution, expected, rtol=0, atol=1e4 * tolerance * max(1.0, np.max(np.abs(expected))))


def test_narrow_types() -> None:
    import jax.numpy as jnp

    for x in (squared(3, 3).astype(np.float16), jnp.asarray(squared(3, 3), dtype=jnp.bfloat16)):
        root = linalg.sqrtm(x)
        assert root.dtype == x.dtype
        expected = scipy.linalg.sqrtm(np.asarray(x, dtype=np.float64))
        np.testing.assert_allclose(np.asarray(root, dtype=np.float64), expected, rtol=0.05, atol=0.05)
        assert linalg.schur(x).triangle.dtype == np.complex64


MATRICES = {
    "zeros": np.zeros((4, 4)),
    "identity": np.eye(4),
    "one Jordan block": 2.0 * np.eye(5) + np.diag(np.ones(4), k=1),
    "nilpotent": np.diag(np.ones(4), k=-1),
    "cyclic permutation": np.roll(np.eye(6), 1, axis=0),  # the usual shifts lead in circles
    "rotation": np.asarray([[0.0, -1.0], [1.0, 0.0]]),
    "two equal blocks": np.kron(np.eye(2), [[1.0, 2.0], [3.0, 4.0]]),
    "large and small": np.asarray([[1e200, 1.0], [2.0, 1e-200]]),
    "tiny": 1e-300 * np.asarray([[1.0, 2.0], [3.0, 4.0]]),
    "Hermitian": np.asarray([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]),
    "companion": np.diag(np.ones(6), k=-1) + np.asarray([[1.0, -2.0, 3.0, -4.0, 5.0, -6.0, 7.0], *[[0.0] * 7] * 6]),
}


@pytest.mark.parametrize("name", MATRICES)
def test_forms_of_special_matrices(library: Library, name: str) -> None:
    x = MATRICES[name]
    triangle, unitary = map(library.to_numpy, linalg.schur(library.asarray(x)))
    norm = np.max(np.abs(x))
    np.testing.assert_allclose(unitary @ adjoint(unitary), np.eye(len(x)), atol=1e-13)
    np.testing.assert_allclose(unitary @ triangle @ adjoint(unitary), x, rtol=0, atol=1e-13 * norm)
    assert not np.tril(triangle, k=-1).any()


def test_the_generic_iteration_finds_eigenvalues() -> None:
    """It is not what NumPy and JAX use."""
    from xpand_extensions.generic.linalg import schur_factors

    for size in (2, 5, 30):
        x = normal(size, size, dtype="complex128")
        values = np.diagonal(schur_factors(x).triangle)
        expected = np.linalg.eigvals(x)
        assert max(np.min(np.abs(values - each)) for each in expected) < 1e-12 * size


def test_roots_of_singular_matrices(library: Library) -> None:
    factor = normal(6, 2)
    covariance = factor @ factor.T
    root = library.to_numpy(linalg.sqrtm(library.asarray(covariance)))
    np.testing.assert_allclose(root @ root, covariance, atol=1e-7)
    np.testing.assert_allclose(root, root.T, atol=1e-7)
    library.assert_equal(linalg.sqrtm(library.asarray(np.zeros((3, 3)))), np.zeros((3, 3)))


def test_roots_with_negative_eigenvalues(library: Library) -> None:
    """As for numbers: NaN as real matrices, and imaginary as complex ones."""
    stack = np.stack([np.diag([4.0, -9.0]), np.diag([4.0, 9.0])])
    expected = np.stack([np.full((2, 2), np.nan), np.diag([2.0, 3.0])])
    library.assert_equal(linalg.sqrtm(library.asarray(stack)), expected, rtol=1e-14)
    expected = np.stack([np.diag([2.0, 3.0j]), np.diag([2.0, 3.0])]).astype(complex)
    library.assert_equal(linalg.sqrtm(library.asarray(stack.astype(complex))), expected, rtol=1e-14)
    # A pair of conjugate eigenvalues near the negative axis has a real root.
    turn = 3.1
    rotation = np.asarray([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    half = np.asarray([[np.cos(turn / 2), -np.sin(turn / 2)], [np.sin(turn / 2), np.cos(turn / 2)]])
    library.assert_equal(linalg.sqrtm(library.asarray(rotation)), half, atol=1e-14)


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    stacks = draw(st.sampled_from([((), (), ()), ((2,), (), (1,)), ((), (3, 1), (2,))]))
    m, n = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    shapes = (*stacks[0], m, m), (*stacks[1], n, n), (*stacks[2], m, n)
    a, b, q = (rng.normal(size=shape) for shape in shapes)
    return a + 4.0 * np.eye(m), b + 4.0 * np.eye(n), q


def test_equations_hold(library: Library) -> None:
    @settings(max_examples=4 if library.id == "jax" else 8 if library.lazy else 25)
    @given(system=systems())
    def run(system: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        a, b, q = system
        x = library.to_numpy(linalg.solve_sylvester(*map(library.asarray, system)))
        np.testing.assert_allclose(a @ x + x @ b, np.broadcast_to(q, x.shape), atol=1e-11)

    run()


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_no_values(library: Library, shape: tuple[int, ...]) -> None:
    x = library.asarray(np.zeros(shape))
    library.assert_equal(linalg.sqrtm(x), np.zeros(shape))
    for factor in linalg.schur(x):
        library.assert_equal(factor, np.zeros(shape, dtype=complex))
    library.assert_equal(linalg.solve_sylvester(x, x, x), np.zeros(shape))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite(library: Library, value: float) -> None:
    x = np.stack([squared(3, 3)] * 2)
    x[1, 0, 2] = value
    for result in (*linalg.schur(library.asarray(x)), linalg.sqrtm(library.asarray(x))):
        found = np.asarray(library.to_numpy(result))
        assert np.isnan(found[1]).all()
        assert np.isfinite(found[0]).all()


def test_derivatives_at_equal_eigenvalues_are_not_finite(library: Library) -> None:
    x, direction = library.asarray(np.eye(3)), library.asarray(normal(3, 3))
    with np.errstate(all="ignore"):
        _, (triangle, _) = jvp(lambda x: tuple(linalg.schur(x)), (x,), (direction,))
        assert np.isnan(library.to_numpy(triangle)).any()


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_derivatives_along_a_direction(library: Library, dtype: str) -> None:
    """Factors keep their phases: the change of each column is orthogonal to it."""
    x, direction = normal(4, 4, dtype=dtype), normal(4, 4, dtype=dtype)
    factors = lambda x: tuple(linalg.schur(x))
    (t, u), (dt, du) = jvp(factors, (library.asarray(x),), (library.asarray(direction),))
    t, u, dt, du = map(library.to_numpy, (t, u, dt, du))
    assert not np.tril(dt, k=-1).any()
    np.testing.assert_allclose(du @ t @ adjoint(u) + u @ dt @ adjoint(u) + u @ t @ adjoint(du), direction, atol=1e-10)
    np.testing.assert_allclose(np.diagonal(adjoint(u) @ du), 0.0, atol=1e-11)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    values = squared(2, 3, 3)
    x = da.from_array(values, chunks=(1, 2, 3))
    with nothing_computed():
        results = linalg.sqrtm(x), linalg.solve_sylvester(x, x, x), linalg.schur(x).triangle
    expected = linalg.sqrtm(values), linalg.solve_sylvester(values, values, values), linalg.schur(values).triangle
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["schur", "sqrtm"])
def test_bad_matrices(library: Library, name: str) -> None:
    function = getattr(linalg, name)
    with pytest.raises(TypeError, match=f"{name}: x must be an array, got list"):
        function([[1.0]])
    with pytest.raises(TypeError, match=f"{name}: x must have a floating-point data type"):
        function(library.asarray([[1]]))
    for shape in ((), (3,), (2, 3)):
        with pytest.raises(ValueError, match=rf"{name}: x must hold square matrices, \(..., n, n\)"):
            function(library.asarray(np.ones(shape)))


def test_bad_equations(library: Library) -> None:
    a, b, q = map(library.asarray, (A, B, Q))
    with pytest.raises(TypeError, match="solve_sylvester: b must be an array, got list"):
        linalg.solve_sylvester(a, [[1.0]], q)
    with pytest.raises(ValueError, match="solve_sylvester: b must hold square matrices"):
        linalg.solve_sylvester(a, q, q)
    with pytest.raises(ValueError, match=r"solve_sylvester: q must have the shape \(..., 3, 2\) .* got \(3, 3\)"):
        linalg.solve_sylvester(a, b, a)
    many, more = library.asarray(np.stack([A] * 2)), library.asarray(np.stack([Q] * 3))
    with pytest.raises(ValueError, match="solve_sylvester: the stacks of a, .* don't broadcast together"):
        linalg.solve_sylvester(many, b, more)
