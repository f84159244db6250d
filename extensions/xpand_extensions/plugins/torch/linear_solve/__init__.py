"""Solvers of linear systems on PyTorch."""

from ._direct_dense import factor_cholesky, factor_lu
from ._krylov import krylov
from ._solve_dense import solve_dense
