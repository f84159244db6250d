"""Derivatives of solutions of many variables, without a matrix of all, and optimizers in what PyTorch compiles."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.libraries import EAGER_LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions.autodiff import check_grads, grad, jacfwd, jacrev, jvp
from xpand_extensions.generic import optimize as on_any
from xpand_extensions.jit import jit
from xpand_extensions.optimize import brentq, fixed_point, least_squares, minimize, root

N = 5
B = np.linspace(0.5, 2.0, N)
BY_ID = {library.id: library for library in EAGER_LIBRARIES}


@pytest.fixture(autouse=True)
def _no_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_any, "_LARGE", 1)


def energy(x: Any, b: Any) -> Any:
    xp = array_namespace(x, b)
    d = x[1:] - x[:-1]
    return 0.5 * xp.sum(d * d) + 0.5 * xp.sum(x * x) - xp.sum(b * x) + 0.1 * xp.sum(x**4)


def minimum(b: Any) -> Any:
    return minimize(energy, 0.0 * b, args=(b,), method="bfgs", atol=1e-11).x


def inverse_of_hessian() -> np.ndarray:
    d = np.diff(np.eye(N), axis=0)
    return np.linalg.inv(d.T @ d + np.eye(N) + np.diag(1.2 * minimum(B) ** 2))


@pytest.mark.parametrize("library", [BY_ID[name] for name in ("numpy", "jax", "strict", "torch")], ids=str)
def test_of_minima(library: Library) -> None:
    b, ones = library.asarray(B), library.asarray(np.ones(N))
    total = lambda b: array_namespace(b).sum(minimum(b))
    expected = inverse_of_hessian() @ np.ones(N)
    library.assert_equal(grad(total)(b), expected, rtol=1e-8)
    if library.id != "jax":  # which compiles the whole once more
        library.assert_equal(jvp(minimum, (b,), (ones,))[1], expected, rtol=1e-8)


def test_no_matrix_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_matrix(*args: Any) -> Any:
        raise AssertionError("a matrix of all variables was made")

    monkeypatch.setattr(on_any, "matrix_of", no_matrix)
    np.testing.assert_allclose(jacrev(minimum)(B), inverse_of_hessian(), rtol=1e-8, atol=1e-10)
    monkeypatch.setattr(on_any, "_LARGE", N + 1)
    with pytest.raises(AssertionError, match="a matrix of all variables was made"):
        jacrev(minimum)(B)


def test_second_order_and_compiled() -> None:
    check_grads(minimum, (B,), order=2, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)
    first = lambda b: minimum(b)[0]
    np.testing.assert_allclose(jit(grad(first))(B), inverse_of_hessian()[0], rtol=1e-8)


def test_variables_at_bounds() -> None:
    solve = lambda b, upper: minimize(energy, 0.0 * b, args=(b,), bounds=(None, upper), atol=1e-11).x
    upper = np.asarray([0.4, 9.0, 9.0, 9.0, 9.0])
    assert solve(B, upper)[0] == pytest.approx(0.4)
    d = np.diff(np.eye(N), axis=0)
    hessian = d.T @ d + np.eye(N) + np.diag(1.2 * solve(B, upper) ** 2)
    expected = np.zeros((N, N))
    expected[1:, 1:] = np.linalg.inv(hessian[1:, 1:])
    np.testing.assert_allclose(jacrev(solve)(B, upper), expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(jacfwd(solve)(B, upper), expected, rtol=1e-8, atol=1e-9)


def test_of_batches_of_roots_and_of_fits() -> None:
    c = np.asarray([[2.0, 5.0], [3.0, 4.0]])
    # Not symmetric: the second equation has both variables, the first one alone.
    mixed = lambda x, c: array_namespace(x).stack(
        [x[..., 0] ** 2 - c[..., 0], x[..., 1] + 0.5 * x[..., 0] * x[..., 1] - c[..., 1]], axis=-1
    )
    roots = lambda c: root(mixed, 0.0 * c + 1.0, args=(c,), batch_ndim=1).x
    fits = lambda c: least_squares(mixed, 0.0 * c + 1.0, args=(c,), batch_ndim=1, atol=1e-12).x
    x = roots(c)
    expected = np.zeros((2, 2, 2, 2))
    for i in range(2):
        jacobian = np.asarray([[2 * x[i, 0], 0.0], [0.5 * x[i, 1], 1 + 0.5 * x[i, 0]]])
        expected[i, :, i, :] = np.linalg.inv(jacobian)
    for solve in (roots, fits):
        np.testing.assert_allclose(jacrev(solve)(c), expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(jacfwd(solve)(c), expected, rtol=1e-8, atol=1e-9)


def test_what_can_not_be_solved_is_not_a_number() -> None:
    # At the solution nothing depends on the second variable.
    f = lambda x, c: array_namespace(x).stack([x[0] - c[0], 0.0 * x[1] + 0.0 * c[1]])
    found = jacrev(lambda c: root(f, 0.0 * c, args=(c,)).x)(np.asarray([1.0, 2.0]))
    assert np.isnan(found[1]).all()


SOLVERS = {
    "minimize": lambda c: (
        minimize(lambda x, c: ((x * x - c) ** 2).sum(), 0.0 * c + 1.0, args=(c,), method="gradient-descent").x
    ),
    "fixed_point": lambda c: fixed_point(lambda x, c: 0.5 * (x + c / x), 0.0 * c + 1.0, args=(c,)).x,
    "least_squares": lambda c: least_squares(lambda x, c: x * x - c, 0.0 * c + 1.0, args=(c,), atol=1e-12).x,
    "brentq": lambda c: brentq(lambda x, c: x * x - c, 0.0 * c, 0.0 * c + 9.0, args=(c,)).x,
}


@pytest.mark.parametrize("name", SOLVERS)
def test_compiled_on_pytorch(name: str) -> None:
    c = torch.tensor([2.0, 5.0], dtype=torch.float64)
    BY_ID["torch"].assert_equal(jit(SOLVERS[name])(c), np.sqrt([2.0, 5.0]), rtol=1e-5)
