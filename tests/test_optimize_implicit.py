"""Derivatives of solutions: against closed forms, on every library that has derivatives, in both modes."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library, unless
from xpand import array_namespace
from xpand_extensions import linear_solve
from xpand_extensions.autodiff import check_grads, grad, hessian, jacfwd, jacrev, jvp
from xpand_extensions.jit import jit
from xpand_extensions.optimize import brentq, fixed_point, least_squares, minimize, root
from xpand_extensions.vmap import vmap

A = np.asarray([[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
B = np.asarray([1.0, 2.0, 3.0])


def energy(x: Any, b: Any, a: Any) -> Any:
    xp = array_namespace(x)
    return 0.5 * xp.sum(x * xp.matmul(a, x)) - xp.sum(b * x) + 0.1 * xp.sum(x**4)


def minimum(b: Any, a: Any, method: str = "bfgs") -> Any:
    return minimize(energy, 0.0 * b, args=(b, a), method=method, atol=1e-11).x


def jacobian_of_minimum() -> tuple[np.ndarray, np.ndarray]:
    x = minimum(B, A)
    return x, np.linalg.inv(A + np.diag(1.2 * x**2))


@pytest.mark.parametrize("mode", [jacfwd, jacrev])
# Both are by JAX's own rule, and compile for seconds.
@unless(lambda mode, eager_library: eager_library.id == "jax" and mode is jacfwd)
def test_of_minima(eager_library: Library, mode: Any) -> None:
    b, a = eager_library.asarray(B), eager_library.asarray(A)
    x, inverse = jacobian_of_minimum()
    eager_library.assert_equal(mode(minimum)(b, a), inverse, rtol=1e-8, atol=1e-10)
    if eager_library.id == "numpy":
        found = mode(minimum, 1)(b, a)
        # The energy sees the symmetric part of the matrix alone.
        wanted = -0.5 * (np.einsum("ij,k->ijk", inverse, x) + np.einsum("ik,j->ijk", inverse, x))
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["l-bfgs", "newton-cg", "nelder-mead"])
def test_of_minima_of_every_method(method: str) -> None:
    _, inverse = jacobian_of_minimum()
    # As exact as the minimum is.
    np.testing.assert_allclose(jacrev(lambda b: minimum(b, A, method))(B), inverse, rtol=1e-6, atol=1e-7)


def test_second_derivatives_and_values() -> None:
    # By the envelope theorem the gradient of the least energy is minus the minimum, its Hessian minus the inverse.
    least = lambda b: minimize(energy, 0.0 * b, args=(b, A), method="bfgs", atol=1e-11).fun
    x, inverse = jacobian_of_minimum()
    np.testing.assert_allclose(grad(least)(B), -x, rtol=1e-8)
    np.testing.assert_allclose(hessian(least)(B), -inverse, rtol=1e-6, atol=1e-8)
    check_grads(lambda b: minimum(b, A), (B,), order=2, modes=("fwd", "rev"), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch", "strict")], ids=str)
def test_compiled_mapped_and_closed_over(library: Library) -> None:
    _, inverse = jacobian_of_minimum()
    b, a = library.asarray(B), library.asarray(A)
    first = lambda b, a: minimum(b, a)[0]
    row = inverse[0]
    mapped = vmap(grad(first), in_axes=(0, None))(library.asarray(np.stack([B, B])), a)
    library.assert_equal(mapped, np.stack([row, row]), rtol=1e-8, atol=1e-10)
    if library.id != "torch":  # its compiler takes a minute
        library.assert_equal(jit(grad(first))(b, a), row, rtol=1e-8, atol=1e-10)
    zeros = library.asarray(np.zeros(3))
    closed = lambda b: minimize(lambda x: energy(x, b, A_of(x, a)), zeros, method="bfgs", atol=1e-11).x[0]
    library.assert_equal(grad(closed)(b), row, rtol=1e-8, atol=1e-10)


def A_of(x: Any, a: Any) -> Any:
    """Give the matrix the namespace of `x`, which strict arrays ask for."""
    namespace = getattr(type(x), "_namespace", None)
    return a if namespace is None else namespace.wrap(a)


@unless(lambda eager_library: eager_library.id == "jax")  # by JAX's own rule, which compiles for seconds
def test_second_derivatives_by_forward_mode(eager_library: Library) -> None:
    solution = lambda t: root(lambda x, t: x**3 + x - t, 0.0 * t, args=(t,)).x  # x = 1 at t = 2
    found = jacfwd(jacfwd(solution))(eager_library.asarray(2.0))
    eager_library.assert_equal(found, np.asarray(-6.0 / 4.0**3), rtol=1e-9)


def test_of_batches_of_minima() -> None:
    f = lambda x, b: array_namespace(x).sum((x - b) ** 2 + 0.1 * x**4, axis=-1)
    solve = lambda b: minimize(f, 0.0 * b, args=(b,), batch_ndim=1, method="bfgs", atol=1e-11).x
    b = np.asarray([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    found = jacrev(solve)(b)
    wanted = np.zeros((3, 2, 3, 2))
    slopes = 2.0 / (2.0 + 1.2 * solve(b) ** 2)
    for i, j in np.ndindex(3, 2):
        wanted[i, j, i, j] = slopes[i, j]
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


def test_variables_at_bounds_move_with_them() -> None:
    f = lambda x, b: array_namespace(x).sum((x - b) ** 2)
    solve = lambda b, upper: minimize(f, np.zeros(3), args=(b,), bounds=(None, upper), atol=1e-11).x
    b, upper = np.asarray([0.5, 2.0, -1.0]), np.asarray([1.0, 1.0, 1.0])
    np.testing.assert_allclose(jacrev(solve)(b, upper), np.diag([1.0, 0.0, 1.0]), atol=1e-10)
    np.testing.assert_allclose(jacfwd(solve, 1)(b, upper), np.diag([0.0, 1.0, 0.0]), atol=1e-10)


def test_a_minimum_on_a_bound_moves_with_it(eager_library: Library) -> None:
    """Also where both bounds leave one number, which is the minimum without them too."""
    b, upper = eager_library.asarray([1.0, 0.5, 2.0]), eager_library.asarray(np.ones(3))
    f = lambda x, b: array_namespace(x).sum((x - b) ** 2)
    below = lambda b, upper: minimize(f, 0.0 * b, args=(b,), bounds=(None, upper), atol=1e-11).x
    eager_library.assert_equal(jacrev(below)(b, upper), np.diag([0.0, 1.0, 0.0]), atol=1e-10)
    if eager_library.id == "jax":
        return  # each call compiles for seconds
    eager_library.assert_equal(jacrev(below, 1)(b, upper), np.diag([1.0, 0.0, 1.0]), atol=1e-10)
    fixed = lambda x: minimize(f, 0.0 * x, args=(b,), bounds=(x, x), atol=1e-11).x
    for mode in (jacfwd, jacrev):
        eager_library.assert_equal(mode(fixed)(b + upper), np.eye(3))
        eager_library.assert_equal(mode(fixed)(b), np.eye(3))


def test_singular_equations_have_no_derivative_and_leave_the_others_theirs(eager_library: Library) -> None:
    def f(x: Any, b: Any) -> Any:
        return array_namespace(x).where(b > 0.0, 2.0 * x, 0.0 * x) - b

    def solved(b: Any) -> Any:
        return root(f, 0.0 * b, args=(b,), batch_ndim=1).x

    b = eager_library.asarray([[8.0], [0.0], [1.0]])
    total = lambda b: array_namespace(b).sum(solved(b))
    eager_library.assert_equal(grad(total)(b), np.asarray([[0.5], [np.nan], [0.5]]))
    if eager_library.id == "jax":
        return
    alone = lambda b: array_namespace(b).sum(root(f, 0.0 * b, args=(b,)).x)
    eager_library.assert_equal(vmap(grad(alone))(b), np.asarray([[0.5], [np.nan], [0.5]]))
    eager_library.assert_equal(jvp(solved, (b,), (b,))[1], np.asarray([[4.0], [np.nan], [0.5]]))


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch", "jax", "strict")], ids=str)
def test_of_roots_fits_fixed_points_and_brackets(library: Library) -> None:
    c = library.asarray([2.0, 5.0])
    want = np.diag(0.5 / np.sqrt([2.0, 5.0]))
    square = lambda x, c: x * x - c
    solvers: dict[str, Any] = {
        "root": lambda c: root(square, 0.0 * c + 1.0, args=(c,)).x,
        "fixed_point": lambda c: fixed_point(lambda x, c: 0.5 * (x + c / x), 0.0 * c + 1.0, args=(c,)).x,
        "least_squares": lambda c: least_squares(square, 0.0 * c + 1.0, args=(c,), atol=1e-12).x,
        "brentq": lambda c: brentq(square, 0.0 * c, 0.0 * c + 9.0, args=(c,)).x,
    }
    if library.id == "jax":
        solvers = {name: solvers[name] for name in ("root", "brentq")}  # each compiles for seconds
    for solve in solvers.values():
        library.assert_equal(jacrev(solve)(c), want, rtol=1e-8, atol=1e-12)
        if library.id == "numpy":
            np.testing.assert_allclose(jacfwd(solve)(c), want, rtol=1e-8, atol=1e-12)
            np.testing.assert_allclose(jit(jacrev(solve))(c), want, rtol=1e-8, atol=1e-12)
            check_grads(solve, (c,), order=2, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


def test_where_to_begin_has_no_part_in_it() -> None:
    start = np.asarray([3.0, 1.0])
    assert np.all(jacrev(lambda x: minimize(lambda x: array_namespace(x).sum(x**2 + x), x).x)(start) == 0.0)
    value, derivative = jvp(lambda x: root(lambda x: x**3 - 1.0, x).x, (start,), (start,))
    np.testing.assert_allclose(value, 1.0)
    assert np.all(derivative == 0.0)


def test_backward_of_pytorch() -> None:
    import torch

    b = torch.tensor(B, requires_grad=True)
    minimum(b, torch.tensor(A))[0].backward()
    np.testing.assert_allclose(b.grad, jacobian_of_minimum()[1][0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch")], ids=str)
def test_arrays_that_repeat_their_elements(library: Library) -> None:
    xp, b = library.xp, library.asarray(np.asarray([1.0, -2.0]))
    factors = xp.broadcast_to(library.asarray(3.0), (2,))
    matrix = xp.broadcast_to(library.asarray(np.diag([2.0, 4.0])), (3, 2, 2))

    def within(b: Any) -> Any:
        # One lower bound and one upper one for all variables.
        square = lambda x, b, factors: array_namespace(x).sum((x - factors * b) ** 2)
        return minimize(square, 0.0 * b, args=(b, factors), bounds=(-1.0, 9.0)).x

    def solved(b: Any) -> Any:
        return linear_solve.solve(matrix, array_namespace(b).stack([b] * 3), axis=-1, method="bicgstab").x

    library.assert_equal(jvp(lambda x: x * x, (factors,), (b,))[1], np.asarray([6.0, -12.0]))
    library.assert_equal(within(b), np.asarray([3.0, -1.0]), rtol=1e-6)
    library.assert_equal(jacfwd(within)(b), np.diag([3.0, 0.0]), rtol=1e-6, atol=1e-12)
    wanted = np.broadcast_to(np.diag([0.5, 0.25]), (3, 2, 2))
    library.assert_equal(jacfwd(solved)(b), wanted, rtol=1e-6, atol=1e-12)
