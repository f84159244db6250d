"""Least squares of matrices that may be empty or not finite: the steps that all implementations share."""

from typing import NamedTuple

from xpand.extend import Array, Namespace
from xpand.extend import checks as _arguments

from .._bounds import index_dtype
from . import _checks as checks
from ._lstsq import LstsqResult


def cutoff(xp: Namespace, a: Array, rtol: float | None) -> float:
    """Say up to which part of the largest singular value the others count as zero."""
    return float(max(a.shape[-2:]) * xp.finfo(a.dtype).eps) if rtol is None else rtol


class Finite(NamedTuple):
    """Masks of the matrices, `(..., 1, 1)`, and of the systems, `(..., 1, k)`, that have only finite values."""

    matrices: Array
    systems: Array


def finite_matrices(xp: Namespace, a: Array, b: Array) -> tuple[Array, Array, Finite]:
    """Put zeros for the matrices and columns that aren't finite; say which are.

    Libraries raise for some, take for ever for others, and return NaN for the rest.
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
    """Put the result together; `kept` says which singular values `s` are different from zero."""
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
