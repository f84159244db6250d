"""Least squares by singular values."""

from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks as _arguments, import_module

from .._bounds import index_dtype
from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere, not_an_array
from . import _checks as checks
from ._checks import axis_of, columns_of, stack_of, unchanged


@not_an_array
class LstsqResult(NamedTuple):
    """The result of `lstsq`."""

    x: Array
    """The vectors that minimize `A @ x - b`, and of these the ones of least norm, in the layout of `b`: shape `(n,)` or
    `(..., n, k)`, and `(..., n)` with `axis=-1`.
    """
    residuals: Array
    """The sum of squares of `A @ x - b` for each vector, real: shape `()` or `(..., k)`, and `(...)` with `axis=-1`."""
    rank: Array
    """The number of singular values of each matrix that count as nonzero: integers, shape `(...)`."""
    singular_values: Array
    """All singular values of each matrix, in descending order, real: shape `(..., min(m, n))`."""


@arguments_elsewhere()
def lstsq(A: Array, b: Array, /, *, axis: int = -2, rtol: float | None = None) -> LstsqResult:
    """Solve `A x = b` by least squares: find the `x` of least norm that minimizes the norm of `A @ x - b`.

    Args:
        A: Matrices, shape `(..., m, n)`, of a floating-point data type and any rank.
        b: One vector, shape `(m,)`, or matrices of columns, shape `(..., m, k)`, of a floating-point data type; `A` and
            `b` are promoted. Stacks of matrices broadcast.
        axis: The axis of `b` that vectors lie along. -1 is the last axis, shape `(..., m)`; the axes before it
            broadcast with the stacks of A.
        rtol: Singular values up to `rtol` times the largest count as zero. By default: `max(m, n)` times the data
            type's `eps`.

    Returns:
        A named tuple `(x, residuals, rank, singular_values)`. In contrast to `numpy.linalg.lstsq`, it has residuals for
        every rank and shape. The solution is NaN for a vector of `b` that isn't finite. For a matrix that isn't finite,
        it is NaN and the rank is 0. Other systems are not affected.

    Raises:
        TypeError: There is no array, arrays belong to two libraries, data types aren't floating-point, the matrix is
            sparse, or `axis` or `rtol` is not a number.
        ValueError: Shapes don't fit, `axis` is neither -2 nor -1, `rtol` is negative, or arrays are on two devices.

    The solution is differentiable where the rank doesn't change. Takes one singular value decomposition for each
    matrix.

    Source: `numpy.linalg.lstsq`; the derivative: G. H. Golub and V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413.

    >>> import numpy as np
    >>> A = np.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> result = lstsq(A, np.asarray([1.0, 3.0, 5.0]))
    >>> result.x.round(12), int(result.rank)
    (array([1., 2.]), 2)
    >>> lstsq(A, np.asarray([[1.0, 3.0, 5.0], [0.0, 1.0, 2.0]]), axis=-1).x.round(12) + 0.0
    array([[1., 2.],
           [0., 1.]])
    """
    implementation, convert, stack, tolerance = least_squares.planned(_check, (A, b), axis, rtol)
    A, b = convert(A, b)
    columns = columns_of(b, axis, is_one_matrix=A.ndim == 2)
    found = checks.computed(implementation, A, columns.array, rtol=tolerance)
    residuals = found.residuals
    if columns.restore is not unchanged:
        # One row, in the layout of the vectors.
        residuals = columns.restore(residuals[..., None, :])
        residuals = residuals[..., 0] if b.ndim == 1 or axis == -1 else residuals[..., 0, :]
    rank, s = found.rank, found.singular_values
    if tuple(rank.shape) != stack:
        xp = array_namespace(rank)
        rank, s = xp.broadcast_to(rank, stack), xp.broadcast_to(s, (*stack, s.shape[-1]))
    return LstsqResult(columns.restore(found.x), residuals, rank, s)


@pluggable
def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    """Solve by least squares for columns: the part of `lstsq` after the checks.

    Args:
        a: Matrices, shape `(..., m, n)`, of a floating-point data type.
        b: Columns, shape `(..., m, k)`, of the same data type. The stacks broadcast.
        rtol: As in `lstsq`.

    >>> import numpy as np
    >>> least_squares(np.asarray([[2.0], [0.0]]), np.asarray([[2.0], [0.0]])).x
    array([[1.]])
    """
    return least_squares.native(a, b)(a, b, rtol=rtol)


def _check(_: str, A: Array, b: Array, axis: Any, rtol: Any) -> tuple[checks.Conversion, tuple[int, ...], float | None]:
    """Check the arguments of `lstsq`. Return the conversion of the arrays, the shape of the stack, and `rtol`."""
    # Imported here: products and factorisations of dense arrays need no sparse ones.
    if import_module("xpand_extensions.sparse").is_sparse(A):
        raise TypeError(
            "lstsq: A must be a dense array, since its singular values are computed, got a sparse one; use "
            "`linear_solve.solve` with method='lsmr', or `A.todense()`"
        )
    convert = checks.conversion("lstsq", _arguments.FLOATING, A=A, b=b)
    checks.matrices("lstsq", "A", A)
    axis_of("lstsq", axis)
    stack = stack_of("lstsq", "b", tuple(A.shape), tuple(b.shape), axis)
    rtol = _tolerance("lstsq", rtol)
    xp = array_namespace(A, b)
    dtype = convert(A, b)[0].dtype
    if rtol is None and checks.narrow(xp, dtype):
        # from the original type, not from float32, which only computes
        rtol = max(A.shape[-2:]) * float(xp.finfo(dtype).eps)
    return convert, stack, rtol


def _tolerance(function: str, rtol: Any) -> float | None:
    if rtol is None:
        return None
    if isinstance(rtol, bool) or not isinstance(rtol, (int, float)):
        raise TypeError(f"{function}: rtol must be a number or None, got {rtol!r}")
    if not rtol >= 0:
        raise ValueError(f"{function}: rtol must be at least 0, got {rtol}")
    return float(rtol)


def cutoff(xp: Namespace, a: Array, rtol: float | None) -> float:
    """Return the fraction of the largest singular value up to which other singular values count as zero."""
    return float(max(a.shape[-2:]) * xp.finfo(a.dtype).eps) if rtol is None else rtol


class Finite(NamedTuple):
    """Masks of the matrices, `(..., 1, 1)`, and of the systems, `(..., 1, k)`, with only finite values."""

    matrices: Array
    systems: Array


def finite_matrices(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array, Finite]:
    """Replace matrices and columns that aren't finite by zeros. Return which are finite.

    Otherwise, libraries raise, never return, or return NaN.
    """
    a, b = checks.broadcast_stacks(xp, a, b)
    matrices = xp.all(xp.isfinite(a), axis=(-2, -1), keepdims=True)
    columns = xp.all(xp.isfinite(b), axis=-2, keepdims=True)
    a, b = xp.where(matrices, a, xp.zeros_like(a)), xp.where(columns, b, xp.zeros_like(b))
    return a, b, Finite(matrices, matrices & columns)


def no_values(xp: Namespace, a: Array, b: Array, finite: Finite) -> LstsqResult:
    """Return the result for matrices without rows or columns."""
    device = _arguments.device_of(a)
    stack = tuple(a.shape[:-2])
    x = xp.zeros((*stack, a.shape[-1], b.shape[-1]), dtype=a.dtype, device=device)
    squares = _squares(xp, b)
    residuals = xp.where(finite.systems[..., 0, :], squares, xp.full_like(squares, float("nan")))
    rank = xp.zeros(stack, dtype=index_dtype(xp, device), device=device)
    return LstsqResult(x, residuals, rank, xp.zeros((*stack, 0), dtype=residuals.dtype, device=device))


def lstsq_result(
    xp: Namespace, a: Array, b: Array, x: Array, s: Array, significant: Array, finite: Finite
) -> LstsqResult:
    """Return the result; `significant` marks the singular values `s` that count as nonzero."""
    nan = float("nan")
    x = xp.where(finite.systems, x, xp.full_like(x, nan))
    residuals = _squares(xp, b - xp.matmul(a, x))
    rank = xp.sum(xp.astype(significant, index_dtype(xp, _arguments.device_of(a))), axis=-1)
    s = xp.where(finite.matrices[..., 0], s, xp.full_like(s, nan))
    return LstsqResult(x, residuals, rank, s)


def _squares(xp: Namespace, x: Array) -> Array:
    """Sum the squares of the absolute values in each column."""
    if xp.isdtype(x.dtype, "complex floating"):
        return xp.sum(xp.real(x) ** 2 + xp.imag(x) ** 2, axis=-2)
    return xp.sum(x * x, axis=-2)
