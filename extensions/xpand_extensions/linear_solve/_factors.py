"""Factors of matrices, with a status for each: the operations of direct solvers that libraries implement."""

from typing import TypeAlias

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments

from .. import linalg
from .._dispatch import pluggable
from ..linalg import _checks as checks
from ._vectors import conj

Factors: TypeAlias = tuple[Array, ...]
"""The factors of a stack of matrices, followed by their condition numbers and statuses.

A matrix that cannot be factored gets the factors of the identity. The condition number is an estimate that does not
depend on the scaling of rows; it is infinite or NaN without factors. The status is a `Status` code.
"""


@pluggable
def factor_lu(a: Array, /) -> Factors:
    """Factor square matrices by LU with partial pivoting, and determine which are singular.

    Args:
        a: Matrices, shape `(..., n, n)`, of a floating-point data type.

    Raises:
        TypeError: An argument that is not an array, or has another data type.
        ValueError: Matrices that aren't square.

    Returns:
        Both triangles in one matrix, as from `linalg.lu_factor`; the row permutation; condition numbers; statuses.

    `linear_solve.factorize` stores the result. No matrix raises an error or affects the others of its stack.

    >>> import numpy as np
    >>> factor_lu(np.asarray([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [1.0, 1.0]]]))[-1].tolist()
    [0, 5]
    """
    _check("factor_lu", a)
    return checks.computed(factor_lu.native(a), a)


@pluggable
def factor_cholesky(a: Array, /) -> Factors:
    """Factor Hermitian positive definite matrices by Cholesky, and determine which aren't positive definite.

    Argument and errors are those of `factor_lu`. Only the lower triangle is read. The status is BREAKDOWN for a matrix
    that isn't positive definite to working precision. The first result is the lower triangle, with zeros above.

    >>> import numpy as np
    >>> factor_cholesky(np.asarray([[[4.0, 0.0], [2.0, 5.0]], [[1.0, 0.0], [2.0, 1.0]]]))[-1].tolist()
    [0, 4]
    """
    _check("factor_cholesky", a)
    return checks.computed(factor_cholesky.native(a), a)


@pluggable
def factor_qr(a: Array, /) -> Factors:
    """Factor square matrices by QR, and determine which are singular.

    Argument and errors are those of `factor_lu`. The first results are a unitary matrix and the upper triangle.

    >>> import numpy as np
    >>> factor_qr(np.asarray([[0.0, 2.0], [1.0, 0.0]]))[-1].tolist()
    0
    """
    _check("factor_qr", a)
    return checks.computed(factor_qr.native(a), a)


@pluggable
def factor_triangular(a: Array, /, *, lower: bool = True) -> Factors:
    """Determine which triangular matrices are singular.

    Args:
        a: Matrices, shape `(..., n, n)`, of a floating-point data type, with zeros outside the triangle.
        lower: Whether it is the lower triangle.

    Errors are those of `factor_lu`. The first result is the matrix.

    >>> import numpy as np
    >>> factor_triangular(np.asarray([[1.0, 0.0], [1.0, 0.0]]))[-1].tolist()
    5
    """
    _check("factor_triangular", a)
    return checks.computed(factor_triangular.native(a), a, lower=lower)


@pluggable
def factor_sparse(
    values: Array, pattern: tuple[Array, ...], /, *, format: str, size: int, kind: str = "general"
) -> Factors:
    """Factor sparse square matrices on the host, by SuperLU.

    Args:
        values: The values, of shape `(*batch, nse)`, of a floating-point data type.
        pattern: The arrays of the container's pattern, each of shape `(k,)` or `(*batch, k)`.
        format: The format of the container: "coo", "csr" or "csc".
        size: The number of rows and columns.
        kind: "general"; "symmetric", with pivots from the diagonal if possible; "lower" or "upper" for a triangle, the
            other triangle is not read.

    Returns:
        Condition numbers and statuses, without factors.

    `linear_solve.factorize` calls this function after checking the arguments. The host caches the most recently used
    factors, up to 1 GiB, and at least those of four matrices. A matrix without cached factors is factored again.

    >>> import numpy as np
    >>> pattern = (np.asarray([0, 1]), np.asarray([0, 1, 2]))
    >>> factor_sparse(np.asarray([1.0, 2.0]), pattern, format="csr", size=2)[-1].tolist()
    0
    """
    return factor_sparse.native(values, *pattern)(values, pattern, format=format, size=size, kind=kind)


@pluggable
def solve_sparse(
    values: Array,
    pattern: tuple[Array, ...],
    b: Array,
    /,
    *,
    format: str,
    size: int,
    kind: str = "general",
    transposed: bool = False,
) -> Array:
    """Solve with the factors that `factor_sparse` computed for the same values and pattern.

    Args:
        values: As in `factor_sparse`.
        pattern: As in `factor_sparse`.
        b: Right-hand sides as columns, shape `(..., size, k)`, of the data type of the values. The first axes broadcast
            with `batch`.
        format: As in `factor_sparse`.
        size: As in `factor_sparse`.
        kind: As in `factor_sparse`.
        transposed: Whether to solve with the transposes.

    Returns:
        The solutions, of the broadcast shape. NaN for singular matrices.

    >>> import numpy as np
    >>> values, pattern = np.asarray([1.0, 2.0]), (np.asarray([0, 1]), np.asarray([0, 1, 2]))
    >>> solve_sparse(values, pattern, np.asarray([[3.0], [4.0]]), format="csr", size=2)
    array([[3.],
           [2.]])
    """
    solve = solve_sparse.native(values, *pattern, b)
    return solve(values, pattern, b, format=format, size=size, kind=kind, transposed=transposed)


def _check(function: str, a: Array) -> None:
    checks.alike(function, _arguments.FLOATING, a=a)
    checks.matrices(function, "a", a, square=True)


def qr_solve(orthogonal: Array, triangle: Array, b: Array, *, transpose: bool = False) -> Array:
    """Solve for columns with the factors of `factor_qr`."""
    xp = array_namespace(b)
    if transpose:
        inner = linalg.triangular_solve(triangle, b, lower=False, transpose=True)
        return xp.matmul(conj(orthogonal), inner)
    return linalg.triangular_solve(triangle, xp.matmul(conj(xp.matrix_transpose(orthogonal)), b), lower=False)
