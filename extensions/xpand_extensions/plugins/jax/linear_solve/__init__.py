"""Solvers of linear systems on JAX, compiled as a whole."""

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular
from ._krylov import krylov
from ._solve_dense import solve_dense
from ._solve_levels import solve_levels
