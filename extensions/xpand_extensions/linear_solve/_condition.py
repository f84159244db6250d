"""Condition numbers of factored matrices, and errors for singular ones."""

from collections.abc import Callable

from xpand.extend import Array, DType, Namespace, checks

from .._bounds import index_dtype
from .._solver_status import Status


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
        return xp.zeros(sums.shape[:-1], dtype=sums.dtype, device=checks.device_of(sums))
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
    device = checks.device_of(sums)
    return xp.arange(sums.shape[-1], dtype=index_dtype(xp, device), device=device)
