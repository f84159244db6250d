"""Fixed points of functions of trees; the facade is `optimize`."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import trees
from xpand.extend import checks

from .._elsewhere import arguments_elsewhere
from .._where import clean_tracebacks
from ._arguments import Vectors, common, limits_of
from ._residuals import Residuals
from ._results import OptimizeResult
from ._root import mixing_of, root_of

_METHODS: Final = ("iteration", "anderson")


@clean_tracebacks
@arguments_elsewhere(xtol="`atol` and `rtol`", tol="`atol` and `rtol`", maxiter="`max_steps`")
def fixed_point(
    f: Callable[..., Any],
    x0: trees.Tree,
    /,
    *,
    method: str = "iteration",
    args: tuple[Any, ...] = (),
    atol: float | None = None,
    rtol: float | None = None,
    max_steps: int | Sequence[int] | None = None,
    batch_ndim: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    throw: bool = True,
    history: int | None = None,
    mixing: float = 1.0,
) -> OptimizeResult:
    """Find a fixed point of a function of a tree of arrays.

    Args:
        f: As in `root`.
        x0: As in `root`.
        method: "iteration": `f` is applied repeatedly, which converges where it contracts; or "anderson", which mixes
            the last steps to minimize their residual.
        args: As in `root`.
        atol: A problem has converged when no element of `f(x) - x` is larger. None: 2/3 as an exponent of the spacing
            of numbers at one, 3.7e-11 in float64.
        rtol: The same relative to the largest element of `x`: the larger of the two counts. None: 0.75 as an exponent
            of that spacing, 1.8e-12 in float64.
        max_steps: As in `root`. None: 1,000.
        batch_ndim: As in `root`.
        callback: As in `root`.
        throw: As in `root`.
        history: For "anderson": the number of mixed steps. None: 5.
        mixing: The factor of `f(x) - x` in each step; a factor below one damps.

    Returns:
        `x`, `fun`, the tree that `f` returns for it, and the status of each problem: see `OptimizeResult`.
        `optimality` is the largest element of `f(x) - x`; `status` is as for "anderson" in `root`.

    Raises:
        TypeError, ValueError, ConvergenceError: As `root`.

    The solution is differentiated with respect to `args` by the implicit function theorem.

    Source: `scipy.optimize.fixed_point`; Walker and Ni, Anderson acceleration for fixed-point iterations (2011).

    >>> import numpy as np
    >>> found = fixed_point(np.cos, np.asarray([0.0]))
    >>> np.round(found.x, 6), found.message
    (array([0.739085]), 'converged')
    """
    parameters = common("fixed_point", f, method, _METHODS, args, callback, throw)
    batch_ndim = checks.integer("fixed_point", "batch_ndim", batch_ndim, minimum=0)
    vectors = Vectors("fixed_point", "x0", x0, batch_ndim, parameters)
    limits = limits_of("fixed_point", atol, rtol, max_steps, vectors, powers=(2 / 3, 0.75), default=1000)
    memory, amount = mixing_of("fixed_point", method, history, mixing)
    residuals = Residuals("fixed_point", f, vectors, is_square=True, shift=True)
    return root_of(residuals, method, parameters, limits, memory, amount, callback, throw)
