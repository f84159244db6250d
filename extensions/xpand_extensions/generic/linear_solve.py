"""Solvers of linear systems with the standard alone."""

from typing import Any

from xpand._typing import Array
from xpand_extensions._linear_solve_krylov import Found

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular
from ._direct_sparse import factor_sparse, solve_sparse
from ._krylov_run import run

__all__ = ["factor_cholesky", "factor_lu", "factor_qr", "factor_sparse", "factor_triangular", "krylov", "solve_sparse"]


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
    return Found(*run(b, x0, rtol, atol, system=system, method=method, order=order, stops=stops))
