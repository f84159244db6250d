"""Factors of dense matrices with the standard alone, and their status."""

from collections.abc import Callable
from functools import partial

from xpand import array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, Namespace, checks
from xpand_extensions import control_flow, linalg
from xpand_extensions._solver_status import Status
from xpand_extensions.jit import ShapeDtype, pure_callback
from xpand_extensions.linear_solve import _factors as facades
from xpand_extensions.linear_solve._factors import Factors, estimate, qr_solve, verdict
from xpand_extensions.linear_solve._vectors import conj

from ..linalg._functions import identity as identity


def factor_lu(a: Array, /) -> Factors:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    factors, permutation = linalg.lu_factor.native(a)(safe)
    regular = no_zeros(xp, factors)
    parts = instead(xp, regular, factors, identity(xp, a)), permutation
    return judged(xp, row_sums(xp, safe), parts, linalg.lu_solve.native(*parts), finite, regular)


def factor_cholesky(a: Array, /) -> Factors:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    factor, definite = (safe, finite) if 0 in a.shape else _cholesky(xp, safe)
    return judged_cholesky(xp, a, finite, factor, definite)


def judged_cholesky(xp: Namespace, a: Array, finite: Array, factor: Array, definite: Array) -> Factors:
    """Determine the status of factors, given a mask of the positive definite matrices."""
    factor, one = instead(xp, definite, factor, identity(xp, a)), identity(xp, a)
    both = instead(xp, finite & definite, a, one)
    # Sum the rows of the whole matrix without reading its upper triangle.
    sums = row_sums(xp, xp.tril(both)) + row_sums(xp, xp.matrix_transpose(xp.tril(both, k=-1)))
    native = linalg.cho_solve.native(a)

    def solve(factor: Array, b: Array, *, transpose: bool = False) -> Array:
        return conj(native(factor, conj(b))) if transpose else native(factor, b)

    return judged(xp, sums, (factor,), solve, finite, definite, Status.BREAKDOWN)


def factor_qr(a: Array, /) -> Factors:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    orthogonal, triangle = (safe, safe) if 0 in a.shape else xp.linalg.qr(safe)
    regular = no_zeros(xp, triangle)
    parts = orthogonal, instead(xp, regular, triangle, identity(xp, a))
    return judged(xp, row_sums(xp, safe), parts, qr_solve, finite, regular)


def factor_triangular(a: Array, /, *, lower: bool = True) -> Factors:
    xp = array_namespace(a)
    finite, safe = finite_or_identity(xp, a)
    regular = no_zeros(xp, safe)
    safe = instead(xp, regular, safe, identity(xp, a))
    solve = partial(linalg.triangular_solve.native(a), lower=lower)
    return judged(xp, row_sums(xp, safe), (safe,), solve, finite, regular)


def judged(
    xp: Namespace,
    sums: Array,
    parts: tuple[Array, ...],
    solve: Callable[..., Array],
    finite: Array,
    factored: Array,
    failure: Status = Status.SINGULAR,
) -> Factors:
    """Estimate condition numbers from factors and sums of rows, and determine the statuses."""
    condition = estimate(xp, sums, parts[0].dtype, partial(solve, *parts), partial(solve, *parts, transpose=True))
    return *parts, *verdict(xp, condition, finite, factored, failure)


def _cholesky(xp: Namespace, a: Array) -> tuple[Array, Array]:
    """Factor in halves; return also which matrices have only positive pivots. The standard's function may raise."""
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
    rest = a[..., half:, half:] - xp.matmul(left, conj(xp.matrix_transpose(left)))
    last, second = _cholesky(xp, rest)
    corner = xp.zeros_like(a[..., :half, half:])
    factor = xp.concat([xp.concat([top, corner], axis=-1), xp.concat([left, last], axis=-1)], axis=-2)
    return factor, first & second


def finite_or_identity(xp: Namespace, a: Array) -> tuple[Array, Array]:
    """Return which matrices have only finite values, and the matrices with all others replaced by the identity."""
    finite = xp.all(xp.isfinite(a), axis=(-2, -1))
    return finite, instead(xp, finite, a, identity(xp, a))


def instead(xp: Namespace, condition: Array, a: Array, other: Array) -> Array:
    """Replace the matrices where the condition is False."""
    return xp.where(condition[..., None, None], a, other)


def row_sums(xp: Namespace, a: Array) -> Array:
    return xp.sum(xp.abs(a), axis=-1)


def no_zeros(xp: Namespace, triangle: Array) -> Array:
    """Return which triangles have no pivot with an infinite inverse."""
    least = float(xp.finfo(triangle.dtype).smallest_normal)
    # Avoids `diagonal`, for which PyTorch's compiler warns.
    is_pivot = xp.eye(triangle.shape[-1], dtype=xp.bool, device=checks.device_of(triangle))
    return xp.all((xp.abs(triangle) >= least) | ~is_pivot, axis=(-2, -1))


def factor_sparse(
    values: Array, pattern: tuple[Array, ...], /, *, format: str, size: int, kind: str = "general"
) -> Factors:
    xp = array_namespace(values, *pattern)
    batch = tuple(values.shape[:-1])
    real = xp.abs(values[..., :0]).dtype
    declared = tuple(ShapeDtype(batch, dtype) for dtype in (real, xp.int32))

    def host(values: Array, *pattern: Array) -> tuple[Array, ...]:
        factor = facades.factor_sparse.native(values)
        return tuple(factor(values, pattern, format=format, size=size, kind=kind))

    arrays = (values, *[_leading(x, len(batch)) for x in pattern])
    return tuple(pure_callback(host, declared, *arrays, vmap_method="broadcast_all"))


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
    batch = checks.broadcast(tuple(values.shape[:-1]), tuple(b.shape[:-2]))
    declared = ShapeDtype((*batch, size, b.shape[-1]), b.dtype)

    def host(values: Array, b: Array, *pattern: Array) -> Array:
        solve = facades.solve_sparse.native(values)
        return solve(values, pattern, b, format=format, size=size, kind=kind, transposed=transposed)

    # Give each array all batch axes, so that the axis of a mapped call comes first.
    arrays = [_leading(values, len(batch)), _leading(b, len(batch), 2), *[_leading(x, len(batch)) for x in pattern]]
    return pure_callback(host, declared, *arrays, vmap_method="expand_dims")


def _leading(x: Array, count: int, last: int = 1) -> Array:
    """Insert axes of length 1 before the last axes."""
    xp = array_namespace(x)
    return xp.reshape(x, (1,) * (count + last - x.ndim) + tuple(x.shape))


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    return None


def solve_levels(b: Array, weights: Array, columns: Array, diagonal: Array, rows: Array, slots: Array, /) -> Array:
    xp = array_namespace(b, weights)
    batch, (steps, width, entries) = tuple(b.shape[:-1]), columns.shape
    right = xp.concat([b, xp.zeros_like(b[..., :1])], axis=-1)
    right = xp.reshape(xp.take(right, xp.reshape(rows, (-1,)), axis=-1), (*batch, steps, width))

    def solved(x: Array, columns: Array, weights: Array, diagonal: Array, right: Array) -> Array:
        others = xp.take(x, xp.reshape(columns, (-1,)), axis=-1)
        products = weights * xp.reshape(others, (*batch, width, entries))
        return (right - xp.sum(products, axis=-1)) / diagonal

    if all(map(is_concrete, (b, weights, columns, diagonal))):
        x: Array = xp.zeros_like(xp.reshape(right, (*batch, steps * width)))
        for step in range(steps):
            parts = weights[..., step, :, :], diagonal[..., step, :], right[..., step, :]
            x[..., step * width : (step + 1) * width] = solved(x, columns[step, ...], *parts)
        return xp.take(x, slots, axis=-1)

    def advance(carry: tuple[Array, Array], each: tuple[Array, ...]) -> tuple[tuple[Array, Array], None]:
        # The carry contains the current level as a mask. Each step shifts it by one.
        x, here = carry
        found = solved(xp.reshape(x, (*batch, steps * width)), *each)
        return (xp.where(here[:, None], found[..., None, :], x), xp.roll(here, 1, axis=0)), None

    first = xp.arange(steps, dtype=rows.dtype, device=checks.device_of(rows)) == 0
    rest = (columns, xp.moveaxis(weights, -3, 0), xp.moveaxis(diagonal, -2, 0), xp.moveaxis(right, -2, 0))
    (x, _), _ = control_flow.scan(advance, (xp.zeros_like(right), first), rest)
    return xp.take(xp.reshape(x, (*batch, steps * width)), slots, axis=-1)
