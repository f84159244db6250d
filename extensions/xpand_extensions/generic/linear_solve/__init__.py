"""Solvers of linear systems with the standard alone."""

from typing import Any, Final

from xpand import UnsupportedError
from xpand.extend import Array
from xpand_extensions._lazy import is_lazy
from xpand_extensions.linear_solve._krylov import Found

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular
from ._direct_sparse import factor_sparse, solve_sparse
from ._krylov_run import run
from ._solve_dense import solve_dense
from ._solve_levels import solve_levels

_MOST_LAZY: Final = 500
"""Each step is some tens of tasks for every block."""


def krylov(
    b: Array,
    x0: Array,
    rtol: Array,
    atol: Array,
    /,
    *,
    system: Any,
    method: str,
    order: int = 0,
    stops: tuple[int, ...] = (1,),
    record: bool = False,
) -> Found:
    bounded = is_lazy(b)
    if bounded and stops[-1] > _MOST_LAZY:
        raise UnsupportedError(
            f"solve: of lazy arrays all of the {stops[-1]} steps that there may be are planned, for whether a system "
            f"has converged is not known; give max_steps, at most {_MOST_LAZY}, or compute the arrays first"
        )
    options: dict[str, Any] = {"system": system, "method": method, "order": order, "stops": stops, "record": record}
    return Found(*run(b, x0, rtol, atol, bounded=bounded, **options))
