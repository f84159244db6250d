"""Direct solvers: factor once, solve for any number of right-hand sides."""

from typing import Final

from xpand.extend import Array, checks

from .. import autodiff
from ..sparse._containers import Sparse
from ..sparse._convert import any_sparse
from . import _factors as factors
from ._factorization import (
    CholeskyFactorization,
    Factorization,
    LUFactorization,
    QRFactorization,
    SparseFactorization,
    SymmetricSparseFactorization,
    check_square,
)
from ._triangular import triangular

METHODS: Final = ("auto", "direct", "lu", "cholesky", "qr", "lower", "upper")
"""The methods of `factorize`."""


def factorize(
    A: Array | Sparse, /, *, method: str = "auto", positive_definite: bool | None = None, symmetric: bool | None = None
) -> Factorization:
    """Factor a matrix, or a stack of them, to solve systems.

    Args:
        A: Square matrices of a floating-point data type: an array of shape `(..., n, n)`, a sparse container of that
            shape, or a library's own sparse matrix.
        method: "lu"; "cholesky" for Hermitian positive definite matrices, of which only the lower triangle is read;
            "qr"; "lower" or "upper" for a triangular matrix, of which the other triangle is not read; "auto" or
            "direct": "cholesky" for dense matrices that are declared positive definite, else "lu". Sparse matrices
            support "lu", "lower" and "upper" only.
        positive_definite: Whether the matrices are known to be Hermitian and positive definite.
        symmetric: Whether the matrices are known to be Hermitian, which saves work and memory for sparse matrices.

    Returns:
        The factorization, an immutable tree: `solve(b)`, `solve_transposed(b)`, `status`, `condition`, `method`.

    Raises:
        TypeError: `A` is not a matrix, or not of a floating-point data type.
        ValueError: Matrices that aren't square, or an unknown method.
        UnsupportedError: A sparse matrix of a lazy library.

    The values of a matrix never raise an error: `status` has a code for each matrix, and a matrix without factors does
    not affect the others of its stack. A matrix is SINGULAR if a pivot is zero, or if its estimated condition number,
    which does not depend on the scaling of rows, is above 1 / eps: then a solution may have no correct digit.

    A dense factorization costs 2/3 n**3 operations ("cholesky" half, "qr" twice as many); the estimate costs four
    solutions. Sparse matrices are factored on the host, by SuperLU. Data of other libraries than NumPy is copied to the
    host for the factorization, and for each solution.

    Source: `scipy.linalg.lu_factor`, `scipy.linalg.cho_factor`, `scipy.sparse.linalg.splu`.

    >>> import numpy as np
    >>> factorization = factorize(np.asarray([[2.0, 1.0], [1.0, 3.0]]))
    >>> factorization.solve(np.asarray([3.0, 4.0]))
    array([1., 1.])
    >>> factorization.method, int(factorization.status)
    ('lu (numpy)', 0)
    """
    A = any_sparse("factorize", "A", A)
    checks.choice("factorize", "method", method, METHODS)
    for name, value in (("positive_definite", positive_definite), ("symmetric", symmetric)):
        if value is not None:
            checks.boolean("factorize", name, value)
    if isinstance(A, Sparse) and method in ("cholesky", "qr"):
        raise ValueError(
            f"factorize: method={method!r} is for dense matrices; sparse ones are factored with method='lu', or made "
            "dense with `A.todense()`"
        )
    check_square("factorize", A)
    if method in ("lower", "upper"):
        return triangular(A, lower=method == "lower", unit_diagonal=False)
    if isinstance(A, Sparse):
        return (SymmetricSparseFactorization if symmetric or positive_definite else SparseFactorization).of(A)
    constant = autodiff.stop_gradient(A)
    if method == "cholesky" or (method in ("auto", "direct") and positive_definite):
        return CholeskyFactorization._of(A, factors.factor_cholesky(constant))
    if method == "qr":
        return QRFactorization._of(A, factors.factor_qr(constant))
    return LUFactorization._of(A, factors.factor_lu(constant))


def direct_solve(
    A: Array | Sparse,
    b: Array,
    /,
    *,
    axis: int = -2,
    method: str = "auto",
    positive_definite: bool | None = None,
    symmetric: bool | None = None,
) -> Array:
    """Solve `A x = b` directly: `factorize(A, …).solve(b, axis=axis)`, with the arguments and errors of both.

    >>> import numpy as np
    >>> direct_solve(np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.asarray([3.0, 4.0]))
    array([1., 1.])
    """
    found = factorize(A, method=method, positive_definite=positive_definite, symmetric=symmetric)
    return found.solve(b, axis=axis)
