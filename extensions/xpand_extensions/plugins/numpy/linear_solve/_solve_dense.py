"""Small dense systems on NumPy, by LAPACK."""

from math import inf, sqrt
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.linalg import get_lapack_funcs

from xpand.extend import LibraryArray as Array
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._solve_dense import default_rtol

MOST: Final = 32
"""The maximum number of unknowns.

For so few, the inverse, which gives an exact condition number, takes little longer than an estimate.
"""
_CLEARLY: Final = 1e3
"""The factor between the largest condition number and the estimate from which the exact number does not matter."""


class _Kind(NamedTuple):
    """Constants of a data type, as Python numbers, whose comparisons are faster."""

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
        # The usual case needs no inverse: a well-conditioned matrix, and nothing overflows.
        if kind.least_norm < wanted < kind.most_norm and kind.least_norm < scale < kind.most_norm and not info:
            estimate, _ = gecon(factors, scale, norm="I")
            if estimate * kind.most_condition > _CLEARLY:
                x = getrs(factors, pivots, b)[0]
                residual = b - a @ x
                return _judged(kind, rtol, atol, x, residual, _norm(residual), wanted, is_regular=True)
        # NaN, infinities in the matrix, and pivots without an inverse take the general path too.
        if not np.minimum.reduce(abs(factors.diagonal())) >= kind.least:
            return None
        x = getrs(factors, pivots, b)[0]
        inverse = getri(factors, pivots, overwrite_lu=True)[0]
        condition = np.maximum.reduce(abs(inverse) @ np.add.reduce(abs(a), axis=1))
        residual = b - a @ x
        size = _norm(residual)
    # Squares that overflow or underflow, and values that aren't finite.
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
