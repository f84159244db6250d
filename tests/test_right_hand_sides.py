"""Right-hand sides of all solvers: one vector or columns, as in the standard; vectors along the last axis if asked."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand_extensions import linear_solve, sparse, vmap

RNG = np.random.default_rng(5)
N = 3


def definite(*stack: int) -> np.ndarray:
    a = RNG.normal(size=(*stack, N, N))
    return a @ a.mT + 3.0 * np.eye(N)


ONE, STACK = definite(), definite(2)
SIDES = {
    "one vector": RNG.normal(size=N),
    "a square matrix": RNG.normal(size=(N, N)),
    "columns": RNG.normal(size=(N, 2)),
    "a stack": RNG.normal(size=(2, N, N)),
    "none": RNG.normal(size=(N, 0)),
}

Solver = Callable[..., Any]


def transposed(x: Any) -> Any:
    return sparse.matrix_transpose(x) if isinstance(x, sparse.Sparse) else x.mT


def solved(**options: Any) -> Solver:
    return lambda a, b, **axis: linear_solve.solve(a, b, **axis, rtol=1e-12, max_steps=20, **options).x


SOLVERS: dict[str, Solver] = {
    "solve": solved(),
    "cg": solved(method="cg"),
    "cg, preconditioned": lambda a, b, **axis: solved(method="cg", preconditioner=linear_solve.jacobi(a))(a, b, **axis),
    "gmres, preconditioned by a function": solved(method="gmres(3)", preconditioner=lambda r: 0.1 * r),
    "lsmr": solved(method="lsmr"),
    "lstsq": lambda a, b, **axis: linear_solve.lstsq(a, b, **axis).x,
    "least squares by solve": solved(method="lstsq"),
    "factorize": lambda a, b, **axis: linear_solve.factorize(a).solve(b, **axis),
    "cholesky": lambda a, b, **axis: linear_solve.direct_solve(a, b, positive_definite=True, **axis),
    "transposed": lambda a, b, **axis: linear_solve.factorize(a).solve_transposed(b, **axis),
}
TRIANGULAR: dict[str, Solver] = {
    "solve_triangular": linear_solve.solve_triangular,
    "lower": solved(method="lower"),
    "factorized": lambda a, b, **axis: linear_solve.factorize(a, method="lower").solve(b, **axis),
}
DENSE_ONLY = ("lstsq", "least squares by solve", "cholesky")
# JAX compiles each shape, Dask plans all steps, and the strict library takes long: of these a few.
FEW = ("solve", "lstsq", "factorize", "solve_triangular")


def libraries(name: str) -> list[Library]:
    return [each for each in LIBRARIES if name in FEW or each.id in ("numpy", "torch")]


@pytest.mark.parametrize(
    ("name", "library"),
    [(name, each) for name in (*SOLVERS, *TRIANGULAR) for each in libraries(name)],
    ids=str,
)
def test_columns_and_rows(name: str, library: Library) -> None:
    solve = SOLVERS.get(name) or TRIANGULAR[name]
    for a in (ONE, STACK):
        whole = np.tril(a) if name in TRIANGULAR else a
        kinds = [library.asarray(a)]
        if name not in DENSE_ONLY and not library.lazy:
            kinds.append(sparse.from_dense(kinds[0], batch_ndim=a.ndim - 2))
        for b in SIDES.values():
            if library.id in ("jax", "dask") and b.shape != (N, N):
                continue
            expected = np.linalg.solve(whole, b)
            for matrix in kinds:
                library.assert_equal(solve(matrix, library.asarray(b)), expected, rtol=1e-8, atol=1e-9)
            if b.ndim == 1 or a.ndim > 2:
                continue
            rows = np.ascontiguousarray(np.moveaxis(b, -2, -1))
            for matrix in kinds:
                found = solve(matrix, library.asarray(rows), axis=-1)
                library.assert_equal(found, np.moveaxis(expected, -2, -1), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", [*SOLVERS, *TRIANGULAR])
def test_a_vector_for_each_matrix(name: str) -> None:
    """The standard takes (batch, n) for a matrix; one vector for each of a stack is `axis=-1`, or `b[..., None]`."""
    solve = SOLVERS.get(name) or TRIANGULAR[name]
    b = RNG.normal(size=(2, N))
    whole = np.tril(STACK) if name in TRIANGULAR else STACK
    expected = np.linalg.solve(whole, b[..., None])
    np.testing.assert_allclose(solve(STACK, b, axis=-1), expected[..., 0], rtol=1e-8)
    np.testing.assert_allclose(solve(STACK, b[..., None]), expected, rtol=1e-8)
    with pytest.raises(ValueError, match=r"b must have the shape \(3,\) or .* got \(2, 3\); .* pass `axis=-1`"):
        solve(STACK, b)


def test_what_is_said_of_each_system(eager_library: Library) -> None:
    """The other fields have a number for each column; a guess is laid out like the solution, or is one vector."""
    options = {"method": "cg", "rtol": 1e-12, "max_steps": 3 * N}
    for a in (ONE, STACK) if eager_library.id != "jax" else (STACK,):
        b = SIDES["columns"]
        expected = np.linalg.solve(a, b)
        for x0 in (expected, np.zeros(N)):
            result = linear_solve.solve(
                eager_library.asarray(a), eager_library.asarray(b), x0=eager_library.asarray(x0), **options
            )
            batch = (*expected.shape[:-2], 2)
            assert tuple(result.x.shape) == tuple(result.residual.shape) == expected.shape
            for field in (result.residual_norm, result.iterations, result.status, result.converged):
                assert tuple(field.shape) == batch
            eager_library.assert_equal(result.x, expected, rtol=1e-9)
            eager_library.assert_equal(result.residual, b - a @ eager_library.to_numpy(result.x), atol=1e-12)
            assert (eager_library.to_numpy(result.iterations) == 0).all() == (x0 is expected)
    norms = np.linalg.norm(eager_library.to_numpy(result.residual), axis=-2)
    eager_library.assert_equal(result.residual_norm, norms, atol=1e-14)


def test_trajectories_and_tolerances_of_columns() -> None:
    b = SIDES["columns"]
    steps = linear_solve.solve(STACK, b, method="cg", max_steps=(0, 10), rtol=np.asarray([1e-1, 1e-12]))
    assert steps.x.shape == (2, 2, N, 2)
    assert steps.status.shape == (2, 2, 2)
    np.testing.assert_allclose(steps.x[1, ..., 1], np.linalg.solve(STACK, b)[..., 1], rtol=1e-10)
    assert (steps.iterations[1, :, 0] < steps.iterations[1, :, 1]).all()
    direct = linear_solve.solve(STACK, b, max_steps=(1, 2))
    np.testing.assert_allclose(direct.x, np.stack([np.linalg.solve(STACK, b)] * 2), rtol=1e-10)


def test_null_spaces_of_columns() -> None:
    path = np.asarray([[1.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 1.0]])
    b = np.asarray([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    found = linear_solve.solve(path, b, method="cg", nullspace="constant")
    np.testing.assert_allclose(found.x, np.linalg.pinv(path) @ b, atol=1e-9)


def test_preconditioners() -> None:
    for build in (
        linear_solve.jacobi,
        lambda a: linear_solve.block_jacobi(a, 2),
        linear_solve.ssor,
        linear_solve.chebyshev,
    ):
        for a in (ONE, STACK):
            m = build(a)
            dense = m(np.broadcast_to(np.eye(N), a.shape))
            np.testing.assert_allclose(m(np.eye(N)), dense, rtol=1e-12)
            for b in SIDES.values():
                np.testing.assert_allclose(m(b), dense @ b, rtol=1e-12, atol=1e-14)
                np.testing.assert_allclose(m.transposed(b), dense.mT @ b, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(m(RNG.normal(size=(2, N)), axis=-1).shape, (2, N))  # the last is that of a stack
        with pytest.raises(ValueError, match=r"preconditioner: r must have the shape \(3,\) or .* pass `axis=-1`"):
            m(RNG.normal(size=(2, N)))


def test_mapped_columns() -> None:
    b = RNG.normal(size=(4, N, 2))
    for solve in (SOLVERS["factorize"], SOLVERS["cg"], SOLVERS["lstsq"], TRIANGULAR["solve_triangular"]):
        found = vmap.vmap(
            lambda b, solve=solve: solve(np.tril(ONE), b) if solve in TRIANGULAR.values() else solve(ONE, b)
        )(b)
        whole = np.tril(ONE) if solve in TRIANGULAR.values() else ONE
        np.testing.assert_allclose(found, np.linalg.solve(whole, b), rtol=1e-8)
