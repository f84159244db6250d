"""Bessel functions on NumPy: SciPy's, finite as far as the function is, and infinite at infinity."""

from collections.abc import Callable

import numpy as np
import scipy.special

from xpand.extend import Array
from xpand_extensions.generic import special as generic

from .._scipy import scipy_or

i0e = scipy_or(scipy.special.i0e, generic.i0e)
_i0 = scipy_or(scipy.special.i0, generic.i0)
_i1 = scipy_or(scipy.special.i1, generic.i1)
_i1e = scipy_or(scipy.special.i1e, generic.i1e)


def i0(x: Array, /) -> Array:
    return _corrected(_i0(x), x, generic.i0)


def i1(x: Array, /) -> Array:
    return np.copysign(_corrected(_i1(x), x, generic.i1), x)  # of a negative zero SciPy's are positive


def i1e(x: Array, /) -> Array:
    return np.copysign(_i1e(x), x)


def _corrected(result: Array, x: Array, function: Callable[[Array], Array]) -> Array:
    """Recompute values that aren't finite: SciPy's overflow where exp(x) does, and are NaN at infinity."""
    finite = np.isfinite(result)
    if finite.all():
        return result
    result = np.asarray(result)
    result[~finite] = function(x[~finite])
    return result[()]
