"""Solvers of linear systems on NumPy: factors by LAPACK and SuperLU."""

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular, solve_dense
from ._direct_sparse import factor_sparse, solve_sparse
from ._krylov import krylov
