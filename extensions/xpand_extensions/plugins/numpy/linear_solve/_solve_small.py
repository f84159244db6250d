"""Small dense systems on NumPy, by LAPACK."""

from typing import Any, Final

import numpy as np
from scipy.linalg import get_lapack_funcs

from xpand._typing import Array
from xpand_extensions._solver_status import Status
from xpand_extensions.linear_solve._small import MOST, Small

_DTYPES: Final = {np.dtype(name): np.finfo(name) for name in ("float32", "float64", "complex64", "complex128")}
_ROUTINES: dict[Any, Any] = {}


def solve_small(a: Array, b: Array, rtol: Array, atol: Array, /) -> Small | None:
    info = _DTYPES.get(a.dtype)
    if info is None or not 0 < b.size <= MOST:
        return None
    found = _ROUTINES.get(a.dtype)
    if found is None:
        found = _ROUTINES[a.dtype] = get_lapack_funcs(("getrf", "getrs", "getri"), (np.empty(0, a.dtype),))
    getrf, getrs, getri = found
    with np.errstate(all="ignore"):  # what overflows is singular
        factors, pivots, _ = getrf(a)
        # So NaN, and infinities in the matrix, go the long way too, and those whose pivots have no inverse.
        if not abs(factors.diagonal()).min() >= info.smallest_normal:
            return None
        x = getrs(factors, pivots, b)[0]
        inverse = getri(factors, pivots, overwrite_lu=True)[0]
        condition = (abs(inverse) @ abs(a).sum(axis=1)).max()
        residual = b - a @ x
        size, wanted = _norm(residual), _norm(b)
        # Squares beyond the data type's range, and what isn't finite.
        if not (info.smallest_normal**0.5 < wanted < info.max**0.5 and condition < np.inf and size < np.inf):
            return None
        if not condition < 1 / info.eps:
            status = Status.SINGULAR
        else:
            status = Status.CONVERGED if size <= max(rtol * wanted, atol) else Status.STAGNATED
    return Small(x, residual, np.asarray(size), np.asarray(status, dtype=np.int32))


def _norm(x: Array) -> Array:
    return np.sqrt(np.vdot(x, x).real)
