"""Solvers of linear systems on JAX, compiled as a whole."""

from ._direct import factor_cholesky, factor_lu, factor_qr, factor_triangular, solve_dense, solve_levels
from ._krylov import krylov
