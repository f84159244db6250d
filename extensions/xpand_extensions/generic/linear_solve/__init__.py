"""Solvers of linear systems with the standard alone."""

from typing import Any, Final

from xpand import UnsupportedError
from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._lazy import is_lazy
from xpand_extensions.linear_solve import _krylov as facade

from ._direct import (
    factor_cholesky,
    factor_lu,
    factor_qr,
    factor_sparse,
    factor_triangular,
    solve_dense,
    solve_levels,
    solve_sparse,
)
from ._krylov_run import run

_MOST_LAZY: Final = 500
"""Each step makes dozens of tasks for every block."""


@forwards_to(facade.krylov)
def krylov(b: Array, x0: Array, rtol: Array, atol: Array, /, *, stops: tuple[int, ...], **options: Any) -> facade.Found:
    bounded = is_lazy(b)
    if bounded and stops[-1] > _MOST_LAZY:
        raise UnsupportedError(
            f"solve: lazy arrays do not show when a system has converged, so all {stops[-1]} steps would be planned; "
            f"give max_steps, at most {_MOST_LAZY}, or compute the arrays first"
        )
    return facade.Found(*run(b, x0, rtol, atol, stops=stops, bounded=bounded, **options))
