"""Systems of equations with the standard alone."""

from typing import Any, Literal, cast

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks as _arguments
from xpand_extensions import linalg
from xpand_extensions._bounds import index_dtype
from xpand_extensions.linalg import _checks as checks, _factorizations as facades
from xpand_extensions.linalg._factorizations import LUFactors, LUResult, PivotedQRResult
from xpand_extensions.linalg._lstsq import LstsqResult, cutoff, finite_matrices, lstsq_result, no_values


def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    left_side: bool = True,
) -> Array:
    xp = array_namespace(a)
    if b.ndim == 1:
        column = b[:, None] if left_side else b[None, :]
        options: dict[str, Any] = {"lower": lower, "transpose": transpose, "conjugate": conjugate}
        x = triangular_solve(a, column, **options, unit_diagonal=unit_diagonal, left_side=left_side)
        return x[..., 0] if left_side else x[..., 0, :]
    if conjugate:
        a = xp.conj(a)
    # x @ a = b is the same as transpose(a) @ transpose(x) = transpose(b).
    if transpose == left_side:
        a, lower = xp.matrix_transpose(a), not lower
    if not left_side:
        b = xp.matrix_transpose(b)
    a, b = checks.broadcast_stacks(xp, a, b)
    if 0 not in b.shape:
        b = _substitute(xp, a, b, lower, unit_diagonal)
    return b if left_side else xp.matrix_transpose(b)


def _substitute(xp: Namespace, a: Array, b: Array, lower: bool, unit_diagonal: bool) -> Array:
    """Solve in halves, first the rows that depend on no others. Most of the work is in products of matrices."""
    size = a.shape[-1]
    if size == 1:
        return b if unit_diagonal else b / a
    half = size // 2
    first, last = slice(None, half), slice(half, None)
    if not lower:
        first, last = last, first
    x1 = _substitute(xp, a[..., first, first], b[..., first, :], lower, unit_diagonal)
    rest = b[..., last, :] - xp.matmul(a[..., last, first], x1)
    x2 = _substitute(xp, a[..., last, last], rest, lower, unit_diagonal)
    return xp.concat([x1, x2] if lower else [x2, x1], axis=-2)


def cho_solve(c: Array, b: Array, /, *, lower: bool = True) -> Array:
    solve = linalg.triangular_solve.native(c)
    inner = solve(c, b, lower=lower, transpose=not lower, conjugate=not lower)
    # One vector with a stack of factors becomes a stack of vectors.
    vectors = b.ndim == 1 and inner.ndim > 1
    x = solve(c, inner[..., None] if vectors else inner, lower=lower, transpose=lower, conjugate=lower)
    return x[..., 0] if vectors else x


def lu_factor(x: Array, /) -> LUFactors:
    xp = array_namespace(x)
    rows, columns = x.shape[-2:]
    device = _arguments.device_of(x)
    number = xp.arange(rows, dtype=index_dtype(xp, device), device=device)
    permutation = xp.broadcast_to(number, tuple(x.shape[:-1]))
    for step in range(min(rows, columns)):
        # Write the exchange of two rows as a permutation of all rows.
        pivot = xp.argmax(size_of(xp, x[..., step:, step]), axis=-1, keepdims=True) + step
        order = xp.where(number == step, pivot, xp.where(number == pivot, step, number))
        x, permutation = _rows(xp, x, order), xp.take_along_axis(permutation, order, axis=-1)
        top = x[..., step : step + 1, step:]
        pivots = top[..., :1]
        # Below a zero pivot all elements are zero, and stay zero.
        safe = xp.where(pivots == 0, xp.ones_like(pivots), pivots)
        factor = x[..., step + 1 :, step : step + 1] / safe
        rest = x[..., step + 1 :, step + 1 :] - factor * top[..., 1:]
        below = xp.concat([x[..., step + 1 :, :step], factor, rest], axis=-1)
        x = xp.concat([x[..., : step + 1, :], below], axis=-2)
    return LUFactors(x, permutation)


def size_of(xp: Namespace, x: Array) -> Array:
    """Compute the size of numbers that LAPACK uses, so that the same rows are exchanged."""
    if xp.isdtype(x.dtype, "complex floating"):
        return xp.abs(xp.real(x)) + xp.abs(xp.imag(x))
    return xp.abs(x)


def _rows(xp: Namespace, x: Array, order: Array) -> Array:
    """Reorder the rows of matrices."""
    return xp.take_along_axis(x, xp.broadcast_to(order[..., None], tuple(x.shape)), axis=-2)


def lu(x: Array, /) -> LUResult:
    xp = array_namespace(x)
    factors, permutation = linalg.lu_factor.native(x)(x)
    rows, columns = x.shape[-2:]
    size = min(rows, columns)
    ones = xp.eye(rows, size, dtype=x.dtype, device=_arguments.device_of(x))
    return LUResult(permutation, xp.tril(factors[..., :size], k=-1) + ones, xp.triu(factors[..., :size, :]))


def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    xp = array_namespace(factors)
    vector = b.ndim == 1
    matrix = b[:, None] if vector else b
    stack = _arguments.broadcast(tuple(factors.shape[:-2]), tuple(matrix.shape[:-2]))
    matrix = xp.broadcast_to(matrix, (*stack, *matrix.shape[-2:]))
    order = xp.broadcast_to(permutation, (*stack, permutation.shape[-1]))
    solve = linalg.triangular_solve.native(factors)
    options = {"transpose": transpose, "conjugate": conjugate}
    if transpose:
        matrix = solve(factors, matrix, lower=False, **options)
        matrix = solve(factors, matrix, lower=True, unit_diagonal=True, **options)
        x = _rows(xp, matrix, xp.argsort(order, axis=-1))
    else:
        matrix = solve(factors, _rows(xp, matrix, order), lower=True, unit_diagonal=True, **options)
        x = solve(factors, matrix, lower=False, **options)
    return x[..., 0] if vector else x


def pivoted_qr(x: Array, /, *, mode: str = "reduced") -> PivotedQRResult:
    xp = array_namespace(x)
    order = facades.column_order.native(x)(x)
    ordered = xp.take_along_axis(x, xp.broadcast_to(order[..., None, :], tuple(x.shape)), axis=-1)
    q, r = xp.linalg.qr(ordered, mode=cast("Literal['reduced', 'complete']", mode))
    return PivotedQRResult(q, r, order)


def column_order(x: Array, /) -> Array:
    """Choose, in each step, the column with the largest part that is orthogonal to the columns chosen before."""
    xp = array_namespace(x)
    rows, columns = x.shape[-2:]
    device = _arguments.device_of(x)
    number = xp.arange(columns, dtype=index_dtype(xp, device), device=device)
    order = xp.broadcast_to(number, (*x.shape[:-2], columns))
    if 0 in x.shape:
        return order
    largest = xp.max(xp.abs(x), axis=(-2, -1), keepdims=True)  # scaled numbers have squares that don't overflow
    x = x / xp.astype(xp.where(largest == 0, xp.ones_like(largest), largest), x.dtype)
    for step in range(min(rows, columns)):
        squares = xp.sum(
            xp.real(x) ** 2 + xp.imag(x) ** 2 if xp.isdtype(x.dtype, "complex floating") else x * x, axis=-2
        )
        is_left = number >= step
        pivot = xp.argmax(xp.where(is_left, squares, -xp.ones_like(squares)), axis=-1, keepdims=True)
        exchange = xp.where(number == step, pivot, xp.where(number == pivot, step, number))
        order = xp.take_along_axis(order, exchange, axis=-1)
        x = xp.take_along_axis(x, xp.broadcast_to(exchange[..., None, :], tuple(x.shape)), axis=-1)
        column = x[..., step : step + 1]
        norm = xp.linalg.vector_norm(column, axis=-2, keepdims=True)
        unit = column / xp.astype(xp.where(norm == 0, xp.ones_like(norm), norm), x.dtype)
        x = x - xp.matmul(unit, xp.matmul(_adjoint(xp, unit), x))
    return order


def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    xp = array_namespace(a)
    a, b, finite = finite_matrices(xp, a, b)
    tolerance = cutoff(xp, a, rtol)
    if 0 in a.shape[-2:]:
        return no_values(xp, a, b, finite)
    x, s = by_singular_values(xp, a, b, tolerance)
    return lstsq_result(xp, a, b, x, s, s > tolerance * s[..., :1], finite)


def by_singular_values(xp: Namespace, a: Array, b: Array, tolerance: float) -> tuple[Array, Array]:
    """Return the least squares solution of least norm, and the singular values."""
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    significant = s > tolerance * s[..., :1]
    weights = xp.where(significant, 1 / xp.where(significant, s, xp.ones_like(s)), xp.zeros_like(s))
    coordinates = xp.astype(weights, a.dtype)[..., None] * xp.matmul(_adjoint(xp, u), b)
    return xp.matmul(_adjoint(xp, vh), coordinates), s


def _adjoint(xp: Namespace, x: Array) -> Array:
    x = xp.matrix_transpose(x)
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x
