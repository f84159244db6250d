"""Factors of dense matrices by LAPACK, matrix by matrix, with its own report of failures."""

import numpy as np
from scipy.linalg import get_lapack_funcs

import xpand.numpy as xp
from xpand._typing import Array
from xpand_extensions._linear_solve_factors import CholeskyParts, LUParts, QRParts, TriangularParts
from xpand_extensions.generic import _direct_dense as generic


def factor_lu(a: Array, /) -> LUParts:
    with np.errstate(all="ignore"):  # the estimate may overflow, to what means singular
        found = generic.factor_lu(a)
    # Laid out as BLAS is to read it at each solution.
    return found._replace(factors=np.ascontiguousarray(found.factors))


def factor_qr(a: Array, /) -> QRParts:
    with np.errstate(all="ignore"):
        return generic.factor_qr(a)


def factor_triangular(a: Array, /, *, lower: bool = True) -> TriangularParts:
    with np.errstate(all="ignore"):
        return generic.factor_triangular(a, lower=lower)


def factor_cholesky(a: Array, /) -> CholeskyParts:
    finite, safe = generic.finite_or_identity(xp, a)
    factor = np.empty(a.shape, a.dtype)
    info = np.zeros(a.shape[:-2], np.int64)
    if a.size:
        (potrf,) = get_lapack_funcs(("potrf",), (a,))
        for index in np.ndindex(a.shape[:-2]):
            factor[index], info[index] = potrf(safe[index], lower=True, clean=True)
    with np.errstate(all="ignore"):
        return generic.judged_cholesky(xp, a, finite, factor, np.asarray(info == 0))
