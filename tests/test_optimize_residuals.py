"""Roots, least squares, fixed points and brackets against SciPy: methods, batches, trees, compiled and mapped."""

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings, strategies as st

from tests.libraries import LIBRARIES, Library, unless
from xpand import array_namespace
from xpand_extensions.jit import jit
from xpand_extensions.optimize import (
    OptimizeResult,
    Status,
    bisect,
    bracketed_root,
    brentq,
    fixed_point,
    iterate,
    least_squares,
    root,
)
from xpand_extensions.vmap import vmap

STARTS = np.asarray([[2.0, 0.3], [5.0, 1.0], [0.5, 3.0]])


def circle_and_hyperbola(x: Any) -> Any:
    a, b = x[..., 0], x[..., 1]
    return array_namespace(x).stack([a**2 + b**2 - 4.0, a * b - 1.0], axis=-1)


def decay(x: Any, t: Any, y: Any) -> Any:
    """The residuals of an exponential: amplitude, rate and offset are the last axis of `x`."""
    xp = array_namespace(x)
    return x[..., :1] * xp.exp(-x[..., 1:2] * t) + x[..., 2:3] - y


TIMES = np.linspace(0.0, 2.0, 20)
DATA = 2.0 * np.exp(-1.3 * TIMES) + 0.5 + 0.01 * np.random.default_rng(0).normal(size=20)

SYSTEMS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "rosenbrock": (lambda x: array_namespace(x).stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]]), (-1.2, 1.0)),
    "powell": (
        lambda x: array_namespace(x).stack(
            [x[0] + 10.0 * x[1], 5**0.5 * (x[2] - x[3]), (x[1] - 2.0 * x[2]) ** 2, 10**0.5 * (x[0] - x[3]) ** 2]
        ),
        (3.0, -1.0, 0.0, 1.0),
    ),
    "beale": (
        lambda x: array_namespace(x).stack(
            [c - x[0] * (1.0 - x[1] ** k) for k, c in ((1, 1.5), (2, 2.25), (3, 2.625))]
        ),
        (1.0, 0.8),
    ),
    "no zero": (
        lambda x: array_namespace(x).stack([x[0] + x[1] - 1.0, x[0] - x[1], x[0] * x[1] - 3.0, x[1] ** 2]),
        (1.0, 2.0),
    ),
}


@pytest.mark.parametrize("method", ["newton", "broyden", "anderson"])
# Nothing in them depends on the library, and they compile for seconds.
@unless(lambda method, eager_library: eager_library.id == "jax" and method != "newton")
def test_roots(eager_library: Library, method: str) -> None:
    result = root(circle_and_hyperbola, eager_library.asarray(STARTS), method=method, batch_ndim=1)
    eager_library.assert_equal(result.status, np.zeros(3, dtype="int32"))
    x = eager_library.to_numpy(result.x)
    np.testing.assert_allclose(circle_and_hyperbola(x), 0.0, atol=1e-10)
    eager_library.assert_equal(result.fun, circle_and_hyperbola(x), atol=1e-14)
    eager_library.assert_equal(result.optimality, np.max(np.abs(circle_and_hyperbola(x)), axis=-1), atol=1e-14)


@pytest.mark.parametrize("method", ["newton", "broyden", "anderson"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_batches_of_roots_are_as_if_run_alone(method: str, dtype: str) -> None:
    starts = STARTS.astype(dtype)
    together = root(circle_and_hyperbola, starts, method=method, batch_ndim=1)
    for i, start in enumerate(starts):
        alone = root(circle_and_hyperbola, start, method=method)
        assert alone.x.dtype == np.dtype(dtype)
        assert int(alone.iterations) == together.iterations[i]
        np.testing.assert_allclose(together.x[i], alone.x, rtol=1e-5 if dtype == "float32" else 1e-12)
    for found in (
        vmap(lambda x: root(circle_and_hyperbola, x, method=method))(starts),
        jit(lambda x: root(circle_and_hyperbola, x, method=method, batch_ndim=1))(starts),
    ):
        np.testing.assert_array_equal(found.iterations, together.iterations)
        np.testing.assert_allclose(found.x, together.x, rtol=1e-5 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_roots_mapped_and_compiled(name: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    found = vmap(lambda x: root(circle_and_hyperbola, x))(library.asarray(STARTS))
    wanted = root(circle_and_hyperbola, STARTS, batch_ndim=1)
    library.assert_equal(found.x, wanted.x, rtol=1e-10)
    library.assert_equal(found.iterations, wanted.iterations)


def test_complex_roots_and_trees() -> None:
    found = root(lambda x: {"z": x["z"] ** 2 + 1.0, "a": x["a"] - 2.0}, {"z": np.asarray(0.5 + 0.5j), "a": np.ones(2)})
    np.testing.assert_allclose(found.x["z"], 1j, atol=1e-10)
    np.testing.assert_allclose(found.x["a"], 2.0)
    assert set(found.fun) == {"a", "z"}


@pytest.mark.parametrize("method", ["levenberg-marquardt", "gauss-newton"])
@pytest.mark.parametrize(("f", "start"), SYSTEMS.values(), ids=SYSTEMS)
def test_least_squares(f: Any, start: tuple[float, ...], method: str) -> None:
    reference = scipy.optimize.least_squares(f, start, method="lm", xtol=1e-15, ftol=1e-15, gtol=1e-12)
    found = least_squares(f, np.asarray(start), method=method)
    assert found.message == "converged"
    assert float(found.optimality) <= 1.5e-8
    assert 0.5 * np.sum(found.fun**2) <= reference.cost * (1 + 1e-8) + 1e-12
    np.testing.assert_allclose(found.x, reference.x, atol=2e-3)  # Powell's Jacobian is singular there


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@unless(lambda dtype, eager_library: eager_library.id == "jax" and dtype == "float32")  # the other one compiles as long
def test_fits(eager_library: Library, dtype: str) -> None:
    reference = scipy.optimize.least_squares(lambda x: decay(x, TIMES, DATA), [1.0, 1.0, 0.0])
    t, y = (eager_library.asarray(each, dtype) for each in (TIMES, np.stack([DATA, 2.0 * DATA])))
    start = eager_library.asarray([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]], dtype)
    found = least_squares(decay, start, args=(t, y), batch_ndim=1)
    scaled = np.stack([reference.x, reference.x * np.asarray([2.0, 1.0, 2.0])])
    rtol = 1e-4 if dtype == "float64" else 1e-2
    eager_library.assert_equal(found.x, scaled.astype(dtype), rtol=rtol)
    eager_library.assert_equal(found.converged, [True, True])


def test_underdetermined_least_squares() -> None:
    f = lambda x: x[:1] * x[1:] - 2.0
    found = least_squares(f, np.asarray([1.0, 1.0]))
    assert found.message == "converged"
    assert abs(found.x[0] * found.x[1] - 2.0) < 1e-7
    with pytest.raises(ValueError, match="as many residuals as variables, got 1 for 2"):
        least_squares(f, np.asarray([1.0, 1.0]), method="gauss-newton")


def test_least_squares_trajectory_and_callback() -> None:
    f, start = SYSTEMS["rosenbrock"]
    found = least_squares(f, np.asarray(start), max_steps=(0, 2, 100))
    assert found.trajectory is not None
    np.testing.assert_array_equal(found.trajectory.x[0], start)
    # The same steps by other routines of LAPACK.
    stopped = least_squares(f, np.asarray(start), max_steps=2, throw=False)
    np.testing.assert_allclose(found.trajectory.x[1], stopped.x, rtol=1e-12)
    np.testing.assert_array_equal(found.trajectory.x[2], found.x)
    assert found.trajectory.fun.shape == (3, 2)
    seen: list[OptimizeResult] = []
    stopped = least_squares(f, np.asarray(start), callback=lambda r: seen.append(r) or len(seen) == 2)
    assert int(stopped.status) == Status.ABORTED
    assert int(stopped.iterations) == 2


@pytest.mark.parametrize("method", ["iteration", "anderson"])
@unless(lambda method, eager_library: eager_library.id == "jax" and method == "anderson")
def test_fixed_points(eager_library: Library, method: str) -> None:
    x = eager_library.asarray([[0.1, 2.0], [1.0, -3.0]])
    found = fixed_point(lambda x: array_namespace(x).cos(x), x, method=method, batch_ndim=1)
    eager_library.assert_equal(found.x, np.full((2, 2), 0.7390851332151607), rtol=1e-9)
    assert found.message == "all 2 systems converged"


@pytest.mark.parametrize("method", ["newton", "broyden", "anderson"])
def test_tolerances_of_roots_are_relative_to_the_residual(method: str) -> None:
    """However large the root is."""
    root_of = np.asarray([1e6, 2e6])
    found = root(lambda x: 1e-6 * (x - root_of), root_of + 1.0, method=method, rtol=1e-3, atol=0.0)
    assert float(found.optimality) <= 1e-9
    np.testing.assert_allclose(found.x, root_of, rtol=0.0, atol=1.001e-3)


def test_anderson_takes_fewer_steps() -> None:
    matrix = np.random.default_rng(1).normal(size=(8, 8))
    matrix *= 0.95 / np.max(np.abs(np.linalg.eigvals(matrix)))
    f = lambda x: x @ matrix.T + 1.0
    plain, mixed = (fixed_point(f, np.zeros(8), method=method, max_steps=3000) for method in ("iteration", "anderson"))
    np.testing.assert_allclose(mixed.x, np.linalg.solve(np.eye(8) - matrix, np.ones(8)), rtol=1e-7)
    assert int(mixed.iterations) * 4 < int(plain.iterations)


FUNCTIONS: dict[str, tuple[Any, float, float]] = {
    "cosine": (lambda x: array_namespace(x).cos(x), 0.0, 3.0),
    "cubic": (lambda x: x**3 - 2.0 * x - 5.0, 2.0, 3.0),
    "steep": (lambda x: array_namespace(x).exp(x) - 1e5, -10.0, 20.0),
    "flat": (lambda x: x**9, -1.0, 4.0),
    "at an end": (lambda x: x - 1.0, 1.0, 7.0),
    "reversed": (lambda x: x**3 - 2.0, 3.0, -1.0),
    "large": (lambda x: x - 1e8, 0.0, 1e9),
}


@pytest.mark.parametrize("method", ["brent", "bisect"])
@pytest.mark.parametrize(("f", "a", "b"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_brackets(f: Any, a: float, b: float, method: str) -> None:
    found = bracketed_root(f, a, b, method=method)
    name = "brentq" if method == "brent" else "bisect"
    eps = 4 * np.finfo("float64").eps
    theirs, report = getattr(scipy.optimize, name)(
        lambda x: f(np.asarray(x)), a, b, xtol=eps, rtol=eps, maxiter=2000, full_output=True
    )
    assert found.message == "converged"
    np.testing.assert_allclose(found.x, theirs, rtol=4e-15, atol=4e-15)
    assert int(found.function_evaluations) <= report.function_calls + 10


@settings(max_examples=25)
@given(st.lists(st.floats(-50.0, 50.0), min_size=1, max_size=6), st.floats(0.5, 200.0))
def test_brackets_of_many(targets: list[float], width: float) -> None:
    goal = np.asarray(targets)
    found = brentq(lambda x, goal: (x - goal) ** 3 + x - goal, goal - width, goal + 0.3 * width, args=(goal,))
    assert np.all(found.converged)
    np.testing.assert_allclose(found.x, goal, rtol=2e-15, atol=2e-15)


@pytest.mark.parametrize("method", ["brent", "bisect"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_roots_at_the_ends_of_brackets(sign: float, method: Any, library: Library) -> None:
    """Whatever the sign of the function at the other end."""
    goal = library.asarray([0.0, 2.0, 5.0])
    ends = library.asarray([-2.0, 2.0, 1.0]), library.asarray([0.0, 7.0, 5.0])
    options: Any = {"method": method, "max_steps": 2, "throw": False}
    for a, b in (ends, ends[::-1]):
        found = bracketed_root(lambda x, goal: sign * (x - goal), a, b, args=(goal,), **options)
        library.assert_equal(found.x, np.asarray([0.0, 2.0, 5.0]))
        library.assert_equal(found.converged, np.asarray([True, True, True]))


def test_brackets_of_every_library(library: Library) -> None:
    goal = np.asarray([[2.0, 9.0], [30.0, 1.0]])
    steps = 5 if library.lazy else None  # each is part of the graph
    solve = lambda goal: bisect(
        lambda x, goal: x * x - goal, 0.0, goal, args=(goal,), atol=1e-9, max_steps=steps, throw=False
    )
    found, wanted = solve(library.asarray(goal)), solve(goal)
    library.assert_equal(found.x, wanted.x, rtol=1e-15)
    library.assert_equal(found.converged, wanted.converged)
    if not library.lazy:
        library.assert_equal(found.x, np.sqrt(goal), rtol=1e-9)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_brackets_mapped_and_compiled(name: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    goal = library.asarray([2.0, 9.0, 30.0])
    solve = lambda goal: brentq(lambda x, goal: x * x - goal, 0.0, goal, args=(goal,))
    wanted = solve(np.asarray([2.0, 9.0, 30.0]))
    mapped = vmap(solve)
    found = [mapped(goal)] if name == "torch" else [jit(mapped)(goal)]
    if name == "numpy":
        found += [mapped(goal), jit(solve)(goal)]
    for result in found:
        library.assert_equal(result.x, wanted.x, rtol=1e-15)
        library.assert_equal(result.iterations, wanted.iterations)


def test_bracket_trajectory_throw_and_dtypes() -> None:
    found = bisect(lambda x: x - 0.3, np.float32(0.0), np.float32(1.0), max_steps=(0, 1, 2), throw=False)
    assert found.x.dtype == np.float32
    assert found.trajectory is not None
    np.testing.assert_array_equal(found.trajectory.x, np.asarray([0.0, 0.5, 0.25], dtype="float32"))
    assert int(found.status) == Status.MAX_STEPS


def test_iterations_of_ones_own(eager_library: Library) -> None:
    x = eager_library.asarray([2.0, 1.0, 4.0])
    state = x, eager_library.asarray(np.zeros(3, dtype="int32"))
    halved, counts = iterate(lambda state: (state[0] / 2.0, state[1] + 1), state, running=lambda state: state[0] > 0.6)
    eager_library.assert_equal(halved, [0.5, 0.5, 0.5])
    eager_library.assert_equal(counts, np.asarray([2, 1, 3], dtype="int32"))
