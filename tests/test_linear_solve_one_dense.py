"""One dense system, solved in one call of the library: the same solutions and statuses as by the steps of `solve`."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.systems import SOLVABLE, UNSOLVABLE
from xpand import trees
from xpand_extensions import linear_solve
from xpand_extensions.autodiff import grad
from xpand_extensions.linear_solve import Status, _solve as module

solve = partial(linear_solve.solve, throw=False)  # what is tested is the status

DENSE = [library for library in LIBRARIES if library.id in ("numpy", "torch", "jax")]
ON_HOST = [library for library in DENSE if library.id != "jax"]  # these solve only small systems so


@pytest.fixture
def solved(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Tell of each system of known values whether it has been solved in one call."""
    found: list[bool] = []
    inner = module.solve_if_dense

    def counted(*args: Any) -> Any:
        result = inner(*args)
        if xpand.is_concrete(args[1]):
            found.append(result is not None)
        return result

    monkeypatch.setattr(module, "solve_if_dense", counted)
    return found


def long_way(monkeypatch: pytest.MonkeyPatch, *args: Any, **options: Any) -> Any:
    with monkeypatch.context() as patch:
        patch.setattr(module, "solve_if_dense", lambda *args: None)
        return solve(*args, **options)


@pytest.mark.parametrize("library", DENSE, ids=str)
def test_as_by_the_long_way(library: Library, monkeypatch: pytest.MonkeyPatch, solved: list[bool]) -> None:
    systems = [each for each in SOLVABLE if 0 < len(each.matrix) <= 32][
        :: {"numpy": 1, "torch": 6, "jax": 12}[library.id]
    ]
    for system in systems:
        a, b = library.asarray(system.matrix), library.asarray(system.b)
        result = solve(a, b, method="lu")
        expected = long_way(monkeypatch, a, b, method="lu")
        assert result.method == expected.method
        # How far a condition number is from the limit, an estimate may see differently.
        if system.condition < 1e12:
            library.assert_equal(result.status, library.to_numpy(expected.status))
        scale = max(np.abs(system.solution).max(), 1e-300)
        tolerance = 1e-13 * min(system.condition, 1e13) * scale
        library.assert_equal(result.x, library.to_numpy(expected.x), rtol=1e-12, atol=tolerance)
        assert library.to_numpy(result.residual_norm) <= 1e-12 * np.linalg.norm(system.matrix) * scale
        residual = system.b - system.matrix @ library.to_numpy(result.x)
        library.assert_equal(result.residual, residual, atol=1e-13 * np.linalg.norm(system.matrix) * scale)
        assert int(result.function_evaluations) == int(expected.function_evaluations)
        assert result.iterations.dtype == expected.iterations.dtype
    assert all(solved), [str(system) for system, each in zip(systems, solved) if not each]


@pytest.mark.parametrize("library", DENSE, ids=str)
def test_what_has_no_solution_is_never_called_converged(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    for system in UNSOLVABLE:
        a, b = library.asarray(system.matrix), library.asarray(system.b)
        status = int(library.to_numpy(solve(a, b).status))
        is_finite = np.isfinite(system.matrix).all() and np.isfinite(system.b).all()
        assert status == (Status.SINGULAR if is_finite else Status.NON_FINITE), system
        assert status == int(library.to_numpy(long_way(monkeypatch, a, b).status)), system


@pytest.mark.parametrize("dtype", ["float16", "float32", "complex64", "complex128"])
@pytest.mark.parametrize("library", DENSE, ids=str)
def test_data_types_and_scales(library: Library, dtype: str, solved: list[bool]) -> None:
    a = np.asarray([[4.0, 1.0], [1.0, 3.0]]).astype(dtype)
    if dtype != "float16" or library.id == "torch":
        result = solve(library.asarray(a), library.asarray(np.asarray([5.0, 4.0]).astype(dtype)), rtol=0.01)
        np.testing.assert_allclose(library.to_numpy(result.x), 1.0, rtol=2e-3)
        assert str(result.x.dtype).endswith(dtype)
        assert int(result.status) == 0
        assert solved == [dtype != "float16"]


@pytest.mark.parametrize("library", ON_HOST, ids=str)
def test_squares_that_overflow_are_left_to_the_long_way(library: Library, solved: list[bool]) -> None:
    for scale in (1e-200, 1e-310, 1e200):
        result = solve(library.asarray(np.eye(2)), library.asarray(np.full(2, scale)))
        library.assert_equal(result.x, np.full(2, scale))
        assert int(result.status) == 0
    assert solved == [False] * 3


def test_columns_on_jax(monkeypatch: pytest.MonkeyPatch, solved: list[bool]) -> None:
    library = next(each for each in DENSE if each.id == "jax")
    rng = np.random.default_rng(3)
    a, b = library.asarray(rng.normal(size=(40, 40)) + 40 * np.eye(40)), library.asarray(rng.normal(size=(40, 3)))
    result, expected = solve(a, b), long_way(monkeypatch, a, b)
    assert solved == [True]
    assert result.method == expected.method
    for each, other in zip(trees.leaves(result), trees.leaves(expected)):
        library.assert_equal(each, library.to_numpy(other), rtol=1e-12, atol=1e-13)
    with pytest.raises(TypeError, match="solve"):
        solve(library.xp.ones((2, 2), dtype=library.xp.int32), library.xp.ones((2,), dtype=library.xp.int32))


@pytest.mark.parametrize("library", DENSE, ids=str)
def test_right_hand_sides_of_zero_and_tolerances(library: Library) -> None:
    a = library.asarray(np.asarray([[2.0, 1.0], [1.0, 3.0]]))
    result = solve(a, library.asarray(np.zeros(2)))
    library.assert_equal(result.x, np.zeros(2))
    assert int(result.status) == 0
    hilbert = library.asarray(1.0 / (np.arange(6)[:, None] + np.arange(6) + 1.0))
    b = library.asarray(np.asarray([1.0, 2.0, 0.3, 0.7, -5.0, 1.1]))
    assert int(solve(hilbert, b, rtol=0.0).status) == Status.STAGNATED
    assert int(solve(hilbert, b, rtol=0.0, atol=1.0).status) == 0


def test_derivatives_go_the_long_way(solved: list[bool]) -> None:
    import torch

    a = torch.eye(2, dtype=torch.float64, requires_grad=True)
    solve(a, torch.ones(2, dtype=torch.float64)).x.sum().backward()
    assert solved == [False]
    torch.testing.assert_close(a.grad, -torch.ones((2, 2), dtype=torch.float64))
    solved.clear()
    assert not any(solved)


@pytest.mark.parametrize("method", ["auto", "cholesky", "lstsq", "cg"])
def test_a_matrix_is_differentiated_where_its_right_side_is_not(method: str) -> None:
    b = np.ones(2)
    found = grad(lambda a: xpand.array_namespace(a).sum(solve(a, b, method=method).x))(np.eye(2))
    np.testing.assert_allclose(found, -np.ones((2, 2)), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_nearly_singular_systems_by_the_exact_condition_number(dtype: str) -> None:
    """An estimate finds matrices that are clearly regular; of all others the exact number decides."""
    random, eps = np.random.default_rng(5), float(np.finfo(dtype).eps)
    for n, power in itertools.product((2, 7, 32), np.linspace(0.0, 1.3, 14)):
        left, right = (np.linalg.qr(random.normal(size=(n, n)))[0] for _ in range(2))
        a = ((left * np.geomspace(1.0, eps**power, n)) @ right).astype(dtype)
        a[:, 0] *= 1e3
        try:
            condition = np.max(np.abs(np.linalg.inv(a)) @ np.sum(np.abs(a), axis=1))
        except np.linalg.LinAlgError:  # a pivot is zero
            condition = np.inf
        result = solve(a, a @ np.ones(n, dtype))
        if not 0.3 < condition * eps < 3.0:  # rounding decides
            assert (result.status == Status.SINGULAR) == (condition * eps >= 1.0)
