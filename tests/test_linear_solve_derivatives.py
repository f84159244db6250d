"""Derivatives of solutions, under `jit` and `vmap`: by every method, in both modes, on every library."""

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
import torch

import xpand
from tests.libraries import EAGER_LIBRARIES, Library, unless
from tests.systems import vector
from xpand_extensions import sparse
from xpand_extensions.autodiff import check_grads, custom_linear_solve, grad, hessian, jvp, stop_gradient
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import ConvergenceError, Status, solve
from xpand_extensions.vmap import vmap

N = 4
RANDOM = np.random.default_rng(0)
DEFINITE = 0.3 * RANDOM.normal(size=(N, N))
DEFINITE = DEFINITE @ DEFINITE.T + 2 * np.eye(N)
GENERAL = 0.3 * RANDOM.normal(size=(N, N)) + 2 * np.eye(N)
B, W, DB = vector(N), vector(N, seed=1), vector(N, seed=2)
DA = RANDOM.normal(size=(N, N))

SYMMETRIC = ["cg", "minres", "cholesky"]
GENERAL_KRYLOV = ["bicg", "bicgstab", "bicgstab(2)", "cgs", "qmr", "gmres", "gmres(2)", "gcrot(2)"]
METHODS = [*SYMMETRIC, "cg-adaptive", *GENERAL_KRYLOV, "lsqr", "lsmr", "lu"]


# JAX compiles each for seconds; what the methods do there is what they do elsewhere.
COMPILED = ["cg", "bicgstab", "lsqr"]


def matrix_of(method: str) -> np.ndarray:
    return DEFINITE if method in (*SYMMETRIC, "cg-adaptive") else GENERAL


def solution(method: str) -> Any:
    """The solution as a function of the matrix and the right-hand side; of symmetric ones the matrix is made so."""

    def function(a: Any, b: Any) -> Any:
        xp = xpand.array_namespace(a)
        if method in SYMMETRIC:
            a = (a + xp.matrix_transpose(a)) / 2.0
        return solve(a, b, method=method, rtol=1e-13, symmetric=method in SYMMETRIC or None).x

    return function


def weighted(library: Library, function: Any) -> Any:
    weights = library.asarray(W)

    def total(*arrays: Any) -> Any:
        x = function(*arrays)
        xp = xpand.array_namespace(x)
        return xp.sum(x * weights)

    return total


def expected_gradients(a: np.ndarray, method: str) -> tuple[np.ndarray, np.ndarray]:
    to_b = np.linalg.solve(a.T, W)
    to_a = -np.outer(to_b, np.linalg.solve(a, B))
    return ((to_a + to_a.T) / 2 if method in SYMMETRIC else to_a), to_b


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", METHODS)
@unless(lambda method, library: method not in {"jax": COMPILED, "strict-device1": ("cg",)}.get(library.id, METHODS))
def test_both_modes(library: Library, method: str) -> None:
    a = matrix_of(method)
    arrays = library.asarray(a), library.asarray(B)
    gradients = grad(weighted(library, solution(method)), (0, 1))(*arrays)
    for found, wanted in zip(gradients, expected_gradients(a, method)):
        library.assert_equal(found, wanted, rtol=1e-8, atol=1e-9)
    tangent = (DA + DA.T) / 2 if method in SYMMETRIC else DA
    _, found = jvp(solution(method), arrays, (library.asarray(tangent), library.asarray(DB)))
    library.assert_equal(found, np.linalg.solve(a, DB - tangent @ np.linalg.solve(a, B)), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("library", [each for each in EAGER_LIBRARIES if each.id in ("numpy", "torch")], ids=str)
@pytest.mark.parametrize("method", ["cg", "lu", "bicgstab", "gmres", "cgs", "qmr", "gcrot(2)"])
def test_second_order(library: Library, method: str) -> None:
    check_grads(solution(method), (library.asarray(matrix_of(method)), library.asarray(B)), order=2)


def test_second_order_on_jax() -> None:
    a, b = jax.numpy.asarray(DEFINITE), jax.numpy.asarray(B)
    total = lambda b: (solution("cg")(a, b) ** 3).sum()
    inverse = np.linalg.inv(DEFINITE)
    expected = inverse.T @ np.diag(6 * (inverse @ B)) @ inverse
    np.testing.assert_allclose(jax.jit(jax.hessian(total))(b), expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", ["cg", "bicgstab", "gmres(3)", "minres", "lsqr"])
@unless(lambda method, library: library.id == "jax" and method not in COMPILED)
@unless(lambda method, library: library.id.startswith("strict") and method != "cg")
def test_jit_and_vmap(library: Library, method: str) -> None:
    """Of one matrix and many right-hand sides, and of many matrices; of gradients as well."""
    a = matrix_of(method)
    matrices, sides = np.stack([a, a + np.eye(N), 3 * a]), np.stack([B, DB, W])
    one = solution(method)
    compiled = jit(one)
    for _ in range(2):
        library.assert_equal(compiled(library.asarray(a), library.asarray(B)), np.linalg.solve(a, B), rtol=1e-9)
    if library.id == "jax" and method != "cg":
        return
    mapped = vmap(one, in_axes=(None, 0))(library.asarray(a), library.asarray(sides))
    library.assert_equal(mapped, np.linalg.solve(a, sides.T).T, rtol=1e-9, atol=1e-10)
    mapped = vmap(one)(library.asarray(matrices), library.asarray(sides))
    expected = np.linalg.solve(matrices, sides[..., None])[..., 0]
    library.assert_equal(mapped, expected, rtol=1e-9, atol=1e-10)
    gradients = vmap(grad(weighted(library, one), 1))(library.asarray(matrices), library.asarray(sides))
    expected = np.linalg.solve(matrices.transpose(0, 2, 1), np.stack([W] * 3)[..., None])[..., 0]
    library.assert_equal(gradients, expected, rtol=1e-8, atol=1e-9)


def test_results_pass_through_compilers() -> None:
    """A result is a tree to JAX and to PyTorch."""
    result = jax.jit(lambda a, b: solve(a, b, method="cg"))(DEFINITE, B)
    assert result.method == "cg"
    assert int(result.status) == 0
    np.testing.assert_allclose(result.x, np.linalg.solve(DEFINITE, B), rtol=1e-7)
    unsolved = jax.jit(lambda a, b: solve(a, b, method="cg", max_steps=1, throw=True))(DEFINITE, B)
    assert int(unsolved.status) == Status.MAX_STEPS  # which nothing could raise for, under jit
    found = torch.func.vmap(lambda b: solve(torch.asarray(DEFINITE), b, method="cg"))(
        torch.asarray(np.stack([B, 2 * B]))
    )
    np.testing.assert_allclose(found.x[1].numpy(), np.linalg.solve(DEFINITE, 2 * B), rtol=1e-7)
    compiled = torch.compile(lambda a, b: solve(a, b, method="cg").x, fullgraph=True, backend="eager")
    np.testing.assert_allclose(
        compiled(torch.asarray(DEFINITE), torch.asarray(B)), np.linalg.solve(DEFINITE, B), rtol=1e-7
    )


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_only_some_of_the_unknowns_are_differentiated(library: Library) -> None:
    """A least-squares problem is a system of two blocks, of which one right-hand side is zero."""
    a = np.asarray([[1.0, 0.0], [2.0, 3.0], [0.0, 1.0]])
    pseudo = np.linalg.pinv(a)
    b = library.asarray(np.asarray([1.0, -2.0, 0.5]))

    def of_side(b: Any) -> Any:
        xp = xpand.array_namespace(b)
        return xp.sum(solve(sparse.from_dense(library.asarray(a)), b).x ** 2)

    library.assert_equal(grad(of_side)(b), 2.0 * pseudo.T @ (pseudo @ library.to_numpy(b)), rtol=1e-9)
    library.assert_equal(hessian(of_side)(b), 2.0 * pseudo.T @ pseudo, rtol=1e-9, atol=1e-12)
    library.assert_equal(jvp(grad(of_side), (b,), (b,))[1], 2.0 * pseudo.T @ (pseudo @ library.to_numpy(b)), rtol=1e-9)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_one_of_several_right_hand_sides_is_differentiated(library: Library, symmetric: bool) -> None:
    b = library.asarray(np.asarray([1.0, -2.0]))

    def of_first(b: Any) -> Any:
        xp = xpand.array_namespace(b)
        x, y = custom_linear_solve(
            lambda x: (2.0 * x[0] + float(symmetric) * x[1], x[0] + 2.0 * x[1]),
            (b, library.asarray(np.asarray([3.0, 4.0]))),
            solve=lambda b: (
                ((2.0 * b[0] - float(symmetric) * b[1]) / (4.0 - float(symmetric))),
                ((2.0 * b[1] - b[0]) / (4.0 - float(symmetric))),
            ),
            transpose_solve=None if symmetric else lambda b: ((2.0 * b[0] - b[1]) / 4.0, b[1] / 2.0),
            symmetric=symmetric,
        )
        return xp.sum(x * x * y)

    values = library.to_numpy(b)
    inverse = np.linalg.inv(np.asarray([[2.0, float(symmetric)], [1.0, 2.0]]))
    x, y = inverse @ np.stack([values, np.asarray([3.0, 4.0])])
    to_x, to_y = inverse[:, 0]
    library.assert_equal(grad(of_first)(b), 2.0 * x * y * to_x + x * x * to_y, rtol=1e-12)
    curvature = 2.0 * y * to_x**2 + 4.0 * x * to_x * to_y
    library.assert_equal(hessian(of_first)(b), np.diag(curvature), rtol=1e-12)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_values_of_sparse_matrices(library: Library) -> None:
    """The gradient has the pattern of the matrix."""
    rows, columns = np.nonzero(np.abs(GENERAL) > 0.2)
    pattern = tuple(library.asarray(x) for x in (rows, columns))
    a = np.where(np.abs(GENERAL) > 0.2, GENERAL, 0.0)

    def one(values: Any, b: Any) -> Any:
        return solve(sparse.COO(values, pattern, (N, N)), b, method="bicgstab", rtol=1e-13).x

    values = library.asarray(a[rows, columns])
    gradient = grad(weighted(library, one))(values, library.asarray(B))
    expected = -np.outer(np.linalg.solve(a.T, W), np.linalg.solve(a, B))[rows, columns]
    library.assert_equal(gradient, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", ["cg", "bicgstab"])
def test_parameters_of_functions(library: Library, method: str) -> None:
    def function(x: Any, scale: Any, shift: Any) -> Any:
        xp = xpand.array_namespace(x, scale, shift["all"])
        return scale * x * shift["all"] - 0.1 * xp.flip(x)

    def one(scale: Any, b: Any) -> Any:
        shift = {"all": library.asarray(2.0)}
        return solve(function, b, method=method, args=(scale, shift), rtol=1e-13, symmetric=method == "cg").x

    scale = 1.0 + np.arange(N) / N
    a = np.diag(2 * scale) - 0.1 * np.eye(N)[::-1]
    gradients = grad(weighted(library, one), (0, 1))(library.asarray(scale), library.asarray(B))
    to_b = np.linalg.solve(a.T, W)
    library.assert_equal(gradients[1], to_b, rtol=1e-8, atol=1e-9)
    library.assert_equal(gradients[0], -2 * to_b * np.linalg.solve(a, B), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("library", [each for each in EAGER_LIBRARIES if each.id in ("numpy", "torch")], ids=str)
def test_where_it_begins_makes_no_difference(library: Library) -> None:
    """The gradient in `x0` is zero, and a tangent far smaller than `x0` is found as well."""
    a, b = library.asarray(DEFINITE), library.asarray(B)
    one = lambda b, x0: solve(a, b, x0=x0, method="cg", rtol=1e-13).x
    x0 = library.asarray(1e6 * W)
    gradients = grad(weighted(library, one), (0, 1))(b, x0)
    library.assert_equal(gradients[0], np.linalg.solve(DEFINITE, W), rtol=1e-7)
    library.assert_equal(gradients[1], np.zeros(N))
    _, found = jvp(lambda b: one(b, x0), (b,), (library.asarray(DB),))
    library.assert_equal(found, np.linalg.solve(DEFINITE, DB), rtol=1e-7)


@pytest.mark.parametrize("library", [each for each in EAGER_LIBRARIES if each.id in ("numpy", "torch")], ids=str)
def test_preconditioned_trajectories_and_null_spaces(library: Library) -> None:
    a = GENERAL

    def one(a: Any, b: Any) -> Any:
        xp = xpand.array_namespace(a)
        diagonal = stop_gradient(xp.sum(a * library.asarray(np.eye(N)), axis=0))
        found = solve(a, b, method="bicgstab", rtol=1e-13, max_steps=(1, 50), preconditioner=lambda r: r / diagonal)
        return found.x[-1, ...]

    gradients = grad(weighted(library, one), (0, 1))(library.asarray(a), library.asarray(B))
    for found, wanted in zip(gradients, expected_gradients(a, "bicgstab")):
        library.assert_equal(found, wanted, rtol=1e-8, atol=1e-9)
    laplace = np.asarray([[1.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0.0, 0.0, -1.0, 1.0]])
    matrix = library.asarray(laplace)
    options: Any = {"method": "cg", "rtol": 1e-13, "nullspace": "constant", "throw": False}
    pure = lambda b: solve(matrix, b, **options).x
    gradient = grad(weighted(library, pure))(library.asarray(B))
    library.assert_equal(gradient, np.linalg.pinv(laplace) @ W, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("method", ["lsqr", "lsmr", "lstsq"])
@pytest.mark.parametrize("shape", [(6, 3), (3, 6)], ids=str)
def test_rectangular_gradients(shape: tuple[int, int], method: str) -> None:
    """By NumPy's pseudo-inverse, along one direction."""
    a, b, weights = RANDOM.normal(size=shape), vector(shape[0]), vector(shape[1])
    da, db, step = RANDOM.normal(size=shape), vector(shape[0], seed=4), 1e-6
    at = lambda s: np.linalg.pinv(a + s * da) @ (b + s * db)
    expected = (at(step) - at(-step)) / (2 * step)
    one = lambda a, b: solve(a, b, method=method, rtol=1e-13).x
    _, found = jvp(one, (a, b), (da, db))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    to_a, to_b = grad(lambda a, b: xpand.array_namespace(a).sum(one(a, b) * weights), (0, 1))(a, b)
    assert np.sum(to_a * da) + np.sum(to_b * db) == pytest.approx(expected @ weights, rel=1e-6)


def test_complex_gradients() -> None:
    """The derivative along one direction, by each library, is that of differences."""
    a = GENERAL + 0.3j * RANDOM.normal(size=(N, N))
    b, da = B + 1j * W, RANDOM.normal(size=(N, N)) + 1j * RANDOM.normal(size=(N, N))
    for method, matrix in (("gmres", a), ("bicgstab", a), ("bicg", a), ("lsqr", a), ("cg", a @ a.conj().T)):
        hermitian = method == "cg"
        direction = da + da.conj().T if hermitian else da

        def total(a: Any, b: Any, method: str = method, hermitian: bool = hermitian) -> Any:
            x = solve(a, b, method=method, rtol=1e-13, symmetric=hermitian).x
            xp = xpand.array_namespace(x)
            return xp.sum(xp.abs(x) ** 2)

        exact = lambda s, matrix=matrix, direction=direction: (
            np.abs(np.linalg.solve(matrix + s * direction, b)) ** 2
        ).sum()
        expected = (exact(1e-6) - exact(-1e-6)) / 2e-6
        found = np.sum(np.asarray(grad(total)(matrix, b)) * direction).real
        assert found == pytest.approx(expected, rel=1e-5), method
        _, tangent = jvp(lambda a, total=total: total(a, b), (matrix,), (direction,))
        assert float(tangent) == pytest.approx(expected, rel=1e-5), method


@pytest.mark.parametrize("mode", ["reverse", "forward"])
@pytest.mark.parametrize("method", ["cg", "bicgstab", "lsmr"])
def test_derivatives_that_do_not_converge(method: str, mode: str) -> None:
    a, b, ones = np.diag(np.arange(1.0, 31.0)), np.eye(30)[2], np.ones(30)

    def total(b: np.ndarray, throw: bool, max_steps: int = 6) -> Any:
        x = solve(a, b, method=method, throw=throw, max_steps=max_steps, rtol=1e-10).x
        return xpand.array_namespace(x).sum(x)

    def derivative(**options: Any) -> Any:
        if mode == "reverse":
            return grad(partial(total, **options))(b) @ ones
        return jvp(partial(total, **options), (b,), (ones,))[1]

    # The system itself takes a step or two: its right-hand side is an eigenvector. That of the derivative is not.
    assert total(b, True) == pytest.approx(1 / 3)
    with pytest.raises(ConvergenceError, match=f"the system of a derivative has not converged by method '{method}"):
        derivative(throw=True)
    exact = (1 / np.arange(1.0, 31.0)).sum()
    assert derivative(throw=True, max_steps=300) == pytest.approx(exact, rel=1e-7)
    # Without, it is what the steps gave.
    assert derivative(throw=False) != pytest.approx(exact, rel=1e-7)
