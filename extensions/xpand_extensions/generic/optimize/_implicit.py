"""Linear equations of implicit derivatives, on any library."""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array

from ... import autodiff
from ..._solver_status import Status
from ...linear_solve._direct import factorize
from ...linear_solve._solve import solve
from ...optimize._residuals import matrix_of

_LARGE: Final = 1000
"""From this number of variables on no matrix is made: it would take 8 MB, and more time than an iteration."""

_RESTART: Final = 50


def by_matrix(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    """Solve by the matrix of each problem; NaN for singular ones only."""
    factors = factorize(matrix_of(linear, y), method="lu")
    x = factors.solve(y, axis=-1)
    xp = array_namespace(x)
    one = xp.ones_like(x[..., :1])
    # A factor, because the result must be linear in y.
    regular = factors.status == int(Status.CONVERGED)
    return x * xp.where(regular[..., None], one, xp.full_like(one, float("nan")))


def tangent_of(linear: Callable[[Array], Array], y: Array, /, *, is_symmetric: bool = False) -> Array:
    if y.shape[-1] < _LARGE:
        return by_matrix(linear, y)
    eps = float(array_namespace(y).finfo(y.dtype).eps)
    # Other methods for nonsymmetric systems may break down, and do for sparse right-hand sides: gmres doesn't.
    method = "minres" if is_symmetric else f"gmres({_RESTART})"

    def solved(linear: Callable[[Array], Array], y: Array) -> Array:
        options: dict[str, Any] = {"method": method, "symmetric": is_symmetric, "batch_ndim": y.ndim - 1}
        found = solve(linear, y, rtol=max(1e-10, 100 * eps), throw=False, **options)
        xp = array_namespace(y)
        # About half of the digits are required. Less is not a derivative, and nothing would check a status.
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
