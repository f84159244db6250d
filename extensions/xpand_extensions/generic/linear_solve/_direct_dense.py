"""Factors of dense matrices with the standard alone, and a verdict on each."""

from collections.abc import Callable

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions import linalg
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._condition import estimate, verdict
from xpand_extensions.linear_solve._factors import CholeskyParts, LUParts, QRParts, TriangularParts


def factor_lu(a: Array, /) -> LUParts:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    factors, permutation = linalg.lu_factor.native(a)(safe)
    regular = no_zeros(xp, factors)
    factors = instead(xp, regular, factors, identity(xp, a))
    solve = linalg.lu_solve.native(a, permutation)
    condition = estimate(
        xp,
        row_sums(xp, safe),
        a.dtype,
        lambda b: solve(factors, permutation, b),
        lambda b: solve(factors, permutation, b, transpose=True),
    )
    condition, status = verdict(xp, condition, finite, regular, Status.SINGULAR)
    return LUParts(factors, permutation, condition, status)


def factor_cholesky(a: Array, /) -> CholeskyParts:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    factor, definite = (safe, finite) if 0 in a.shape else _cholesky(xp, safe)
    return judged_cholesky(xp, a, finite, factor, definite)


def judged_cholesky(xp: Namespace, a: Array, finite: Array, factor: Array, definite: Array) -> CholeskyParts:
    """Judge factors, of which it is known whether the matrices are positive definite."""
    one = identity(xp, a)
    factor = instead(xp, definite, factor, one)
    both = instead(xp, finite & definite, a, one)
    # The sums of the whole matrix, of which the upper triangle isn't to be read.
    sums = row_sums(xp, xp.tril(both)) + row_sums(xp, xp.matrix_transpose(xp.tril(both, k=-1)))
    solve = linalg.cho_solve.native(a)
    conjugated: Callable[[Array], Array] = lambda b: _conj(xp, solve(factor, _conj(xp, b)))
    condition = estimate(xp, sums, a.dtype, lambda b: solve(factor, b), conjugated)
    condition, status = verdict(xp, condition, finite, definite, Status.BREAKDOWN)
    return CholeskyParts(factor, condition, status)


def factor_qr(a: Array, /) -> QRParts:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    if 0 in a.shape:
        orthogonal, triangle = safe, safe
    else:
        orthogonal, triangle = xp.linalg.qr(safe)
    regular = no_zeros(xp, triangle)
    triangle = instead(xp, regular, triangle, identity(xp, a))
    solve = linalg.triangular_solve.native(a)
    adjoint = _conj(xp, xp.matrix_transpose(orthogonal))

    def transposed(b: Array) -> Array:
        return xp.matmul(_conj(xp, orthogonal), solve(triangle, b, lower=False, transpose=True))

    forward: Callable[[Array], Array] = lambda b: solve(triangle, xp.matmul(adjoint, b), lower=False)
    condition = estimate(xp, row_sums(xp, safe), a.dtype, forward, transposed)
    condition, status = verdict(xp, condition, finite, regular, Status.SINGULAR)
    return QRParts(orthogonal, triangle, condition, status)


def factor_triangular(a: Array, /, *, lower: bool = True) -> TriangularParts:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    regular = no_zeros(xp, safe)
    safe = instead(xp, regular, safe, identity(xp, a))
    solve = linalg.triangular_solve.native(a)
    condition = estimate(
        xp,
        row_sums(xp, safe),
        a.dtype,
        lambda b: solve(safe, b, lower=lower),
        lambda b: solve(safe, b, lower=lower, transpose=True),
    )
    return TriangularParts(safe, *verdict(xp, condition, finite, regular, Status.SINGULAR))


def _cholesky(xp: Namespace, a: Array) -> tuple[Array, Array]:
    """Factor by halves; say for which matrices every pivot was positive. The standard's function may raise."""
    size = a.shape[-1]
    if size == 1:
        pivot = xp.real(a) if xp.isdtype(a.dtype, "complex floating") else a
        positive = pivot > 0
        root = xp.sqrt(xp.where(positive, pivot, xp.ones_like(pivot)))
        return xp.astype(root, a.dtype), positive[..., 0, 0]
    half = size // 2
    top, first = _cholesky(xp, a[..., :half, :half])
    solve = linalg.triangular_solve.native(a)
    left = solve(top, a[..., half:, :half], transpose=True, conjugate=True, left_side=False)
    rest = a[..., half:, half:] - xp.matmul(left, _conj(xp, xp.matrix_transpose(left)))
    last, second = _cholesky(xp, rest)
    corner = xp.zeros_like(a[..., :half, half:])
    factor = xp.concat([xp.concat([top, corner], axis=-1), xp.concat([left, last], axis=-1)], axis=-2)
    return factor, first & second


def finite_or_identity(xp: Namespace, a: Array) -> tuple[Array, Array]:
    """Say which matrices have finite values alone; put the identity for the others."""
    finite = xp.all(xp.isfinite(a), axis=(-2, -1))
    return finite, instead(xp, finite, a, identity(xp, a))


def identity(xp: Namespace, a: Array) -> Array:
    return xp.eye(a.shape[-1], dtype=a.dtype, device=checks.device_of(a))


def instead(xp: Namespace, condition: Array, a: Array, other: Array) -> Array:
    """Put another matrix where the condition doesn't hold."""
    return xp.where(condition[..., None, None], a, other)


def row_sums(xp: Namespace, a: Array) -> Array:
    return xp.sum(xp.abs(a), axis=-1)


def no_zeros(xp: Namespace, triangle: Array) -> Array:
    """Say which triangles have no pivot so small that its inverse is infinite."""
    least = float(xp.finfo(triangle.dtype).smallest_normal)
    # No diagonal is taken, at which PyTorch's compiler warns.
    is_pivot = xp.eye(triangle.shape[-1], dtype=xp.bool, device=checks.device_of(triangle))
    return xp.all((xp.abs(triangle) >= least) | ~is_pivot, axis=(-2, -1))


def _conj(xp: Namespace, x: Array) -> Array:
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x
