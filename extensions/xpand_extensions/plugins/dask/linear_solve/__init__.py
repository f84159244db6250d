"""Solvers of linear systems on Dask."""

from typing import Final

from ._direct_dense import factor_cholesky, factor_lu, factor_qr, factor_triangular

_HOST: Final = "factors of a sparse matrix are made of all its values; compute it, and solve with NumPy's arrays"
UNSUPPORTED: Final = {"factor_sparse": _HOST, "solve_sparse": _HOST}
