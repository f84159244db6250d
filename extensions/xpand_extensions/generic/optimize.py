"""Iterations for any library, and the linear equations of implicit derivatives."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from xpand import UnsupportedError, array_namespace, trees
from xpand.extend import Array
from xpand_extensions import autodiff, optimize
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._lazy import is_lazy
from xpand_extensions._solver_status import Status

from ..linear_solve._direct import factorize
from ..linear_solve._solve import solve
from ..optimize._algorithms._states import is_known, looped, stepped
from ..optimize._residuals import matrix_of
from ..optimize._tasks import Driver, Task

_LARGE: Final = 1000
"""From this number of variables on, iterate: a matrix would take 8 MB and more time than an iteration."""

_RESTART: Final = 50


def driver_of(task: Task, start: Array, /, *args: Any) -> Driver | None:
    # The library has no drivers: `optimize` takes its own steps.
    return None


@forwards_to(optimize.iterate)
def iterate(step: Any, /, state: Any, *, running: Any, init: Any, lazy_steps: int | None, callback: Any) -> trees.Tree:
    lazy = is_lazy(trees.leaves(state)[0])
    if lazy and lazy_steps is None:
        raise UnsupportedError(
            "iterate: lazy arrays need a fixed number of steps; give lazy_steps (each step becomes part of the graph), "
            "or compute the arrays first"
        )
    state = state if init is None else init(state)
    if is_known(state):
        return stepped(step, state, running, callback)
    if not lazy:
        return looped(step, state, running, callback)
    return looped(step, state, running, callback, max_iter=lazy_steps)


def _by_matrix(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    """Solve with the matrix of each problem. The solution of a singular problem is NaN."""
    factors = factorize(matrix_of(linear, y), method="lu")
    x = factors.solve(y, axis=-1)
    xp = array_namespace(x)
    one = xp.ones_like(x[..., :1])
    # Multiply by NaN, since the result must be linear in y.
    regular = factors.status == int(Status.CONVERGED)
    return x * xp.where(regular[..., None], one, xp.full_like(one, float("nan")))


def tangent_of(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    if y.shape[-1] < _LARGE:
        return _by_matrix(linear, y)
    eps = float(array_namespace(y).finfo(y.dtype).eps)
    # Unlike gmres, other methods for nonsymmetric systems break down for some sparse right-hand sides.
    method = "minres" if is_symmetric else f"gmres({_RESTART})"

    def solved(linear: Callable[[Array], Array], y: Array) -> Array:
        options: dict[str, Any] = {"method": method, "symmetric": is_symmetric, "batch_ndim": y.ndim - 1}
        found = solve(linear, y, rtol=max(1e-10, 100 * eps), throw=False, **options)
        xp = array_namespace(y)
        # Require about half of the digits. A less exact solution is no derivative, and the user would see no status.
        failed = found.residual_norm > eps**0.375 * xp.linalg.vector_norm(y, axis=-1)
        nan = xp.full_like(found.x, float("nan"))
        x: Array = xp.where(failed[..., None], nan, found.x)
        return x

    def solved_transposed(x: Array) -> Array:
        if is_symmetric:
            return solved(linear, x)
        transposed = autodiff.linear_transpose(linear, x)
        return solved(lambda x: transposed(x)[0], x)

    # The result must be linear in y, unlike the steps.
    x: Array = autodiff.custom_linear_solve(
        linear, y, solve=partial(solved, linear), transpose_solve=solved_transposed, symmetric=is_symmetric
    )
    return x
