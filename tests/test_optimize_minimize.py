"""Minimizers against known minima and SciPy: methods, batches, trees, bounds, trajectories, callbacks."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize

from tests.libraries import LIBRARIES, Library, unless
from tests.minima import PROBLEMS, Problem, himmelblau, rosenbrock
from xpand import UnsupportedError, array_namespace
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.optimize import ConvergenceError, OptimizeResult, Status, minimize
from xpand_extensions.vmap import vmap

METHODS = ("l-bfgs", "l-bfgs-b", "bfgs", "newton-cg", "nelder-mead")
STARTS = np.asarray([[-1.2, 1.0], [1.3, 0.7], [1.0, 1.0], [0.0, 0.0], [3.0, -2.0]])


def check(library: Library, problem: Problem, result: OptimizeResult, rtol: float = 2e-3) -> None:
    """Check that a result is a minimum, and says so."""
    assert result.message == "converged"
    x = library.to_numpy(result.x)
    reference = scipy.optimize.minimize(problem.f, x.astype("float64"), tol=1e-12)
    minimum = reference.fun if problem.minimum is None else problem.minimum
    assert abs(float(result.fun) - minimum) <= rtol * max(1.0, abs(minimum))
    if problem.point is not None:
        np.testing.assert_allclose(x, problem.point, rtol=10 * rtol, atol=10 * rtol)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_minima(problem: Problem, method: str, dtype: str) -> None:
    library = LIBRARIES[0]
    result = minimize(problem.f, library.asarray(problem.start, dtype), method=method)
    assert result.x.dtype == result.fun.dtype == np.dtype(dtype)
    check(library, problem, result, rtol=1e-5 if dtype == "float64" else 5e-2)


@pytest.mark.parametrize(("method", "name"), [("l-bfgs", "L-BFGS-B"), ("bfgs", "BFGS")])
def test_no_more_evaluations_than_scipy(method: str, name: str) -> None:
    # Of all problems together: on each by itself the line searches differ, either way. Half as many more are allowed.
    ours = theirs = 0
    for problem in PROBLEMS.values():
        start = np.asarray(problem.start)
        reference = scipy.optimize.minimize(problem.f, start, jac=grad(problem.f), method=name, options={"gtol": 1e-5})
        theirs += reference.nfev
        ours += int(minimize(problem.f, start, method=method, atol=1e-5).function_evaluations)
    assert ours <= 1.5 * theirs


@pytest.mark.parametrize("method", ["gradient-descent", "adam"])
def test_first_order(method: str) -> None:
    problem = PROBLEMS["logistic"]
    check(LIBRARIES[0], problem, minimize(problem.f, np.zeros(3), method=method, atol=1e-3))
    check(LIBRARIES[0], problem, minimize(problem.f, np.zeros(3), method=method, atol=1e-3, learning_rate=0.02))


@pytest.mark.parametrize("method", ["bfgs", "nelder-mead"])
def test_every_library_alike(eager_library: Library, method: str) -> None:
    x = eager_library.asarray(STARTS)
    result = minimize(rosenbrock, x, method=method, batch_ndim=1)
    ours = minimize(rosenbrock, np.asarray(STARTS), method=method, batch_ndim=1)
    eager_library.assert_equal(result.x, np.ones((5, 2)), rtol=1e-3)
    eager_library.assert_equal(result.status, np.zeros(5, dtype="int32"))
    # Rounding errors grow with steps; the number of steps hardly changes.
    steps = eager_library.to_numpy(result.iterations)
    assert np.all(np.abs(steps - ours.iterations) <= 3 + 0.1 * ours.iterations)


@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "torch", "strict")], ids=str)
@pytest.mark.parametrize("method", [*METHODS, "gradient-descent", "adam"])
def test_batches_are_as_if_run_alone(library: Library, method: str) -> None:
    if library.id != "numpy" and method not in ("l-bfgs", "newton-cg"):
        method = "bfgs"
    options: dict[str, Any] = {"method": method, "max_steps": 60, "throw": False}
    if method == "adam":
        options["learning_rate"] = 0.1
    starts = STARTS.reshape(5, 1, 2)
    together = minimize(himmelblau, library.asarray(starts), batch_ndim=2, **options)
    for i in range(5):
        # A batch of one: without any, NumPy's problems are solved by other drivers.
        alone = minimize(himmelblau, library.asarray(starts[i]), batch_ndim=1, **options)
        for name in ("iterations", "function_evaluations", "gradient_evaluations", "status"):
            assert int(getattr(together, name)[i, 0]) == int(getattr(alone, name)[0]), name
        found, wanted = library.to_numpy(together.x)[i, 0], library.to_numpy(alone.x)[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("numpy", method) for method in ("l-bfgs", "nelder-mead", "newton-cg", "adam")),
        *((name, "bfgs") for name in ("torch", "strict", "jax")),
    ],
)
def test_mapped_and_compiled(name: str, method: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    x = library.asarray(STARTS[:3])
    options: Any = {"method": method, "max_steps": 50 if method == "adam" else None, "throw": False}
    wanted = minimize(rosenbrock, STARTS[:3], batch_ndim=1, **options)
    mapped = vmap(lambda x: minimize(rosenbrock, x, **options))
    # PyTorch's compiler takes a minute for a loop, JAX's seconds: one is enough.
    found = [jit(mapped)(x)] if name == "jax" else [mapped(x)]
    if name in ("numpy", "strict"):
        found.append(jit(lambda x: minimize(rosenbrock, x, batch_ndim=1, **options))(x))
    for result in found:
        assert isinstance(result, OptimizeResult)
        library.assert_equal(result.status, wanted.status)
        library.assert_equal(result.iterations, wanted.iterations)
        library.assert_equal(result.x, wanted.x, rtol=1e-4)


@unless(lambda eager_library: eager_library.id == "jax")  # as for NumPy, and compiled for seconds
def test_trees_and_complex_numbers(eager_library: Library) -> None:
    target = np.asarray([[1.0 + 2.0j, -0.5j]])

    def f(x: Any, goal: Any) -> Any:
        xp = array_namespace(x["z"])
        return xp.sum(xp.abs(x["z"] - goal) ** 2) + xp.sum((x["ab"][0] - 3.0) ** 2) + x["ab"][1] ** 4

    goal = eager_library.asarray(target)
    start = {"z": goal * 0.0, "ab": (eager_library.asarray([[1.0], [2.0]]), eager_library.asarray(np.float32(0.5)))}
    result = minimize(f, start, args=(goal,), atol=1e-8)
    eager_library.assert_equal(result.x["z"], target, rtol=1e-6)
    eager_library.assert_equal(result.x["ab"][0], [[3.0], [3.0]], rtol=1e-6)
    eager_library.assert_equal(result.x["ab"][1], np.float32(0.0), atol=2e-3)
    assert result.message == "converged"


@pytest.mark.parametrize("method", ["l-bfgs-b", "nelder-mead", "scipy-l-bfgs-b"])
@pytest.mark.parametrize(
    ("lower", "upper"), [((-2.0, -2.0), (0.5, 2.0)), ((1.5, -np.inf), (np.inf, 1.0)), ((-3.0, -3.0), (3.0, 3.0))]
)
def test_bounds(method: str, lower: Any, upper: Any) -> None:
    bounds = np.asarray(lower), np.asarray(upper)
    reference = scipy.optimize.minimize(rosenbrock, [-1.2, 1.0], bounds=list(zip(*bounds)), method="L-BFGS-B")
    result = minimize(rosenbrock, np.asarray([-1.2, 1.0]), method=method, bounds=bounds, atol=1e-4)
    assert np.all(result.x >= bounds[0])
    assert np.all(result.x <= bounds[1])
    np.testing.assert_allclose(result.x, reference.x, atol=5e-3)
    assert bool(result.converged)


def test_bounds_of_every_library(eager_library: Library) -> None:
    x = eager_library.asarray([[3.0, -1.0], [0.2, 0.3]])
    xp = array_namespace(x)
    f = lambda x: (
        xp.sum((x - 1.0) ** 2, axis=-1)
        if eager_library.id == "jax"
        else ((x - 1.0) ** 2)[..., 0] + ((x - 1.0) ** 2)[..., 1]
    )
    result = minimize(f, x, bounds=(None, 0.5), batch_ndim=1, max_steps=10, method="gradient-descent")
    eager_library.assert_equal(result.x, [[0.5, 0.5], [0.5, 0.5]])
    eager_library.assert_equal(result.converged, [True, True])


@pytest.mark.parametrize("method", ["bfgs", "nelder-mead", "adam"])
def test_trajectories(method: str) -> None:
    steps = (0, 3, 1, 100_000) if method != "adam" else (0, 3, 1, 50)
    result = minimize(rosenbrock, np.asarray([-1.2, 1.0]), method=method, max_steps=steps, throw=False)
    trajectory = result.trajectory
    assert trajectory is not None
    assert trajectory.x.shape == (4, 2)
    assert trajectory.fun.shape == (4,)
    np.testing.assert_array_equal(trajectory.x[0], [-1.2, 1.0])
    np.testing.assert_array_equal(trajectory.iterations[:3], [0, 3, 1])
    for i, count in enumerate(steps[:3]):
        # Stopped by itself, in a batch of one: without any, NumPy's problems are solved by other drivers.
        start = np.asarray([[-1.2, 1.0]])
        alone = minimize(rosenbrock, start, method=method, max_steps=count, throw=False, batch_ndim=1)
        np.testing.assert_allclose(trajectory.x[i], alone.x[0], rtol=1e-12)
        assert int(alone.status[0]) == Status.MAX_STEPS == int(trajectory.status[i])
    np.testing.assert_array_equal(trajectory.x[3], result.x)
    assert int(trajectory.status[3]) == int(result.status)


def test_trajectories_of_problems_that_end_without_a_step() -> None:
    """A problem at a kink ends before its first step, and each later row says so."""
    f = lambda x: abs(x[..., 0])
    result = minimize(f, np.asarray([[0.0], [0.3]]), method="bfgs", batch_ndim=1, max_steps=(0, 2, 400), throw=False)
    assert result.trajectory is not None
    np.testing.assert_array_equal(result.trajectory.iterations[:, 0], [0, 0, 0])
    stagnated, unfinished = Status.STAGNATED, Status.MAX_STEPS
    np.testing.assert_array_equal(result.trajectory.status[1:], [[stagnated, unfinished], [stagnated, stagnated]])


def test_evaluations_of_the_first_vertices_are_no_iteration() -> None:
    f = lambda x: ((x - np.asarray([1.0, 2.0])) ** 2).sum()
    for steps in range(4):
        found = minimize(f, np.zeros(2), method="nelder-mead", max_steps=steps, throw=False)
        assert int(found.iterations) == steps
        assert int(found.function_evaluations) >= (3 + steps if steps else 1)


@unless(lambda eager_library: eager_library.id == "jax")
def test_trajectories_of_batches(eager_library: Library) -> None:
    x = eager_library.asarray(STARTS)
    result = minimize(rosenbrock, x, batch_ndim=1, max_steps=(2, 500), method="bfgs")
    assert result.trajectory is not None
    eager_library.assert_equal(result.trajectory.x[1, ...], eager_library.to_numpy(result.x))
    assert eager_library.to_numpy(result.trajectory.iterations)[0].tolist() == [2, 2, 0, 2, 2]
    assert eager_library.to_numpy(result.trajectory.status)[0].tolist() == [1, 1, 0, 1, 1]


@pytest.mark.parametrize("method", ["bfgs", "adam", "nelder-mead", "scipy-cg"])
def test_callbacks(method: str) -> None:
    seen: list[OptimizeResult] = []

    def note(result: OptimizeResult) -> bool:
        seen.append(result)
        return len(seen) == 4

    result = minimize(rosenbrock, np.asarray([-1.2, 1.0]), method=method, callback=note)
    assert result.message == "stopped by the callback"
    assert int(result.status) == Status.ABORTED
    assert len(seen) == 4
    np.testing.assert_array_equal(seen[-1].x, result.x)
    assert np.all(np.diff([int(each.iterations) for each in seen]) == 1)


def test_callback_on_jax() -> None:
    library = next(x for x in LIBRARIES if x.id == "jax")
    result = minimize(
        rosenbrock, library.asarray([-1.2, 1.0]), method="gradient-descent", learning_rate=1e-3, callback=lambda r: True
    )
    assert (int(result.status), int(result.iterations)) == (Status.ABORTED, 1)
    with pytest.raises(ValueError, match="a callback needs the values"):
        jit(lambda x: minimize(rosenbrock, x, callback=lambda r: True).x)(library.asarray([-1.2, 1.0]))


def test_own_gradient() -> None:
    calls = []

    def gradient(x: Any, scale: Any) -> Any:
        calls.append(1)
        return 2.0 * scale * (x - 1.0)

    result = minimize(
        lambda x, scale: array_namespace(x).sum(scale * (x - 1.0) ** 2), np.zeros(3), args=(4.0,), gradient=gradient
    )
    assert len(calls) == int(result.gradient_evaluations)
    assert result.message == "converged"
    np.testing.assert_allclose(result.x, np.ones(3), rtol=1e-5)


@pytest.mark.parametrize(
    "method",
    ["powell", "cg", "tnc", "cobyla", "cobyqa", "slsqp", "trust-constr", "trust-ncg", "trust-exact", "trust-krylov"],
)
def test_scipys_methods(method: str) -> None:
    result = minimize(himmelblau, np.asarray([1.3, 0.7]), method=method)
    np.testing.assert_allclose(result.x, [3.0, 2.0], rtol=1e-4)
    assert result.message == "converged"
    assert int(result.function_evaluations) > 3


@pytest.mark.parametrize("method", ["powell", "tnc", "cobyla", "cobyqa", "slsqp"])
def test_scipys_methods_with_a_fixed_variable(method: str) -> None:
    bounds = np.asarray([0.5, -1.0, -np.inf]), np.asarray([0.5, 1.0, np.inf])
    f = lambda x: array_namespace(x).sum((x - 2.0) ** 2)
    points = []
    found = minimize(f, np.zeros(3), method=method, bounds=bounds, callback=lambda result: points.append(result.x))
    np.testing.assert_allclose(found.x, [0.5, 1.0, 2.0], rtol=1e-3)
    assert {x[0] for x in points} == {0.5}


@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "CG", "GD", "Nelder-Mead", "Newton-CG", "auto", None])
def test_names_of_others(method: str | None) -> None:
    result = minimize(lambda x: array_namespace(x).sum((x - 1.0) ** 2), np.zeros(2), method=method)
    np.testing.assert_allclose(result.x, [1.0, 1.0], rtol=1e-5)


def test_scipys_methods_on_every_library(eager_library: Library) -> None:
    x = eager_library.asarray(STARTS[:2])
    result = minimize(himmelblau, x, method="scipy-cg", batch_ndim=1, atol=1e-7)
    # Each begins in the valley of a minimum of its own.
    found = eager_library.to_numpy(result.x)
    for i in range(2):
        reference = scipy.optimize.minimize(himmelblau, STARTS[i], method="CG", tol=1e-7)
        np.testing.assert_allclose(found[i], reference.x, rtol=1e-4)
    eager_library.assert_equal(result.converged, [True, True])


def test_dask_takes_a_number_of_steps() -> None:
    library = next(x for x in LIBRARIES if x.lazy)
    f = lambda x: array_namespace(x).sum((x - 1.0) ** 2)
    result = minimize(f, library.asarray([3.0, 2.0]), method="gradient-descent", learning_rate=0.25, max_steps=3)
    assert result.message == "not known before the arrays are computed"
    library.assert_equal(result.x, [1.25, 1.125])
    library.assert_equal(result.iterations, np.int32(3))
    with pytest.raises(UnsupportedError, match="lazy"):
        minimize(f, library.asarray([3.0, 2.0]))


def test_no_variables_and_one() -> None:
    for method in METHODS:
        assert minimize(lambda x: array_namespace(x).sum(x) + 2.0, np.zeros(0), method=method).message == "converged"
        found = minimize(lambda x: (x - 2.0) ** 2, np.asarray(0.5), method=method)
        np.testing.assert_allclose(found.x, 2.0, rtol=1e-4)
        assert found.x.shape == ()


def test_throw() -> None:
    assert minimize(rosenbrock, np.ones(2)).message == "converged"
    with pytest.raises(ConvergenceError, match="within the steps allowed") as caught:
        minimize(rosenbrock, np.zeros(2), max_steps=2)
    assert int(caught.value.result.iterations) == 2
