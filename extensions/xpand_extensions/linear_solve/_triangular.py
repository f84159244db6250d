"""Triangular systems, dense and sparse."""

from typing import ClassVar

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks

from .. import autodiff, linalg
from ..sparse._containers import COO, Sparse
from ..sparse._convert import any_sparse, tocoo
from . import _factors as factors, _levels as levels
from ._factorization import Factorization, SparseFactorization, check_square, right_hand_side_columns


class LowerFactorization(Factorization):
    """A dense lower triangular matrix, which is its own factor."""

    __slots__ = ()
    _name = "triangular"
    _lower: ClassVar[bool] = True

    def _solved(self, b: Array, transposed: bool) -> Array:
        return linalg.triangular_solve(self.parts[0], b, lower=self._lower, transpose=transposed)


class UpperFactorization(LowerFactorization):
    """A dense upper triangular matrix, which is its own factor."""

    __slots__ = ()
    _lower = False


class LowerSparseFactorization(SparseFactorization):
    """A sparse lower triangular matrix, which is its own factor."""

    __slots__ = ()
    _kind = "lower"

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"triangular ({super().method})"


class UpperSparseFactorization(LowerSparseFactorization):
    """A sparse upper triangular matrix, which is its own factor."""

    __slots__ = ()
    _kind = "upper"


def triangular(A: Array | Sparse, *, lower: bool, unit_diagonal: bool) -> Factorization:
    """Make the factorization of one triangle of checked matrices."""
    if isinstance(A, Sparse):
        part = _sparse_triangle(tocoo(A), lower, unit_diagonal)
        on_device = levels.by_levels(part, lower=lower) if levels.applies(part) else None
        if on_device is not None:
            return on_device
        return (LowerSparseFactorization if lower else UpperSparseFactorization).of(part)
    triangle = _triangle(A, lower, unit_diagonal)
    found = factors.factor_triangular(autodiff.stop_gradient(triangle), lower=lower)
    return (LowerFactorization if lower else UpperFactorization)._of(triangle, found)


def solve_triangular(
    A: Array | Sparse,
    b: Array,
    /,
    *,
    axis: int = -2,
    lower: bool = True,
    unit_diagonal: bool = False,
    transposed: bool = False,
) -> Array:
    """Solve `A @ x = b` with a triangle of dense or sparse matrices; a zero on the diagonal raises an error.

    In contrast, `linalg.triangular_solve` takes dense matrices only, on either side, and divides by zeros.

    Args:
        A: Square matrices of a floating-point data type: an array of shape `(..., n, n)`, a sparse container of that
            shape, or a library's own sparse matrix. Only one triangle is read.
        b: One vector, shape `(n,)`, or matrices of columns, shape `(..., n, k)`, of a floating-point data type. Stacks
            of matrices broadcast.
        axis: The axis of the vectors in `b`. With -1, `b` has the shape `(..., n)`, and the axes before the last
            broadcast with the stack of A.
        lower: Whether to use the lower triangle; False: the upper one.
        unit_diagonal: Whether to assume ones on the diagonal, which is then not read.
        transposed: Whether to solve with the transpose of the triangle.

    Returns:
        The solutions, in the layout of `b`, with the broadcast shape and promoted data type. Under `jit` and for lazy
        arrays a zero on the diagonal is not detected: its solutions are infinite or NaN.

    Raises:
        TypeError: `A` is not a matrix, `b` is not an array, arrays of two libraries, or data types that aren't
            floating-point.
        ValueError: Matrices that aren't square, shapes that don't fit, an `axis` other than -2 and -1; a zero on the
            diagonal, or for a sparse matrix, no stored element there.

    If some matrices of a stack may be singular, use `factorize(A, method="lower")`, which reports those and solves with
    the others. Sparse triangles in the host's memory are solved by SuperLU. On another device they are solved there,
    level by level: unknowns that don't depend on each other are solved together. If a few rows or columns have most of
    the entries, the host solves them.

    Source: `scipy.linalg.solve_triangular`, `scipy.sparse.linalg.spsolve_triangular`; PhiML's `solve_triangular`.

    >>> import numpy as np
    >>> solve_triangular(np.asarray([[2.0, 0.0], [1.0, 4.0]]), np.asarray([2.0, 9.0]))
    array([1., 2.])
    """
    A = any_sparse("solve_triangular", "A", A)
    for name, value in {"lower": lower, "unit_diagonal": unit_diagonal, "transposed": transposed}.items():
        checks.boolean("solve_triangular", name, value)
    check_square("solve_triangular", A)
    if isinstance(A, Sparse):
        found = triangular(A, lower=lower, unit_diagonal=unit_diagonal)
        x = found._implicit("solve_triangular", b, axis, transposed=transposed)
        _no_zeros(found.condition == float("inf"))
        return x
    columns = right_hand_side_columns("solve_triangular", A, tuple(A.shape), b, axis)
    if not unit_diagonal:
        _no_zeros(array_namespace(A).linalg.diagonal(A) == 0)
    options = {"lower": lower, "unit_diagonal": unit_diagonal, "transpose": transposed}
    return columns.restore(linalg.triangular_solve(A, columns.array, **options))


def _no_zeros(found: Array) -> None:
    """Raise an error if a diagonal is known to have a zero."""
    if is_concrete(found) and bool(array_namespace(found).any(found)):
        raise ValueError(
            "solve_triangular: A has a zero on the diagonal, or no stored element there, and is singular; for a stack, "
            "`factorize(A, method='lower')` (or 'upper') reports which, and solves the others"
        )


def _triangle(a: Array, lower: bool, unit_diagonal: bool) -> Array:
    """Return one triangle of dense matrices."""
    xp = array_namespace(a)
    if not unit_diagonal:
        return xp.tril(a) if lower else xp.triu(a)
    one = xp.eye(a.shape[-1], dtype=a.dtype, device=checks.device_of(a))
    return (xp.tril(a, k=-1) if lower else xp.triu(a, k=1)) + one


def _sparse_triangle(a: COO, lower: bool, unit_diagonal: bool) -> COO:
    """Set the entries outside of a triangle to zero, which preserves the pattern."""
    xp = array_namespace(a.values)
    rows, columns = a.coords
    if unit_diagonal:
        in_triangle = rows > columns if lower else rows < columns
    else:
        in_triangle = rows >= columns if lower else rows <= columns
    values = xp.where(in_triangle, a.values, xp.zeros_like(a.values))
    if unit_diagonal:
        size = a.shape[-1]
        position = xp.arange(size, dtype=rows.dtype, device=checks.device_of(rows))
        values = _extended(values, xp.ones(size, dtype=values.dtype, device=checks.device_of(values)))
        rows, columns = _extended(rows, position), _extended(columns, position)
    return COO(values, (rows, columns), a.shape, check=False)


def _extended(x: Array, more: Array) -> Array:
    """Append the same elements to each lane, along the last axis."""
    xp = array_namespace(x, more)
    return xp.concat([x, xp.broadcast_to(more, (*x.shape[:-1], *more.shape))], axis=-1)
