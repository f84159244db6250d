"""Solvers of linear systems on NumPy: LAPACK's and SuperLU's factors."""

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular, solve_dense
from ._direct_sparse import factor_sparse, solve_sparse
from ._krylov import krylov
