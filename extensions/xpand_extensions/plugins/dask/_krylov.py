"""Krylov methods on Dask: as many steps as there may be, since how far a lazy system has come is not known."""

from typing import Any, Final

from xpand import UnsupportedError
from xpand._typing import Array

from ..._linear_solve_krylov import Found
from ...generic._krylov_run import run

_MOST: Final = 500
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
) -> Found:
    if stops[-1] > _MOST:
        raise UnsupportedError(
            f"solve: of lazy arrays all of the {stops[-1]} steps that there may be are planned, for whether a system "
            f"has converged is not known; give max_steps, at most {_MOST}, or compute the arrays first"
        )
    options: dict[str, Any] = {"system": system, "method": method, "order": order, "stops": stops}
    return Found(*run(b, x0, rtol, atol, bounded=True, **options))
