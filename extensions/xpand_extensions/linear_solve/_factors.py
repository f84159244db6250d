"""Factors of matrices, which libraries implement for direct solvers, with their condition numbers and statuses."""

from collections.abc import Callable
from typing import TypeAlias

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks as _arguments

from .. import linalg
from .._bounds import index_dtype
from .._dispatch import pluggable
from .._solver_status import Status
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


def estimate(
    xp: Namespace,
    sums: Array,
    dtype: DType,
    solve: Callable[[Array], Array],
    solve_transposed: Callable[[Array], Array],
    starts: Array | None = None,
) -> Array:
    """Estimate Skeel's condition number: the largest row sum of `|inv(a)| @ |a|`. Scaling rows does not change it.

    Solves for three right-hand sides with the transpose and one with the matrix. The estimate is never above the
    condition number, and seldom below a third of it (N. J. Higham, ACM Trans. Math. Softw. 14 (1988) 381).

    Args:
        xp: The namespace.
        sums: The sum of the absolute values in each row, shape `(..., n)`.
        dtype: The data type of the matrices.
        solve: Solves for columns, `(..., n, k)`, with the matrices, which must be regular.
        solve_transposed: The same with the transposes.
        starts: The result of `starts_of`, if available.
    """
    size = sums.shape[-1]
    if size == 0:
        return xp.zeros(sums.shape[:-1], dtype=sums.dtype, device=_arguments.device_of(sums))
    starts = starts_of(xp, sums, dtype) if starts is None else starts
    scale = xp.astype(sums, dtype)[..., None]
    starts = xp.broadcast_to(starts, (*sums.shape[:-1], size, 2))
    first = scale * solve_transposed(starts)
    lengths = xp.sum(xp.abs(first), axis=-2)
    back = solve(scale * _signs(xp, first[..., :1]))
    row = xp.argmax(xp.abs(back), axis=-2, keepdims=True)  # (..., 1, 1)
    unit = xp.astype(_positions(xp, sums)[:, None] == row, dtype)
    last = xp.sum(xp.abs(scale * solve_transposed(unit)), axis=(-2, -1))
    return xp.maximum(xp.maximum(lengths[..., 0], lengths[..., 1] * (2 / (3 * size))), last)


def starts_of(xp: Namespace, sums: Array, dtype: DType) -> Array:
    """Make the two initial right-hand sides of an estimate, as columns."""
    size = sums.shape[-1]
    position = _positions(xp, sums)
    number = xp.astype(position, sums.dtype)
    even = xp.full_like(number, 1 / size)
    # Alternating signs detect cancellation in the first vector.
    alternating = xp.where(position % 2 == 0, xp.ones_like(number), -xp.ones_like(number)) * (
        1 + number / max(size - 1, 1)
    )
    return xp.astype(xp.stack([even, alternating], axis=-1), dtype)


def _signs(xp: Namespace, x: Array) -> Array:
    """Return numbers of absolute value 1 with the conjugate phases; 1 for zeros."""
    size = xp.abs(x)
    one = xp.ones_like(x)
    is_zero = size == 0
    phase = x / xp.astype(xp.where(is_zero, xp.ones_like(size), size), x.dtype)
    if xp.isdtype(x.dtype, "complex floating"):
        phase = xp.conj(phase)
    return xp.where(is_zero, one, phase)


def verdict(xp: Namespace, condition: Array, finite: Array, factored: Array, failure: Status) -> tuple[Array, Array]:
    """Return the condition number and the status of each matrix.

    Args:
        xp: The namespace.
        condition: The estimate for each matrix; ignored where a matrix has no factors.
        finite: Whether all its values are finite.
        factored: Whether the factorization succeeded.
        failure: The status if it failed.
    """
    limit = 1 / float(xp.finfo(condition.dtype).eps)
    condition = xp.where(factored, condition, xp.full_like(condition, float("inf")))
    condition = xp.where(finite, condition, xp.full_like(condition, float("nan")))
    converged = xp.zeros_like(xp.astype(finite, xp.int32))
    status = xp.where(condition < limit, converged, converged + int(Status.SINGULAR))
    status = xp.where(factored, status, converged + int(failure))
    return condition, xp.where(finite, status, converged + int(Status.NON_FINITE))


def _positions(xp: Namespace, sums: Array) -> Array:
    device = _arguments.device_of(sums)
    return xp.arange(sums.shape[-1], dtype=index_dtype(xp, device), device=device)
