"""Factors of dense matrices by LAPACK, matrix by matrix, with LAPACK's report of failures."""

from collections.abc import Callable
from math import inf, sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions._solver_status import Status
from xpand_extensions.generic.linear_solve import _direct as generic
from xpand_extensions.linear_solve._factors import Factors, estimate, starts_of, verdict
from xpand_extensions.linear_solve._solve import default_rtol

from ..linalg import order_of

_MAX_STARTS: Final = 64
_STARTS: dict[tuple[int, str], Array] = {}


def factor_lu(a: Array, /) -> Factors:
    if a.size == 0:
        return generic.factor_lu(a)
    finite = np.isfinite(a).all(axis=(-2, -1))
    safe = a if finite.all() else generic.instead(xp, finite, a, generic.identity(xp, a))
    stack, size = a.shape[:-2], a.shape[-1]
    factors, order = np.empty(a.shape, a.dtype), np.empty(a.shape[:-1], np.int64)
    getrf, getrs = get_lapack_funcs(("getrf", "getrs"), (a,))
    lanes = []
    for index in np.ndindex(stack):
        found, pivots, _ = getrf(safe[index])
        # Use the layout that BLAS reads at each solution.
        factors[index], order[index] = found, order_of(pivots, size)
        lanes.append((found, pivots))
    regular = generic.no_zeros(xp, factors)
    if not regular.all():
        factors = generic.instead(xp, regular, factors, generic.identity(xp, a))
        unit = np.eye(size, dtype=a.dtype, order="F")
        lanes = [pair if fine else (unit, pair[1]) for pair, fine in zip(lanes, regular.flat)]
    with np.errstate(all="ignore"):  # an overflow means singular
        sums = generic.row_sums(xp, safe)
        solve, transposed = (_of_lanes(getrs, lanes, transposed=each) for each in (False, True))
        condition = estimate(xp, sums, a.dtype, solve, transposed, _starts(sums, a))
        condition, status = verdict(xp, condition, finite, regular, Status.SINGULAR)
    return factors, order, condition, status


def _of_lanes(getrs: Any, lanes: list[tuple[Array, Array]], *, transposed: bool) -> Callable[[Array], Array]:
    """Make the function that solves with the LAPACK factors of each matrix of a stack."""

    def solve(b: Array) -> Array:
        if b.ndim == 2:
            return getrs(*lanes[0], b, trans=int(transposed))[0]
        x = np.empty(b.shape, b.dtype)
        each, right = x.reshape(-1, *b.shape[-2:]), b.reshape(-1, *b.shape[-2:])
        for i, (factors, pivots) in enumerate(lanes):
            each[i] = getrs(factors, pivots, right[i], trans=int(transposed))[0]
        return x

    return solve


def _starts(sums: Array, a: Array) -> Array:
    """Return the start vectors of an estimate, cached by size."""
    key = a.shape[-1], a.dtype.char
    found = _STARTS.get(key)
    if found is None:
        found = starts_of(xp, sums, a.dtype)
        if len(_STARTS) < _MAX_STARTS:
            _STARTS[key] = found
    return found


def factor_qr(a: Array, /) -> Factors:
    with np.errstate(all="ignore"):
        return generic.factor_qr(a)


def factor_triangular(a: Array, /, *, lower: bool = True) -> Factors:
    with np.errstate(all="ignore"):
        return generic.factor_triangular(a, lower=lower)


def factor_cholesky(a: Array, /) -> Factors:
    finite, safe = generic.finite_or_identity(xp, a)
    factor = np.empty(a.shape, a.dtype)
    info = np.zeros(a.shape[:-2], np.int64)
    if a.size:
        (potrf,) = get_lapack_funcs(("potrf",), (a,))
        for index in np.ndindex(a.shape[:-2]):
            factor[index], info[index] = potrf(safe[index], lower=True, clean=True)
    with np.errstate(all="ignore"):
        return generic.judged_cholesky(xp, a, finite, factor, np.asarray(info == 0))


MOST: Final = 32
"""The maximum number of unknowns.

For these matrices, the inverse takes little longer than an estimate, and gives an exact condition number.
"""
_CLEARLY: Final = 1e3
"""If the estimate is below the largest condition number by this factor, the exact number does not matter."""


class _Kind(NamedTuple):
    """Constants of a data type as Python numbers, which compare faster."""

    least: float
    least_norm: float
    """The square of this must not underflow."""
    most_norm: float
    most_condition: float
    rtol: float
    real: Any
    routines: tuple[Any, ...]


def _kind(name: str) -> _Kind:
    info, dtype = np.finfo(name), np.dtype(name)
    least, eps = float(info.smallest_normal), float(info.eps)
    routines = get_lapack_funcs(("lange", "getrf", "gecon", "getrs", "getri"), (np.empty(0, dtype),))
    limits = (least, sqrt(least), sqrt(float(info.max)), 1 / eps, default_rtol(eps))
    return _Kind(*limits, info.dtype, tuple(routines))


_KINDS: Final = {np.dtype(name): _kind(name) for name in ("float32", "float64", "complex64", "complex128")}


def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    kind = _KINDS.get(a.dtype)
    if kind is None or b.ndim != 1 or not 0 < b.size <= MOST:
        return None
    lange, getrf, gecon, getrs, getri = kind.routines
    with np.errstate(all="ignore"):  # overflow means singular
        wanted, scale = _norm(b), lange("1", a.T)
        factors, pivots, info = getrf(a)
        # Usually the matrix is well-conditioned and nothing overflows. Then no inverse is needed.
        if kind.least_norm < wanted < kind.most_norm and kind.least_norm < scale < kind.most_norm and not info:
            estimate, _ = gecon(factors, scale, norm="I")
            if estimate * kind.most_condition > _CLEARLY:
                x = getrs(factors, pivots, b)[0]
                residual = b - a @ x
                return _judged(kind, rtol, atol, x, residual, _norm(residual), wanted, is_regular=True)
        # NaN, infinities in the matrix and pivots without an inverse take the general path, too.
        if not np.minimum.reduce(abs(factors.diagonal())) >= kind.least:
            return None
        x = getrs(factors, pivots, b)[0]
        inverse = getri(factors, pivots, overwrite_lu=True)[0]
        condition = np.maximum.reduce(abs(inverse) @ np.add.reduce(abs(a), axis=1))
        residual = b - a @ x
        size = _norm(residual)
    # Squares may overflow or underflow, or values may not be finite.
    if not (kind.least_norm < wanted < kind.most_norm and condition < inf and size < inf):
        return None
    return _judged(kind, rtol, atol, x, residual, size, wanted, is_regular=condition < kind.most_condition)


def _judged(
    kind: _Kind,
    rtol: float | None,
    atol: float,
    x: Array,
    residual: Array,
    size: float,
    wanted: float,
    *,
    is_regular: bool,
) -> tuple[Array, ...]:
    if not is_regular:
        status = Status.SINGULAR
    else:
        tolerance = max((kind.rtol if rtol is None else rtol) * wanted, atol)
        status = Status.CONVERGED if size <= tolerance else Status.STAGNATED
    numbers = np.asarray((0, 1, int(status)), dtype=np.int32)
    return x, residual, np.asarray(size, dtype=kind.real), numbers[0, ...], numbers[1, ...], numbers[2, ...]


def _norm(x: Array) -> float:
    return sqrt(np.vdot(x, x).real)
