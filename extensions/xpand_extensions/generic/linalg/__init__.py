"""Linear algebra with the standard alone."""

from ._distances import cdist
from ._factorizations import (
    cho_solve,
    column_order,
    least_squares,
    lu,
    lu_factor,
    lu_solve,
    pivoted_qr,
    triangular_solve,
)
from ._functions import expm, logm
from ._products import diagonal, dot_general, einsum, kron, matvec
from ._schur import schur_factors
from ._spectra import schur, solve_sylvester, sqrtm
from ._structured import block_diag, toeplitz, tridiagonal_solve
