"""Problems without a solution, and bad input: the status of each says why, the errors how to fix it."""

from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import optimize
from xpand_extensions.jit import jit
from xpand_extensions.optimize import ConvergenceError, Status

# Only the status is tested.
brentq, fixed_point, least_squares, minimize, root, bracketed_root = (
    partial(getattr(optimize, name), throw=False)
    for name in ("brentq", "fixed_point", "least_squares", "minimize", "root", "bracketed_root")
)

SEARCHES = ("l-bfgs", "bfgs", "newton-cg", "gradient-descent")
ALL = (*SEARCHES, "nelder-mead")


def total(x: Any) -> Any:
    return array_namespace(x).sum(x)


def status(result: Any) -> Status:
    return Status(int(result.status))


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "f",
    [lambda x: -total(x), lambda x: -total(x * x) + x[0], lambda x: total(x**3)],
    ids=["linear", "concave", "cubic"],
)
def test_unbounded_below(f: Any, method: str, dtype: str) -> None:
    result = minimize(f, np.asarray([-1.0, 2.0], dtype=dtype), method=method)
    assert status(result) == Status.DIVERGED
    assert np.isfinite(result.fun)
    assert result.fun < -1e6


@pytest.mark.parametrize("method", [*ALL, "adam", "scipy-bfgs", "scipy-powell"])
def test_input_that_is_not_finite(method: str) -> None:
    for x in (np.nan, np.inf):
        assert status(minimize(lambda x: total(x**2), np.asarray([x, 1.0]), method=method)) == Status.NON_FINITE
    f = lambda x: total(x**2) * array_namespace(x).where(x[0] > 0.5, np.nan, 1.0)
    assert status(minimize(f, np.asarray([1.0, 1.0]), method=method)) == Status.NON_FINITE


@pytest.mark.parametrize("method", [*ALL, "adam"])
def test_constant_functions_are_at_a_minimum(method: str) -> None:
    result = minimize(lambda x: 0.0 * total(x) + 3.0, np.asarray([1.0, 2.0]), method=method)
    assert status(result) == Status.CONVERGED
    assert float(result.fun) == 3.0


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs", "gradient-descent"])
def test_gradients_that_are_wrong_stagnate(method: str) -> None:
    result = minimize(lambda x: total(x**2), np.asarray([1.0, 2.0]), gradient=lambda x: -2.0 * x, method=method)
    assert status(result) == Status.STAGNATED
    np.testing.assert_allclose(result.x, [1.0, 2.0], rtol=1e-10)  # but for steps that are rounding errors


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs"])
def test_jumps_stagnate(method: str) -> None:
    # Downhill to where the function jumps up: no gradient vanishes.
    f = lambda x: total(array_namespace(x).where(x < 0.0, 10.0 - x, x))
    result = minimize(f, np.asarray([1.0]), method=method)
    assert status(result) == Status.STAGNATED
    assert 0.0 <= result.x[0] < 1e-6


def test_kinks_are_not_taken_for_minima() -> None:
    result = minimize(lambda x: total(array_namespace(x).abs(x - 0.3)), np.asarray([1.0]), method="bfgs")
    # At the kink itself the gradient is what the library says; elsewhere the status must not be CONVERGED.
    assert status(result) == Status.STAGNATED or float(result.optimality) == 0.0


def test_where_the_function_is_nan_is_avoided() -> None:
    f = lambda x: array_namespace(x).where(x[0] > 0.0, x[0] - 2.0 * abs(x[0]) ** 0.5, np.nan)
    result = minimize(f, np.asarray([0.1]))
    assert status(result) == Status.CONVERGED
    np.testing.assert_allclose(result.x, [1.0], rtol=1e-4)


def test_steps_that_are_too_long_diverge() -> None:
    result = minimize(
        lambda x: total(x**4), np.asarray([3.0]), method="gradient-descent", learning_rate=1.0, max_steps=100
    )
    assert status(result) == Status.DIVERGED
    assert np.isfinite(result.x[0])


@pytest.mark.parametrize("method", ["adam", "gradient-descent"])
def test_steps_to_where_the_function_is_not_finite_are_not_taken(eager_library: Library, method: str) -> None:
    start = eager_library.asarray(np.asarray([1.0, 2.0]))
    f = lambda x: array_namespace(x).sum(x**4)
    with np.errstate(over="ignore", invalid="ignore"):
        result = minimize(f, start, method=method, learning_rate=1e100, max_steps=5)
    assert Status(int(result.status)) == Status.DIVERGED
    eager_library.assert_equal(result.x, np.asarray([1.0, 2.0]))
    eager_library.assert_equal(result.fun, np.asarray(17.0))


@pytest.mark.parametrize("method", [*ALL, "adam", "scipy-cg"])
def test_too_few_steps(method: str) -> None:
    f = lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (1.0 - x[0]) ** 2
    result = minimize(f, np.asarray([-1.2, 1.0]), method=method, max_steps=3)
    assert status(result) == Status.MAX_STEPS
    assert int(result.iterations) == 3
    assert result.message == "not converged within the steps allowed"


def test_each_of_a_batch_has_its_own_status(eager_library: Library) -> None:
    x = eager_library.asarray([[0.5], [-1.0], [np.nan]])
    if eager_library.id == "jax":
        x = eager_library.asarray([[0.5], [np.nan]])
    # A minimum at 1, and none on the other side.
    f = lambda x: x[..., 0] ** 3 / 3.0 - x[..., 0]
    result = minimize(f, x, batch_ndim=1, method="bfgs", max_steps=200, atol=1e-6)
    found = eager_library.to_numpy(result.status).tolist()
    assert found == ([0, 6] if eager_library.id == "jax" else [0, 0, 6]) or found == [0, 3, 6]


def test_roots_that_are_none() -> None:
    none = root(lambda x: x**2 + 1.0, np.asarray([0.7]))
    assert status(none) == Status.STAGNATED
    np.testing.assert_allclose(none.x, 0.0, atol=1e-6)
    np.testing.assert_allclose(none.fun, 1.0, rtol=1e-12)
    assert status(root(lambda x: x**2 + 1.0, np.asarray([0.0]))) == Status.STAGNATED
    assert status(root(lambda x: 0.0 * x + 1.0, np.asarray([0.3]), method="broyden")) == Status.STAGNATED
    flat = root(lambda x: 0.0 * x + 1.0, np.asarray([0.3]))
    assert status(flat) == Status.SINGULAR
    np.testing.assert_array_equal(flat.fun, [1.0])
    assert status(root(lambda x: x * np.nan, np.asarray([0.3]))) == Status.NON_FINITE
    assert status(root(lambda x: x, np.asarray([np.inf]))) == Status.NON_FINITE
    assert status(root(lambda x: x**3 - 1.0, np.asarray([2.0]), max_steps=1)) == Status.MAX_STEPS


def test_singular_systems_with_a_root() -> None:
    # The Jacobian is singular at each point; so there are many roots.
    result = root(lambda x: array_namespace(x).stack([x[0] + x[1] - 2.0, 2.0 * x[0] + 2.0 * x[1] - 4.0]), np.zeros(2))
    assert status(result) == Status.CONVERGED
    np.testing.assert_allclose(np.sum(result.x), 2.0)


def test_iterations_that_expand_diverge() -> None:
    assert status(fixed_point(lambda x: 3.0 * x + 1.0, np.asarray([1.0]))) == Status.DIVERGED
    assert status(fixed_point(lambda x: -x, np.asarray([1.0]), max_steps=10)) == Status.MAX_STEPS
    assert status(fixed_point(lambda x: x * np.nan, np.asarray([1.0]))) == Status.NON_FINITE
    assert status(fixed_point(lambda x: x + 1.0, np.asarray([1.0]), max_steps=10)) == Status.MAX_STEPS


def test_least_squares_without_solution() -> None:
    wrong = least_squares(lambda x: x * np.nan, np.asarray([1.0]))
    assert status(wrong) == Status.NON_FINITE
    few = least_squares(lambda x: array_namespace(x).exp(x) - 2.0, np.asarray([3.0]), max_steps=2)
    assert status(few) == Status.MAX_STEPS
    # One variable has no part in it.
    free = least_squares(lambda x: x[:1] - 1.0, np.asarray([0.0, 5.0]))
    assert status(free) == Status.CONVERGED
    np.testing.assert_allclose(free.x, [1.0, 5.0], rtol=1e-7)


def test_brackets_that_are_none() -> None:
    result = brentq(
        lambda x: array_namespace(x).stack([x[0] ** 2 + 1.0, x[1], 1.0 / (x[2] - 0.3), x[3], x[4] * np.nan]),
        np.asarray([-1.0, -1.0, 0.0, -np.inf, -1.0]),
        np.asarray([1.0, 2.0, 1.0, 1.0, 1.0]),
    )
    wanted = [Status.NO_BRACKET, Status.CONVERGED, Status.STAGNATED, Status.NON_FINITE, Status.NON_FINITE]
    assert result.status.tolist() == wanted
    np.testing.assert_array_equal(result.x[3:], [-np.inf, -1.0])
    np.testing.assert_array_equal(result.fun[3:], [-np.inf, np.nan])
    assert np.isnan(result.optimality[3:]).all()
    hole = lambda x: array_namespace(x).where(abs(x - 0.3) < 0.2, np.nan, x - 0.3)
    assert status(brentq(hole, 0.0, 1.0)) == Status.BREAKDOWN
    with pytest.raises(ConvergenceError, match="the same sign at both ends"):
        optimize.brentq(lambda x: x * x + 1.0, 0.0, 1.0)


@pytest.mark.parametrize("method", ["levenberg-marquardt", "gauss-newton"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_that_overflow_are_no_measure(method: Any, dtype: str) -> None:
    size = np.asarray(1e22 if dtype == "float32" else 1e160, dtype=dtype)[()]
    start = np.asarray([3.0, 4.0], dtype=dtype)
    with np.errstate(over="ignore"):
        result = least_squares(lambda x: size * (x - 1), start, method=method)
        assert status(result) == Status.CONVERGED
        np.testing.assert_array_equal(result.x, np.ones(2))
        never = least_squares(lambda x: size * (x * x + 1), start, method=method)
    assert status(never) != Status.CONVERGED


def test_bounds_that_no_number_is_within() -> None:
    compiled = jit(lambda upper: minimize(lambda x: total((x - 0.3) ** 2), ONE, bounds=(1.0, upper)).status)
    assert Status(int(compiled(np.asarray(0.0)))) == Status.BREAKDOWN
    for upper in (1.0, 2.0):  # with equal bounds there is one number
        assert Status(int(compiled(np.asarray(upper)))) == Status.CONVERGED


@pytest.mark.parametrize("method", ["brent", "bisect"])
def test_brackets_at_the_ends_of_the_data_type(method: Any) -> None:
    with np.errstate(over="ignore"):  # the interval is longer than any number
        wide = bracketed_root(lambda x: x - 1.0, np.asarray(-1.7e308), np.asarray(1.7e308), method=method)
    assert status(wide) == Status.CONVERGED
    np.testing.assert_allclose(wide.x, 1.0, rtol=1e-14)
    # A function that is infinite on both sides of a jump has no root there.
    jump = lambda x: array_namespace(x).where(x > 0.3, np.inf, -np.inf)
    assert status(bracketed_root(jump, np.asarray(0.0), np.asarray(1.0), method=method)) == Status.STAGNATED


ONE = np.asarray([1.0, 2.0])
BAD: list[tuple[Any, type[Exception], str]] = [
    (lambda: minimize(3, ONE), TypeError, "f must be a function, got int"),
    (lambda: minimize(lambda x: x, ONE), ValueError, r"one number, an array of shape \(\), got shape \(2,\); reduce"),
    (lambda: minimize(lambda x: total(x) > 0, ONE), TypeError, "real floating-point numbers, got bool"),
    (lambda: minimize(lambda x: "no", ONE), TypeError, "f must return"),
    (lambda: minimize(lambda x: x, np.ones((3, 2)), batch_ndim=1), ValueError, r"array of shape \(3,\), got shape"),
    (lambda: minimize(total, np.asarray([1, 2])), TypeError, "x0 must have a floating-point data type.*int64"),
    (lambda: minimize(total, {"a": np.asarray([1])}), TypeError, r"x0\['a'\] must have a floating"),
    (lambda: minimize(total, []), TypeError, "x0 must hold an array or a number"),
    (lambda: minimize(total, ONE, batch_ndim=2), ValueError, "must have the same first 2 axes"),
    (lambda: minimize(total, ONE, batch_ndim=-1), ValueError, "batch_ndim must be at least 0"),
    (lambda: minimize(total, ONE, method="bfgz"), ValueError, "did you mean 'bfgs'"),
    (lambda: minimize(total, ONE, method="bfgs", bounds=(0.0, 1.0)), ValueError, "'bfgs' takes no bounds.*l-bfgs-b"),
    (lambda: minimize(total, ONE, method="scipy-cg", bounds=(0.0, 1.0)), ValueError, "takes no bounds"),
    (
        lambda: minimize(total, ONE, method="scipy-cg", max_steps=(1, 2)),
        ValueError,
        "must be one number for the method",
    ),
    (lambda: minimize(total, ONE, bounds=(2.0, 1.0)), ValueError, "bounds must not cross"),
    (lambda: minimize(total, ONE, bounds=(np.zeros(3), None)), ValueError, r"must broadcast to the shape \(2,\)"),
    (lambda: minimize(total, ONE, bounds=0.0), TypeError, "bounds must be a pair"),
    (lambda: minimize(total, ONE, bounds=(np.nan, None)), ValueError, "bounds hold NaN"),
    (lambda: minimize(total, ONE, bounds=(np.inf, np.inf)), ValueError, "no number satisfies them"),
    (lambda: minimize(total, ONE, bounds=(None, -np.inf)), ValueError, "no number satisfies them"),
    (lambda: minimize(total, ONE, bounds=({"a": 0.0}, None)), TypeError, "must be a number or a tree like x0"),
    (lambda: minimize(lambda x: abs(total(x)), ONE * 1j, bounds=(0.0, None)), TypeError, "for real variables"),
    (lambda: minimize(total, ONE, atol=-1.0), ValueError, "atol must not be negative"),
    (lambda: minimize(total, ONE, rtol="x"), TypeError, "rtol must be a number"),
    (lambda: minimize(total, ONE, rtol=0.1, method="nelder-mead"), TypeError, "relative to the first gradient"),
    (lambda: minimize(total, ONE, max_steps=-1), ValueError, "max_steps must be at least 0"),
    (lambda: minimize(total, ONE, max_steps=()), ValueError, "max_steps must be a number of steps"),
    (lambda: minimize(total, ONE, history=3, method="bfgs"), TypeError, "history is for 'l-bfgs'"),
    (lambda: minimize(total, ONE, learning_rate=-1.0, method="adam"), ValueError, "learning_rate must be positive"),
    (lambda: minimize(total, ONE, beta1=1.0, method="adam"), ValueError, "beta1 must be below 1"),
    (lambda: minimize(total, ONE, args=3), TypeError, r"args must be a tuple.*args=\(a,\)"),
    (lambda: minimize(total, ONE, callback=3), TypeError, "callback must be a function"),
    (lambda: minimize(total, ONE, throw=1), TypeError, "throw must be True or False"),
    (
        lambda: minimize(total, ONE, gradient=lambda x: x[0]),
        ValueError,
        "the result of gradient must be a tree like x0",
    ),
    (
        lambda: root(lambda x: x[0], ONE),
        ValueError,
        r"the result of f must be a tree like x0, with the shape \(2,\), got \(\)",
    ),
    (lambda: root(lambda x: (x, x), ONE), TypeError, "the result of f must be .*structure"),
    (lambda: root(lambda x: x, ONE, method="newtn"), ValueError, "did you mean 'newton'"),
    (lambda: root(lambda x: x, ONE, history=3), TypeError, "history is for 'anderson'"),
    (lambda: root(lambda x: x, ONE, method="anderson", mixing=0.0), ValueError, "mixing must not be zero"),
    (lambda: fixed_point(lambda x: x[:1], ONE), ValueError, "the result of f must be"),
    (lambda: fixed_point(3, ONE), TypeError, "f must be a function"),
    (lambda: least_squares(lambda x: 1, ONE), TypeError, "floating-point data type"),
    (lambda: least_squares(lambda x: x, np.ones((3, 2)), batch_ndim=1, damping=-1.0), ValueError, "damping must be"),
    (lambda: least_squares(lambda x: x[0], np.ones((3, 2)), batch_ndim=1), ValueError, "first 1 axes are those of x0"),
    (lambda: brentq(lambda x: x, 0.0, "b"), TypeError, "b is"),
    (lambda: brentq(lambda x: x, np.asarray([1]), 2.0), TypeError, "a must have a real floating"),
    (lambda: brentq(lambda x: x, np.zeros(2), np.ones(3)), ValueError, "broadcast together"),
    (lambda: brentq(lambda x: total(x), np.zeros(2), 1.0), ValueError, r"array of shape \(2,\), got shape \(\)"),
    (lambda: bracketed_root(lambda x: x, 0.0, 1.0, method="brnt"), ValueError, "did you mean 'brent'"),
    (lambda: optimize.iterate(3, ONE, running=3), TypeError, "step must be a function"),
    (lambda: optimize.iterate(lambda x: x, (), running=lambda x: x > 3), TypeError, "state must be a tree of arrays"),
]


@pytest.mark.parametrize(("call", "error", "match"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_input(call: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        call()


def test_what_needs_values_says_so() -> None:
    with pytest.raises(ValueError, match="runs on the host.*without 'scipy-'"):
        jit(lambda x: minimize(lambda x: total(x**2), x, method="scipy-bfgs").x)(ONE)
    # Under jit there is nothing to raise for yet.
    unsolved = jit(lambda x: optimize.minimize(lambda x: -total(x), x).status)(ONE)
    assert Status(int(unsolved)) == Status.DIVERGED
    with pytest.raises(ValueError, match="a callback needs the values"):
        jit(lambda x: root(lambda x: x, x, callback=lambda r: True).x)(ONE)
    torch = next(x for x in LIBRARIES if x.id == "torch")
    with pytest.raises(TypeError, match="one library"):
        minimize(total, (torch.asarray([1.0]), ONE))


FAILURES: dict[str, tuple[Any, str, Status]] = {
    "minimize": (lambda **o: optimize.minimize(lambda x: -total(x), ONE, method="bfgs", **o), "bfgs", Status.DIVERGED),
    "root": (lambda **o: optimize.root(lambda x: x**3 - 1.0, ONE, max_steps=1, **o), "newton", Status.MAX_STEPS),
    "fixed_point": (
        lambda **o: optimize.fixed_point(lambda x: 3.0 * x + 1.0, ONE, **o),
        "iteration",
        Status.DIVERGED,
    ),
    "least_squares": (
        lambda **o: optimize.least_squares(lambda x: x * np.nan, ONE, **o),
        "levenberg-marquardt",
        Status.NON_FINITE,
    ),
    "brentq": (lambda **o: optimize.brentq(lambda x: x * x + 1.0, 0.0, 1.0, **o), "brent", Status.NO_BRACKET),
    "bisect": (lambda **o: optimize.bisect(lambda x: x - 0.3, 0.0, 1.0, max_steps=2, **o), "bisect", Status.MAX_STEPS),
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_raise_by_default(name: str) -> None:
    """The error names function, method, status, its meaning and what to do, and has what `throw=False` returns."""
    call, method, code = FAILURES[name]
    meaning = str(call(throw=False).message)
    with pytest.raises(ConvergenceError, match=f"^{name}: method '{method}' did not converge. {code.name}, ") as raised:
        call()
    text = str(raised.value)
    assert meaning in text
    assert "attribute `result`; throw=False returns it" in text
    wanted = call(throw=False)
    assert status(raised.value.result) == status(wanted) == code
    np.testing.assert_array_equal(raised.value.result.x, wanted.x)


def test_one_of_a_batch_that_fails_raises(eager_library: Library) -> None:
    x = eager_library.asarray([[0.5], [np.nan], [0.6]])
    f = lambda x: (x[..., 0] - 1.0) ** 2
    with pytest.raises(ConvergenceError, match=r"1 of 3 systems \(the first: number 1\): NON_FINITE") as raised:
        optimize.minimize(f, x, batch_ndim=1, method="bfgs")
    eager_library.assert_equal(raised.value.result.x[0, :], [1.0], rtol=1e-6)


def test_a_stop_that_a_callback_asks_for_is_no_failure() -> None:
    stopped = optimize.minimize(lambda x: total(x**4), ONE, callback=lambda result: True)
    assert status(stopped) == Status.ABORTED


@pytest.mark.parametrize("method", ["l-bfgs", "bfgs"])
def test_noise_ends_the_iteration_soon(eager_library: Library, method: str) -> None:
    # Where rounding errors, of a covariance matrix for example, hide which way leads down.
    def f(x: Any) -> Any:
        xp = array_namespace(x)
        return xp.sum((x - 1.0) ** 2) + 1e-7 * xp.cos(1e9 * x[0])

    def gradient(x: Any) -> Any:
        return 2.0 * (x - 1.0) + 1e-4 * array_namespace(x).sin(1e9 * x)

    start = eager_library.asarray([3.0, -2.0, 5.0])
    found = minimize(f, start, gradient=gradient, method=method, throw=False)
    assert int(found.status) == Status.STAGNATED
    assert int(found.function_evaluations) <= 150
    eager_library.assert_equal(found.x, np.ones(3), atol=1e-3)
