"""One problem on NumPy, which drivers solve, compared with the same problem as a batch of one, and with SciPy."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
import torch

from tests.cases import library_of_name
from tests.libraries import EAGER_LIBRARIES, Library
from tests.minima import PROBLEMS, rosenbrock
from xpand import array_namespace, trees
from xpand_extensions import named
from xpand_extensions.autodiff import grad, value_and_grad
from xpand_extensions.jit import disable_jit, jit
from xpand_extensions.optimize import (
    ConvergenceError,
    OptimizeResult,
    Status,
    bracketed_root,
    brentq,
    fixed_point,
    least_squares,
    minimize,
    root,
)
from xpand_extensions.progress import Progress, reporting
from xpand_extensions.vmap import vmap

DESCENTS = ("l-bfgs", "l-bfgs-b", "bfgs")
COUNTS = ("iterations", "function_evaluations", "gradient_evaluations", "status")


class Counted:
    """A function that counts its calls."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls = function, 0

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


def circle(x: Any) -> Any:
    return array_namespace(x).stack([x[..., 0] ** 2 + x[..., 1] ** 2 - 1.0, x[..., 0] - x[..., 1]], axis=-1)


def decay(x: Any) -> Any:
    xp = array_namespace(x)
    t = xp.linspace(0.0, 1.0, 20, dtype=x.dtype)
    return x[..., :1] * xp.exp(-x[..., 1:] * t) - 3.0 * xp.exp(-2.0 * t) - 0.1 * xp.sin(37.0 * t)


def status(result: OptimizeResult) -> Status:
    return Status(int(result.status))


@pytest.mark.parametrize("method", DESCENTS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_minima_of_one_and_of_a_batch_of_one(problem: Any, method: str) -> None:
    start = np.asarray(problem.start)
    f = Counted(problem.f)
    found = minimize(f, start, method=method)
    steps = minimize(problem.f, start[None, :], method=method, batch_ndim=1)
    assert status(found) == steps.status[0] == Status.CONVERGED
    np.testing.assert_allclose(found.fun, steps.fun[0], atol=1e-8)
    # One more call than counted: the value of the result.
    assert f.calls - 1 == found.function_evaluations == found.gradient_evaluations
    slope = grad(problem.f)(found.x)
    np.testing.assert_allclose(np.max(np.abs(slope)), found.optimality, rtol=1e-9)
    assert found.optimality <= 6.1e-6 * max(1.0, np.max(np.abs(grad(problem.f)(start))))


@pytest.mark.parametrize("method", ["L-BFGS-B", "BFGS"])
def test_as_many_evaluations_as_scipy(method: str) -> None:
    for problem in PROBLEMS.values():
        start = np.asarray(problem.start)
        options = {"gtol": 1e-5} if method == "BFGS" else {"gtol": 1e-5, "ftol": 0.0}
        wanted = scipy.optimize.minimize(value_and_grad(problem.f), start, jac=True, method=method, options=options)
        found = minimize(problem.f, start, method=method.lower(), atol=1e-5, rtol=0.0)
        assert int(found.function_evaluations) <= 1.1 * wanted.nfev


@pytest.mark.parametrize("method", DESCENTS)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_ends_of_descents(method: str, compiled: bool) -> None:
    f = jit(rosenbrock) if compiled else rosenbrock
    start = np.asarray([-1.2, 1.0])
    few = minimize(f, start, method=method, max_steps=5, throw=False)
    assert (status(few), int(few.iterations)) == (Status.MAX_STEPS, 5)
    whole = minimize(f, start, method=method)
    again = minimize(f, whole.x, method=method, atol=float(whole.optimality))
    assert [int(getattr(again, name)) for name in COUNTS] == [0, 1, 1, Status.CONVERGED]
    np.testing.assert_array_equal(again.x, whole.x)
    loose = minimize(f, start, method=method, atol=0.0, rtol=1e-3)
    assert loose.iterations < whole.iterations
    assert float(loose.optimality) <= 1e-3 * np.max(np.abs(grad(rosenbrock)(start)))


@pytest.mark.parametrize("method", DESCENTS)
def test_functions_that_are_not_finite_everywhere(method: str) -> None:
    f = Counted(lambda x: array_namespace(x).sum(x - array_namespace(x).log(x), axis=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = minimize(f, np.asarray([30.0, 1e-3]), method=method)
    assert f.calls - 1 == found.function_evaluations
    np.testing.assert_allclose(found.x, 1.0, rtol=1e-5)
    nan = minimize(lambda x: array_namespace(x).sum(x) * np.nan, np.ones(2), method=method, throw=False)
    assert status(nan) == Status.NON_FINITE


def test_flat_objectives_are_left_early() -> None:
    # The value has no more digits before the gradient meets the tolerance.
    f = Counted(lambda x: 1e12 + array_namespace(x).sum((x - 1.0) ** 4))
    found = minimize(f, np.asarray([3.0, -2.0, 0.5]), atol=1e-13, throw=False)
    assert status(found) in (Status.STAGNATED, Status.CONVERGED)
    np.testing.assert_array_equal(found.fun, 1e12)
    np.testing.assert_allclose(found.x, 1.0, atol=1e-2)
    assert f.calls < 150
    assert f.calls - 1 == found.function_evaluations


@pytest.mark.parametrize(
    ("solve", "f", "start"),
    [
        (root, circle, (1.0, 0.5)),
        (root, circle, (8.0, -0.3)),
        (root, lambda x: array_namespace(x).atan(x), (3.0, 0.2)),
        (least_squares, decay, (1.0, 1.0)),
        (least_squares, decay, (10.0, -3.0)),
        (least_squares, circle, (0.3, 2.0)),
    ],
)
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_residuals_of_one_and_of_a_batch_of_one(solve: Any, f: Any, start: Any, compiled: bool) -> None:
    found = solve(jit(f) if compiled else f, np.asarray(start))
    steps = solve(f, np.asarray([start]), batch_ndim=1)
    assert status(found) == steps.status[0] == Status.CONVERGED
    np.testing.assert_allclose(found.x, steps.x[0], rtol=1e-9, atol=1e-12)
    # Where a whole Newton step fails, the steps for all libraries begin again at the point reached.
    assert int(steps.iterations[0]) <= int(found.iterations) <= int(steps.iterations[0]) + 1
    assert int(found.function_evaluations) - int(steps.function_evaluations[0]) in (0, 1, 2)
    few = solve(f, np.asarray(start), max_steps=2, throw=False)
    wanted = solve(f, np.asarray([start]), max_steps=2, throw=False, batch_ndim=1)
    assert (status(few), int(few.iterations)) == (Status.MAX_STEPS, 2)
    np.testing.assert_allclose(few.x, wanted.x[0], rtol=1e-9)
    again = solve(f, found.x, atol=float(found.optimality))
    assert [int(getattr(again, name)) for name in COUNTS] == [0, 1, 1, Status.CONVERGED]


def test_underflow_raises_as_set_in_compiled_steps() -> None:
    def f(x: Any) -> Any:
        return array_namespace(x).stack([x[0] ** 2 + x[1] ** 2 - 1.0 + x[0] * 1e-200 * 1e-200, x[0] - x[1]])

    compiled, start = jit(f), np.asarray([1.0, 0.5])
    expected = root(compiled, start).x
    with np.errstate(under="raise"), pytest.raises(FloatingPointError, match="underflow"):
        root(compiled, start)
    np.testing.assert_array_equal(root(compiled, start).x, expected)


def test_no_residuals_and_fewer_than_parameters() -> None:
    none = least_squares(lambda x: x[:0], np.ones(3))
    assert (status(none), int(none.iterations)) == (Status.CONVERGED, 0)
    np.testing.assert_array_equal(none.x, np.ones(3))
    one = least_squares(lambda x: x[:1] - 3.0, np.ones(3))
    np.testing.assert_allclose(one.x, [3.0, 1.0, 1.0], rtol=1e-9)


@pytest.mark.parametrize("method", ["brent", "bisect"])
@pytest.mark.parametrize(
    ("f", "a", "b"),
    [
        (lambda x: array_namespace(x).cos(x), 0.0, 3.0),
        (lambda x: x**3 - 2.0, 5.0, -1.0),
        (lambda x: array_namespace(x).exp(x) - 1e-3, -50.0, 30.0),
        (lambda x: x - 2.0, 2.0, 7.0),
        (lambda x: x - 2.0, 0.0, 2.0),
        (lambda x: x, -1.0, 3.0),
    ],
)
def test_brackets_of_one_and_of_a_batch_of_one(f: Any, a: float, b: float, method: str) -> None:
    for atol in (None, 1e-3):
        counted = Counted(f)
        found = bracketed_root(counted, a, b, method=method, atol=atol)
        steps = bracketed_root(f, np.asarray([a]), np.asarray([b]), method=method, atol=atol)
        width = (2.0**-50 if atol is None else atol) + 2.0**-50 * abs(float(found.x))
        assert status(found) == steps.status[0] == Status.CONVERGED
        assert float(found.fun) == 0.0 or float(found.optimality) <= width
        np.testing.assert_allclose(found.x, steps.x[0], atol=2 * width, rtol=1e-14)
        assert counted.calls - 1 == found.function_evaluations == found.iterations + 2
        assert int(found.function_evaluations) <= 1.1 * int(steps.function_evaluations[0]) + 2


@pytest.mark.parametrize("method", ["brent", "bisect"])
def test_brackets_within_the_steps_allowed(method: str) -> None:
    few = bracketed_root(lambda x: x**3 - 2.0, -50.0, 30.0, method=method, max_steps=3, throw=False)
    assert (status(few), int(few.iterations), int(few.function_evaluations)) == (Status.MAX_STEPS, 3, 5)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("method", ["brent", "bisect"])
def test_brackets_wider_than_the_largest_number(library: Library, method: str) -> None:
    for dtype, largest, zeros, scale in (
        ("float64", 1.5e308, (1.0, -0.7e308), 2.0**-1000),
        ("float32", 3e38, (1.0, -1e38), 2.0**-100),
    ):
        for zero in zeros:
            a, b = (library.asarray(np.asarray(x), dtype) for x in (-largest, largest))
            f = lambda x, zero=zero, scale=scale: x * scale - zero * scale
            found = bracketed_root(f, a, b, method=method)
            np.testing.assert_allclose(library.to_numpy(found.x), zero, rtol=1e-6)
            few = bracketed_root(f, a, b, method=method, max_steps=1, throw=False)
            assert np.isfinite(library.to_numpy(few.optimality))


@pytest.mark.parametrize("method", ["brent", "bisect"])
def test_brackets_that_fail(method: str) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        for f, a, b in [
            (lambda x: x * x + 1.0, -1.0, 2.0),
            (lambda x: 1.0 / (x - 0.3), 0.0, 1.0),
            (lambda x: array_namespace(x).log(x), -1.0, 3.0),
            (lambda x: array_namespace(x).sqrt(x - 1.0) - (x < 0.5), 0.0, np.inf),
            (lambda x: array_namespace(x).where(abs(x - 0.2) < 0.3, np.nan, x), -1.0, 1.4),
        ]:
            found = bracketed_root(f, np.asarray(a), np.asarray(b), method=method, throw=False)
            steps = bracketed_root(f, np.asarray([a]), np.asarray([b]), method=method, throw=False)
            assert status(found) == steps.status[0] != Status.CONVERGED
            np.testing.assert_array_equal(found.x, steps.x[0])


def test_derivatives_and_captured_arrays() -> None:
    a = np.asarray([2.0, 5.0])
    by_args = grad(lambda a: minimize(lambda x, a: array_namespace(x).sum((x - a) ** 2), a * 0.0, args=(a,)).x[1] ** 2)
    captured = grad(lambda a: minimize(lambda x: array_namespace(x).sum((x - a) ** 2), np.zeros(2)).x[1] ** 2)
    for slope in (by_args, captured):
        np.testing.assert_allclose(slope(a), [0.0, 10.0], rtol=1e-6)
    found = jit(lambda a: brentq(lambda x: x * x - a, 0.0, 9.0).x)(np.asarray(4.0))
    np.testing.assert_allclose(found, 2.0)
    cubes = grad(lambda c: brentq(lambda x: x**3 - c, np.asarray(0.0), np.asarray(9.0)).x)
    np.testing.assert_allclose(cubes(np.asarray(8.0)), 1.0 / 12.0)
    radii = grad(lambda r: root(lambda x: circle(x) - array_namespace(r).stack([r, 0.0 * r]), np.ones(2)).x[0])
    np.testing.assert_allclose(radii(np.asarray(1.0)), 0.25)
    np.testing.assert_allclose(vmap(lambda c: root(lambda x: x**3 - c, np.ones(1)).x)(a)[:, 0], np.cbrt(a))


def test_one_function_by_several_solvers() -> None:
    """The programs of a compiled function belong to a solver each."""
    f = jit(circle)
    start = np.asarray([1.0, 0.5])
    both = root(f, start), least_squares(f, start), root(f, start)
    for found in both:
        np.testing.assert_allclose(found.x, np.sqrt([0.5, 0.5]))
    shifted = jit(lambda x, c: circle(x) - c)
    for c in (0.0, 1.0, 3.0):
        found = root(shifted, start, args=(np.asarray([c, 0.0]),))
        np.testing.assert_allclose(found.x, np.sqrt([0.5 * (1.0 + c)] * 2))


def test_data_types_and_trees() -> None:
    for dtype in ("float32", "float64"):
        start = np.asarray([0.5, 1.0], dtype=dtype)
        for found in (minimize(rosenbrock, start, atol=1e-2), root(circle, start), least_squares(circle, start)):
            assert found.x.dtype == found.optimality.dtype == np.dtype(dtype)
            assert all(getattr(found, name).dtype == np.int32 for name in COUNTS)
            assert found.status.shape == found.iterations.shape == found.optimality.shape == ()
    tree = {"z": np.asarray([1.0 + 1.0j]), "y": np.asarray(0.3)}
    found = root(lambda t: {"z": t["z"] ** 2 - 2.0j, "y": t["y"] ** 3 - 8.0}, tree)
    np.testing.assert_allclose(found.x["z"], [1.0 + 1.0j])
    np.testing.assert_allclose(found.x["y"], 2.0)
    x = named.named(np.asarray([3.0, 4.0]), ("i",))
    least = named.optimize.minimize(lambda x: ((x - 1.0) ** 2.0).sum(), x)
    np.testing.assert_allclose(least.x.array, 1.0, rtol=1e-5)


def same(found: OptimizeResult, wanted: OptimizeResult) -> None:
    """Check that two results are equal, with their types."""
    assert trees.structure(found) == trees.structure(wanted)
    for x, y in zip(trees.leaves(found), trees.leaves(wanted)):
        assert (type(x), x.dtype, x.shape) == (type(y), y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


def shifted(x: Any, c: Any) -> Any:
    return x * x - array_namespace(x).reshape(c, x.shape)


def valley(x: Any, c: Any) -> Any:
    xp = array_namespace(x)
    return xp.sum((x - xp.reshape(c, x.shape)) ** 2) + 0.1 * xp.sum(x**4)


REPEATED: dict[str, Callable[..., OptimizeResult]] = {
    "root": lambda f, x, c, **options: root(f[0], x, args=(c,), **options),
    "least_squares": lambda f, x, c, **options: least_squares(f[0], x, args=(c,), **options),
    "l-bfgs": lambda f, x, c, **options: minimize(f[1], x, args=(c,), **options),
    "l-bfgs-b": lambda f, x, c, **options: minimize(f[1], x, args=(c,), bounds=(-1.0, 2.5), **options),
    "bfgs": lambda f, x, c, **options: minimize(f[1], x, args=(c,), method="bfgs", **options),
    "brentq": lambda f, x, c, **options: brentq(f[0], 0.0 * x[0], 9.0 + x[0], args=(c[0],), **options),
    "dict": lambda f, x, c, **options: least_squares(f[2], x, args=(c,), **options),
}


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("name", REPEATED)
def test_calls_like_an_earlier_one(name: str, library: str) -> None:
    """A function that is compiled itself is checked and compiled at its first call only, with the same results."""
    plain = shifted, valley, lambda x, c: {"a": shifted(x, c)[:1], "b": x[1:] - 1.0}
    compiled = tuple(jit(f) for f in plain)
    solve = REPEATED[name]
    for start, c in (([1.0, 2.0], [4.0, 9.0]), ([1.5, 1.0], [2.0, 3.0]), ([3.0, 3.0], [5.0, 1.0])):
        for options in ({}, {"rtol": 1e-3}, {"max_steps": 2, "throw": False}):
            x, y = (library_of_name(library).asarray(np.asarray(values)) for values in (start, c))
            found, again = solve(compiled, x, y, **options), solve(compiled, x, y, **options)
            same(again, found)
            wanted = solve(plain, x, y, **options)
            assert [int(getattr(found, name)) for name in COUNTS] == [int(getattr(wanted, name)) for name in COUNTS]
            np.testing.assert_allclose(found.x, wanted.x, rtol=1e-12)
        with pytest.raises(ConvergenceError) as caught:
            solve(compiled, x, y, max_steps=1, atol=0.0, rtol=0.0 if name != "brentq" else None)
        assert caught.value.result.status == Status.MAX_STEPS


def test_calls_that_differ_from_an_earlier_one() -> None:
    f, start = jit(valley), np.asarray([0.2, 0.3])
    c, upper = np.asarray([2.0, 3.0]), np.asarray([1.0, 1.0])
    whole = minimize(f, start, args=(c,), bounds=(None, upper))
    upper[:] = 0.5  # bounds in arrays are read at each call
    np.testing.assert_allclose(minimize(f, start, args=(c,), bounds=(None, upper)).x, 0.5)
    assert np.max(whole.x) > 0.9
    found = minimize(f, start, args=(c,))
    # Another shape, data type, number or library; steps that are watched; derivatives.
    square = minimize(f, start.reshape(2, 1), args=(c,))
    assert square.x.shape == (2, 1)
    assert minimize(f, start.astype("float32"), args=(c,), atol=1e-3).x.dtype == np.float32
    assert minimize(f, start, args=(c,), record_history=True).history is not None
    seen: list[Any] = []
    minimize(f, start, args=(c,), callback=seen.append)
    minimize(f, start, args=(c,), progress=seen.append)
    with reporting(seen.append):
        minimize(f, start, args=(c,))
    assert {type(each) for each in seen} == {OptimizeResult, Progress}
    with disable_jit():
        np.testing.assert_allclose(minimize(f, start, args=(c,)).x, found.x, rtol=1e-12)
    slope = grad(lambda c: minimize(f, start, args=(c,), atol=1e-10).x[0])(c)
    np.testing.assert_allclose(slope, [1.0 / (1.0 + 0.6 * found.x[0] ** 2), 0.0], rtol=1e-4)
    scaled = jit(lambda x, k: x**3 - k)
    for k in (8.0, 27.0, 27, 64.0):
        np.testing.assert_allclose(brentq(scaled, np.asarray(0.0), np.asarray(9.0), args=(k,)).x, np.cbrt(k))
    for wrong in ({"throw": 1}, {"args": [c, c, c]}, {"rtol": "small"}):
        with pytest.raises((TypeError, ValueError)):
            minimize(f, start, **{"args": (c,), **wrong})


AT_SOLUTION = [
    *[(minimize, method) for method in (*DESCENTS, "newton-cg", "nelder-mead", "gradient-descent", "scipy-cg")],
    *[(least_squares, method) for method in ("levenberg-marquardt", "gauss-newton")],
    *[(root, method) for method in ("newton", "broyden", "anderson")],
    *[(fixed_point, method) for method in ("iteration", "anderson")],
]


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize(("solve", "method"), AT_SOLUTION, ids=[f"{f.__name__}-{method}" for f, method in AT_SOLUTION])
def test_a_starting_point_that_is_the_solution_is_copied(solve: Any, method: str, library: str) -> None:
    """Writing into the result doesn't change the starting point."""
    f = {minimize: lambda x: ((x - 1.0) ** 2).sum(), fixed_point: lambda x: 2.0 * x - 1.0}.get(solve, lambda x: x - 1.0)
    for function in (f, jit(f)):
        for dtype in ("float64", "float32"):
            ones = np.ones(2, dtype=dtype)
            start = ones if library == "numpy" else torch.from_numpy(ones)
            for _ in range(2):
                found = solve(function, start, method=method, throw=False)
                found.x[...] = 9.0
                assert ones.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("method", ["scipy-cg", "scipy-l-bfgs-b", "scipy-slsqp"])
def test_scipys_methods_evaluate_value_and_gradient_together(method: str) -> None:
    f = Counted(rosenbrock)
    found = minimize(f, np.asarray([-1.2, 1.0]), method=method)
    # Two more calls than counted: whether the value is concrete, and the value of the result.
    assert f.calls - 2 == found.function_evaluations == found.gradient_evaluations


def test_calls_like_an_earlier_one_on_jax() -> None:
    f = jit(lambda x, c: x * x - c)
    for a, b, c in ((0.0, 5.0, 4.0), (0.0, 5.0, 9.0), (1.0, 7.0, 16.0)):
        ends = jnp.asarray(a), jnp.asarray(b)
        found, again = (brentq(f, *ends, args=(jnp.asarray(c),)) for _ in range(2))
        for x, y in zip(trees.leaves(found), trees.leaves(again)):
            assert (type(x), x.dtype, float(x)) == (type(y), y.dtype, float(y))
        np.testing.assert_allclose(found.x, np.sqrt(c), rtol=1e-12)
    with pytest.raises(ConvergenceError):
        brentq(f, jnp.asarray(0.0), jnp.asarray(1.0), args=(jnp.asarray(4.0),))
    roots = jax.vmap(lambda c: brentq(f, jnp.asarray(0.0), jnp.asarray(5.0), args=(c,)).x)(jnp.asarray([4.0, 9.0]))
    np.testing.assert_allclose(roots, [2.0, 3.0])


@pytest.mark.parametrize("solve", [root, least_squares, minimize])
def test_stored_plans_hold_no_arrays_of_the_user(solve: Any) -> None:
    f = jit((lambda x, c: array_namespace(x).sum((x - c) ** 2)) if solve is minimize else (lambda x, c: x - c))
    start, c = np.zeros(3), np.ones(3)
    references = [weakref.ref(x) for x in (start, c)]
    for _ in range(2):
        solve(f, start, args=(c,))
    del start, c
    gc.collect()
    assert all(each() is None for each in references)
