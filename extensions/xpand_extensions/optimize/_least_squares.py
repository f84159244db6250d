"""Nonlinear least squares of functions of trees."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import trees
from xpand.extend import Array, checks

from .. import autodiff
from .._elsewhere import arguments_elsewhere, start_elsewhere
from .._where import clean_tracebacks
from ..progress import To
from ._algorithms import _levenberg as levenberg, _residuals as newton
from ._arguments import Limits, Vectors, common, limits_of, number
from ._repeated import repeatable
from ._residuals import Residuals
from ._results import OptimizeResult
from ._run import Handling, run, solved
from ._tasks import Record, Task

_METHODS: Final = ("levenberg-marquardt", "gauss-newton")


@clean_tracebacks
@start_elsewhere
@arguments_elsewhere(
    **dict.fromkeys(("ftol", "xtol"), "`rtol`"),
    gtol="`atol`",
    jac="nothing: the Jacobian is computed",
    bounds="`minimize(lambda x: 0.5 * xp.sum(f(x) ** 2), x0, bounds=…)`",
    **dict.fromkeys(("loss", "f_scale"), "the loss into `f`, or use `minimize`"),
    x_scale="`f` for scaled variables",
)
def least_squares(
    f: Callable[..., Any],
    /,
    x0: trees.Tree,
    *,
    method: str = "levenberg-marquardt",
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    batch_ndim: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
    damping: float | None = None,
) -> OptimizeResult:
    """Minimize the sum of squares of residuals, which are a function of a tree of arrays.

    Args:
        f: Takes a tree like `x0`, and `args`; returns the residuals, a tree of floating-point arrays. With
            `batch_ndim`, the first axes of the residuals are those of the problems, and each problem's residuals may
            depend only on that problem's part of the arrays.
        x0: The starting point: a tree of floating-point arrays. Complex numbers, in `x0` and in residuals, count as
            pairs of real numbers.
        method: "levenberg-marquardt"; or "gauss-newton", which shortens steps until the sum of squares decreases, and
            needs at least as many residuals as variables.
        args: Further arguments of `f`: trees of arrays, and other objects. The solution is differentiable with respect
            to their floating-point arrays.
        atol: A problem has converged when no element of the gradient of half the sum of squares is larger. None: the
            data type's `eps` to the power 1/2, 1.5e-8 in float64 and 3.5e-4 in float32.
        rtol: The tolerance relative to the first gradient; the larger of both tolerances counts. None: `eps**0.75`,
            1.8e-12 in float64.
        max_steps: The maximum number of steps. A sequence returns the trajectory: the results after each number of
            steps. None: 500.
        batch_ndim: The number of leading axes of all arrays of `x0` that are independent problems. Each problem stops
            by itself.
        callback: Called after each step with the result so far; if it returns True, the iteration ends. Only for
            concrete arrays.
        throw: Whether to raise `ConvergenceError` if a problem hasn't converged; the result is in the error's `result`.
            Abstract values, as under `jit`, raise no error. False: check the `status` of the result.
        progress: Whether to show the iterations and the norm of the residuals; or a function of a `Progress`, see
            `xpand.progress`.
        record_history: Whether to return the values of each iteration in `history`.
        damping: For "levenberg-marquardt": the first damping, relative to the columns of the Jacobian. None: 1e-3.

    Returns:
        An `OptimizeResult` with `x`, `fun` (the tree of residuals), `optimality` (the largest element of the gradient),
        and the `status` of each problem:

        - CONVERGED: `atol` or `rtol` is met at the returned `x`.
        - STAGNATED: no shorter step reduces the sum of squares.
        - SINGULAR: the same, and for "gauss-newton" the columns of the Jacobian are dependent.
        - DIVERGED: points exceed 3e23 in float64, 2e10 in float32, relative to the first.
        - NON_FINITE: `x0`, or the residuals or the Jacobian there, are not finite.

    Raises:
        TypeError: An argument that is not a function, or not a tree of floating-point arrays, an option that the method
            doesn't have; or (`UnsupportedError`) a library without derivatives.
        ValueError: An unknown method, tolerances out of range, too few residuals for "gauss-newton", residuals with
            other batch axes, or a callback under transformations.
        ConvergenceError: A problem has not converged, unless `throw=False`.

    A step costs one product with the Jacobian for each variable, and the QR factors of an (m + n) by n matrix. The
    derivative of the solution with respect to `args` is that of the root of the gradient.

    Source: `scipy.optimize.least_squares`; Moré, The Levenberg-Marquardt algorithm (1978).

    >>> import numpy as np
    >>> t, y = np.asarray([0.0, 1.0, 2.0]), np.asarray([2.0, 1.0, 0.5])
    >>> found = least_squares(lambda x: x[0] * x[1] ** t - y, np.asarray([1.0, 1.0]))
    >>> np.round(found.x, 4), found.message
    (array([2. , 0.5]), 'converged')
    """
    options = method, atol, rtol, max_steps, batch_ndim, record_history, damping
    call, known = repeatable("least_squares", f, x0, args, options, callback, throw, progress)
    if known is not None:
        return known
    parameters = common("least_squares", f, method, _METHODS, args, callback, throw)
    batch_ndim = checks.integer("least_squares", "batch_ndim", batch_ndim, minimum=0)
    vectors = Vectors("least_squares", "x0", x0, batch_ndim, parameters)
    limits = limits_of(
        "least_squares", atol, rtol, max_steps, vectors, powers=(1 / 2, 0.75), default=500, record=record_history
    )
    first_damping = _damping(method, damping)
    residuals = Residuals("least_squares", f, vectors, is_square=False)

    def solve(start: Array, given: tuple[Any, ...], notify: Any, limits: Limits) -> tuple[Record, Record | None]:
        linearize = residuals.linearizer(given)
        if method == "levenberg-marquardt":
            init = lambda x: levenberg.init(linearize, x, limits.atol, limits.rtol, first_damping)
            return run(lambda state: levenberg.step(linearize, state), init, start, limits, slack=2, callback=notify)
        steps = newton.GaussNewton(_with_enough_residuals(linearize), is_root=False)
        init_search = lambda x: newton.init(steps, x, limits.atol, limits.rtol)
        return run(lambda state: newton.step(steps, state), init_search, start, limits, slack=2, callback=notify)

    def condition(x: Array, *given: Any) -> Array:
        value, pull = autodiff.vjp(lambda x: residuals.value(x, given), x)
        return pull(value)[0]

    task = Task(residuals, method, residuals.linearizer, limits, first_damping)
    handling = Handling(callback, throw, progress, call, is_symmetric=True)
    return solved(task, vectors.start, parameters, solve, condition, handling)


def _damping(method: str, damping: Any) -> float:
    if damping is None:
        return 1e-3
    if method != "levenberg-marquardt":
        raise TypeError(
            f"least_squares: the option damping is for 'levenberg-marquardt', got it with the method {method!r}"
        )
    value = number("least_squares", "damping", damping)
    if value <= 0:
        raise ValueError(f"least_squares: damping must be positive, got {damping}")
    return value


def _with_enough_residuals(linearize: newton.Linearize) -> newton.Linearize:
    """Check that there are as many residuals as variables."""

    def checked(x: Array) -> tuple[Array, Array]:
        value, jacobian = linearize(x)
        rows, columns = jacobian.shape[-2:]
        if rows < columns:
            raise ValueError(
                f"least_squares: 'gauss-newton' needs at least as many residuals as variables, got {rows} for "
                f"{columns}; use 'levenberg-marquardt'"
            )
        return value, jacobian

    return checked
