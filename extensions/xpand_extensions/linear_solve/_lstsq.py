"""Least squares by singular values, for vectors along the last axis."""

from typing import Any, NamedTuple

from xpand import _arguments, array_namespace
from xpand._typing import Array

from .. import linalg
from ..linalg import _checks as checks
from ..sparse._containers import Sparse
from ..sparse._convert import any_sparse


class LstsqResult(NamedTuple):
    """What `lstsq` returns."""

    x: Array
    """The vector of least norm among those that make `A x - b` smallest: shape `(..., n)`."""
    residuals: Array
    """The sum of squares of `A x - b`, real: shape `(...)`."""
    rank: Array
    """How many singular values of the matrix count as different from zero: integers, shape `(...)`."""
    singular_values: Array
    """All singular values of the matrix, in descending order, real: shape `(..., min(m, n))`."""


def lstsq(A: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    """Find the `x` that makes `A x - b` smallest: of those that do, the one of least norm.

    Args:
        A: Matrices, shape `(..., m, n)`, of a floating-point data type and any rank.
        b: Vectors along the last axis, shape `(..., m)`, of a floating-point data type; the two are promoted. The axes
            before broadcast with those of the matrices.
        rtol: Singular values up to `rtol` times the largest count as zero. Left out: `max(m, n)` times the data
            type's `eps`.

    Returns:
        A named tuple `(x, residuals, rank, singular_values)`, each for every system. NaN where values aren't finite; a
            matrix with such has rank 0.

    Raises:
        TypeError: No array, arrays of two libraries, data types that aren't floating-point, a sparse matrix.
        ValueError: Shapes that don't fit, a negative `rtol`, arrays on two devices.

    The solution is differentiable where the rank doesn't change. One singular value decomposition of each matrix.

    Source: `numpy.linalg.lstsq`. `linalg.lstsq` is the same for right sides that are columns.

    >>> import numpy as np
    >>> result = lstsq(np.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.asarray([1.0, 3.0, 5.0]))
    >>> result.x.round(12), int(result.rank)
    (array([1., 2.]), 2)
    """
    given: Any = any_sparse("lstsq", "A", A)
    if isinstance(given, Sparse):
        raise TypeError(
            "lstsq: takes dense matrices, whose singular values it computes, got a sparse one; use `solve` with "
            "method='lsmr', or `A.todense()`"
        )
    A, b = checks.alike("lstsq", _arguments.FLOATING, A=A, b=b)
    rows, _ = checks.matrices("lstsq", "A", A)
    if not b.ndim or b.shape[-1] != rows:
        raise ValueError(
            f"lstsq: b must hold vectors of size {rows} along its last axis, (..., {rows}), got the shape "
            f"{tuple(b.shape)}; the columns of a matrix are meant by `xp.matrix_transpose(b)`"
        )
    _arguments.broadcast_shapes("lstsq", A=tuple(A.shape[:-2]), b=tuple(b.shape[:-1]))
    xp = array_namespace(A, b)
    # By itself, so that one right side that isn't finite doesn't spoil those that share its matrix.
    finite = xp.all(xp.isfinite(b), axis=-1)
    safe = xp.where(finite[..., None], b, xp.zeros_like(b))
    found = _of_one(A, safe, rtol) if A.ndim == 2 and b.ndim > 1 else _of_many(A, safe, rtol)
    x = xp.where(finite[..., None], found.x, xp.full_like(found.x, float("nan")))
    residuals = xp.where(finite, found.residuals, xp.full_like(found.residuals, float("nan")))
    return LstsqResult(x, residuals, found.rank, found.singular_values)


def _of_one(a: Array, b: Array, rtol: float | None) -> LstsqResult:
    """Solve for all right sides of one matrix at once."""
    xp = array_namespace(a)
    batch, count = tuple(b.shape[:-1]), 1
    for size in batch:
        count *= size
    columns = xp.matrix_transpose(xp.reshape(b, (count, b.shape[-1])))
    x, residuals, rank, s = linalg.lstsq(a, columns, rtol=rtol)
    x = xp.reshape(xp.matrix_transpose(x), (*batch, a.shape[-1]))
    rank, s = xp.broadcast_to(rank, batch), xp.broadcast_to(s, (*batch, *s.shape))
    return LstsqResult(x, xp.reshape(residuals, batch), rank, s)


def _of_many(a: Array, b: Array, rtol: float | None) -> LstsqResult:
    x, residuals, rank, s = linalg.lstsq(a, b[..., None], rtol=rtol)
    return LstsqResult(x[..., 0], residuals[..., 0], rank, s)
