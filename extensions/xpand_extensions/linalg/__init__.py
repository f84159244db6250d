"""Linear algebra beyond the standard: products over any axes, factorizations, functions of matrices,
distances of vectors.

The standard's functions are in the namespace: `xp.matmul`, `xp.tensordot`, `xp.vecdot`, and `xp.linalg` with `solve`,
`inv`, `det`, `qr`, `svd`, `eigh`, `eig`, `eigvals`, `cholesky`, `matrix_rank` and `pinv`.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._distances import Metric, cdist
from ._factorizations import (
    LUFactors,
    LUResult,
    PivotedQRResult,
    cho_solve,
    expm,
    logm,
    lu,
    lu_factor,
    lu_solve,
    pivoted_qr,
    triangular_solve,
)
from ._lstsq import LstsqResult, lstsq
from ._products import diagonal, dot_general, einsum, kron, matvec
from ._spectra import SchurResult, schur, solve_sylvester, sqrtm
from ._structured import block_diag, toeplitz, tridiagonal_solve

__all__ = [
    "LUFactors",
    "LUResult",
    "LstsqResult",
    "Metric",
    "PivotedQRResult",
    "SchurResult",
    "block_diag",
    "cdist",
    "cho_solve",
    "diagonal",
    "dot_general",
    "einsum",
    "expm",
    "kron",
    "logm",
    "lstsq",
    "lu",
    "lu_factor",
    "lu_solve",
    "matvec",
    "pivoted_qr",
    "schur",
    "solve_sylvester",
    "sqrtm",
    "toeplitz",
    "triangular_solve",
    "tridiagonal_solve",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
