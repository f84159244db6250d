"""Factors of dense matrices by LAPACK, matrix by matrix, with its own report of failures."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from scipy.linalg import get_lapack_funcs

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions._solver_status import Status
from xpand_extensions.generic.linear_solve import _direct_dense as generic
from xpand_extensions.linear_solve._condition import estimate, starts_of, verdict
from xpand_extensions.linear_solve._factors import Factors

from ..linalg._pivots import order_of

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
        # In the layout that BLAS reads at each solution.
        factors[index], order[index] = found, order_of(pivots, size)
        lanes.append((found, pivots))
    regular = generic.no_zeros(xp, factors)
    if not regular.all():
        factors = generic.instead(xp, regular, factors, generic.identity(xp, a))
        unit = np.eye(size, dtype=a.dtype, order="F")
        lanes = [pair if fine else (unit, pair[1]) for pair, fine in zip(lanes, regular.flat)]
    with np.errstate(all="ignore"):  # it may overflow, which means singular
        sums = generic.row_sums(xp, safe)
        solve, transposed = (_of_lanes(getrs, lanes, transposed=each) for each in (False, True))
        condition = estimate(xp, sums, a.dtype, solve, transposed, _starts(sums, a))
        condition, status = verdict(xp, condition, finite, regular, Status.SINGULAR)
    return factors, order, condition, status


def _of_lanes(getrs: Any, lanes: list[tuple[Array, Array]], *, transposed: bool) -> Callable[[Array], Array]:
    """Make the function that solves with each matrix of a stack, by LAPACK's factors."""

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
    """Return the start vectors of an estimate, made once for each size."""
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
