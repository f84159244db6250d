"""The gamma function's family on NumPy: SciPy's functions, corrected where they are not exact.

The missing functions are generic: these are as fast as SciPy's `polygamma` and `gamma`, and exact where SciPy's
`betaln` is off by 4e3 ulps.
"""

import numpy as np
import scipy.special

from xpand.extend import Array
from xpand_extensions.generic import special as generic
from xpand_extensions.generic._blocks import in_blocks

from .._scipy import scipy_or

_gammaln = scipy_or(scipy.special.gammaln, generic.gammaln)
digamma = scipy_or(scipy.special.digamma, generic.digamma)
gammainc = scipy_or(scipy.special.gammainc, generic.gammainc)
gammaincc = scipy_or(scipy.special.gammaincc, generic.gammaincc)
zeta = in_blocks(generic.zeta)
_betainc = scipy_or(scipy.special.betainc, generic.betainc)


def gammaln(x: Array, /) -> Array:
    result = np.asarray(_gammaln(x))
    # Near its zeros at 1 and 2 SciPy's is off by any number of ulps; that of complex numbers isn't.
    if x.dtype == np.float64:
        near = np.abs(np.abs(x - 1.5) - 0.5) < 0.2
        if near.any():
            result[near] = scipy.special.loggamma(x[near].astype(np.complex128)).real
    # SciPy's is infinite where 1 / x is, and -inf at -inf.
    infinite = np.isinf(result)
    if infinite.any():
        size = np.abs(x[infinite])
        tiny = (size > 0.0) & (size < 1.0)
        result[infinite] = np.where(tiny, -np.log(np.where(tiny, size, 1.0)), np.inf)
    return result[()]


def betainc(a: Array, b: Array, x: Array, /) -> Array:
    if np.result_type(a, b, x) != np.float32:
        return _betainc(a, b, x)
    # SciPy's in float32 is off by 200 ulps, though no faster.
    return _betainc(*(each.astype(np.float64) for each in (a, b, x))).astype(np.float32)
