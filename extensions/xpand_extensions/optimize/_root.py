"""Roots and fixed points of functions of trees."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import trees
from xpand.extend import Array, checks

from .._elsewhere import arguments_elsewhere, start_elsewhere
from .._where import clean_tracebacks
from ..progress import To
from ._algorithms import _mixing as anderson, _residuals as newton
from ._arguments import Limits, Vectors, common, limits_of, number
from ._repeated import repeatable
from ._residuals import Residuals
from ._results import OptimizeResult
from ._run import Handling, run, solved
from ._tasks import Record, Task

_METHODS: Final = ("newton", "broyden", "anderson")
_FIXED_POINT_METHODS: Final = ("iteration", "anderson")


@clean_tracebacks
@start_elsewhere
@arguments_elsewhere(
    xtol="`atol` and `rtol`",
    options="each option as an argument of its own",
    **dict.fromkeys(("jac", "fprime"), "nothing: derivatives are computed"),
)
def root(
    f: Callable[..., Any],
    /,
    x0: trees.Tree,
    *,
    method: str = "newton",
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    batch_ndim: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
    history: int | None = None,
    mixing: float | None = None,
) -> OptimizeResult:
    """Find a root of a function that maps a tree of arrays to a tree like it.

    Args:
        f: Takes a tree like `x0`, and `args`; returns a tree with the same structure, shapes and data types. With
            `batch_ndim`, each problem's part of the result may depend only on that problem's part of the arrays.
        x0: The starting point: a tree of floating-point arrays. Complex numbers count as pairs of real numbers.
        method: "newton" computes the Jacobian by `autodiff`, and shortens steps until the sum of squares decreases;
            "broyden" computes the Jacobian only at the start, and again if a step fails; "anderson" needs no
            derivatives, and suits functions of the form g(x) - x.
        args: Further arguments of `f`: trees of arrays, and other objects. The solution is differentiable with respect
            to their floating-point arrays.
        atol: A problem has converged when no element of `f` is larger. None: the data type's `eps` to the power 2/3,
            3.7e-11 in float64 and 2.4e-5 in float32.
        rtol: The tolerance relative to the first residual; the larger of both tolerances counts. None: `eps**0.75`,
            1.8e-12 in float64.
        max_steps: The maximum number of steps. A sequence returns the trajectory: the results after each number of
            steps. None: 100; 1,000 for "broyden" and "anderson".
        batch_ndim: The number of leading axes of all arrays of `x0` that are independent problems. Each problem stops
            by itself.
        callback: Called after each step with the result so far; if it returns True, the iteration ends. Only for
            concrete arrays.
        throw: Whether to raise `ConvergenceError` if a problem hasn't converged; the result is in the error's `result`.
            Abstract values, as under `jit`, raise no error. False: check the `status` of the result.
        progress: Whether to show the iterations and the norm of the residuals; or a function of a `Progress`, see
            `xpand.progress`.
        record_history: Whether to return the values of each iteration in `history`.
        history: For "anderson": the number of mixed steps. None: 5.
        mixing: For "anderson": the factor of `f` in each step. None: chosen so that the length of the first step is
            half of that of `x0`, or 0.5 if `x0` is shorter than one.

    Returns:
        An `OptimizeResult` with `x`, `fun` (the tree that `f` returns at `x`), and the `status` of each problem:

        - CONVERGED: `atol` or `rtol` is met at the returned `x`.
        - STAGNATED: no shorter step reduces the sum of squares, as at its minimum.
        - SINGULAR: the same, and the Jacobian is singular.
        - DIVERGED: points exceed 3e23 in float64, 2e10 in float32, relative to the first; or a step of "anderson" leads
          to a point where `f` is not finite.
        - NON_FINITE: `x0`, or `f` or the Jacobian there, is not finite.

    Raises:
        TypeError: An argument that is not a function, or not a tree of floating-point arrays; `f` returns a tree of
            another structure; an option that the method doesn't have; or (`UnsupportedError`) a library without
            derivatives.
        ValueError: `f` returns other shapes; an unknown method; tolerances out of range; a callback under
            transformations.
        ConvergenceError: A problem has not converged, unless `throw=False`.

    A step of "newton" costs as many products with the Jacobian as there are variables, and the factors of an n by n
    matrix. The solution is differentiated with respect to `args` by the implicit function theorem.

    Source: `scipy.optimize.root`; `jaxopt.ScipyRootFinding`.

    >>> import numpy as np
    >>> found = root(lambda x: x * x - np.asarray([4.0, 9.0]), np.asarray([1.0, 1.0]))
    >>> np.round(found.x, 6), found.message
    (array([2., 3.]), 'converged')
    """
    options = method, atol, rtol, max_steps, batch_ndim, record_history, history, mixing
    call, known = repeatable("root", f, x0, args, options, callback, throw, progress)
    if known is not None:
        return known
    parameters = common("root", f, method, _METHODS, args, callback, throw)
    vectors = Vectors("root", "x0", x0, checks.integer("root", "batch_ndim", batch_ndim, minimum=0), parameters)
    default = 100 if method == "newton" else 1000
    powers = (2 / 3, 0.75)
    limits = limits_of("root", atol, rtol, max_steps, vectors, powers=powers, default=default, record=record_history)
    memory, amount = _mixing("root", method, history, mixing)
    residuals = Residuals("root", f, vectors, is_square=True)
    return _solved(residuals, method, parameters, limits, memory, amount, Handling(callback, throw, progress, call))


@clean_tracebacks
@start_elsewhere
@arguments_elsewhere(xtol="`atol` and `rtol`")
def fixed_point(
    f: Callable[..., Any],
    /,
    x0: trees.Tree,
    *,
    method: str = "iteration",
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    batch_ndim: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
    history: int | None = None,
    mixing: float = 1.0,
) -> OptimizeResult:
    """Find a fixed point, `f(x) = x`, of a function of a tree of arrays.

    Args:
        f: As in `root`.
        x0: As in `root`.
        method: "iteration" applies `f` repeatedly, which converges if `f` is a contraction; "anderson" mixes the last
            steps to minimize their residual.
        args: As in `root`.
        atol: A problem has converged when no element of `f(x) - x` is larger. None: the data type's `eps` to the power
            2/3, 3.7e-11 in float64.
        rtol: The tolerance relative to the largest element of `x`; the larger of both tolerances counts. None:
            `eps**0.75`, 1.8e-12 in float64.
        max_steps: As in `root`. None: 1,000.
        batch_ndim: As in `root`.
        callback: As in `root`.
        throw: As in `root`.
        progress: As in `root`.
        record_history: As in `root`.
        history: For "anderson": the number of mixed steps. None: 5.
        mixing: The factor of `f(x) - x` in each step; a factor below one damps.

    Returns:
        An `OptimizeResult` with `x`, `fun` (the tree that `f` returns at `x`), `optimality` (the largest element of
        `f(x) - x`), and the `status` of each problem, as for "anderson" in `root`.

    Raises:
        TypeError, ValueError, ConvergenceError: As `root`.

    The solution is differentiated with respect to `args` by the implicit function theorem.

    Source: `scipy.optimize.fixed_point`; Walker and Ni, Anderson acceleration for fixed-point iterations (2011).

    >>> import numpy as np
    >>> found = fixed_point(np.cos, np.asarray([0.0]))
    >>> np.round(found.x, 6), found.message
    (array([0.739085]), 'converged')
    """
    parameters = common("fixed_point", f, method, _FIXED_POINT_METHODS, args, callback, throw)
    batch_ndim = checks.integer("fixed_point", "batch_ndim", batch_ndim, minimum=0)
    vectors = Vectors("fixed_point", "x0", x0, batch_ndim, parameters)
    limits = limits_of(
        "fixed_point", atol, rtol, max_steps, vectors, powers=(2 / 3, 0.75), default=1000, record=record_history
    )
    memory, amount = _mixing("fixed_point", method, history, mixing)
    residuals = Residuals("fixed_point", f, vectors, is_square=True, shift=True)
    return _solved(residuals, method, parameters, limits, memory, amount, Handling(callback, throw, progress))


def _mixing(function: str, method: str, history: Any, amount: Any) -> tuple[int, float | None]:
    """Check the options of "anderson"."""
    for name, value in (("history", history), ("mixing", amount)):
        if value is not None and method != "anderson" and not (name == "mixing" and method == "iteration"):
            raise TypeError(f"{function}: the option {name} is for 'anderson', got it with the method {method!r}")
    if amount is not None:
        amount = number(function, "mixing", amount)
        if amount == 0:
            raise ValueError(f"{function}: mixing must not be zero, since steps would not change x")
    if method == "iteration":
        return 0, amount
    return (5 if history is None else checks.integer(function, "history", history, minimum=1)), amount


def _solved(
    residuals: Residuals,
    method: str,
    parameters: tuple[Any, ...],
    limits: Limits,
    history: int,
    amount: float | None,
    handling: Handling,
) -> OptimizeResult:
    """Run a method for roots or fixed points."""
    is_root = residuals.name == "root"

    def solve(start: Array, given: tuple[Any, ...], notify: Any, limits: Limits) -> tuple[Record, Record | None]:
        value = lambda x: residuals.value(x, given)
        if method in ("iteration", "anderson"):
            init_mixing = lambda x: anderson.init(value, x, history, amount, limits.atol, limits.rtol, is_root)
            mixed = lambda state: anderson.step(value, history, limits.rtol, limits.atol, is_root, state)
            return run(mixed, init_mixing, start, limits, callback=notify)
        linearize = residuals.linearizer(given)
        is_newton = method == "newton"
        steps: newton.Method = newton.GaussNewton(linearize, is_root) if is_newton else newton.Broyden(value, linearize)
        init = lambda x: newton.init(steps, x, limits.atol, limits.rtol)
        return run(lambda state: newton.step(steps, state), init, start, limits, slack=2, callback=notify)

    condition = lambda x, *given: residuals.value(x, given)
    task = Task(residuals, method, residuals.linearizer, limits, (history, amount))
    return solved(task, residuals.vectors.start, parameters, solve, condition, handling)
