"""Elementwise special functions of named arrays, which broadcast by name.

Arguments, accuracy and errors are those of the functions of the same names in `xpand.special`. `logsumexp`,
`softmax` and `log_softmax` work along an axis.

>>> import numpy as np
>>> from xpand import named as hax
>>> hax.special.erf(hax.named(np.asarray([0.0, 1.0]), "x")).array.round(4)
array([0.    , 0.8427])
"""

from .. import special as _special
from ._array import NamedArray
from ._axis import AxisSelection, AxisSelector
from ._by_name import by_name, reduced
from ._plans import along

betainc = by_name(_special.betainc, broadcasts=True)
betaln = by_name(_special.betaln, broadcasts=True)
digamma = by_name(_special.digamma, broadcasts=True)
entr = by_name(_special.entr, broadcasts=True)
erf = by_name(_special.erf, broadcasts=True)
erfc = by_name(_special.erfc, broadcasts=True)
erfcinv = by_name(_special.erfcinv, broadcasts=True)
erfinv = by_name(_special.erfinv, broadcasts=True)
expit = by_name(_special.expit, broadcasts=True)
factorial = by_name(_special.factorial, broadcasts=True)
gammainc = by_name(_special.gammainc, broadcasts=True)
gammaincc = by_name(_special.gammaincc, broadcasts=True)
gammaln = by_name(_special.gammaln, broadcasts=True)
i0 = by_name(_special.i0, broadcasts=True)
i0e = by_name(_special.i0e, broadcasts=True)
i1 = by_name(_special.i1, broadcasts=True)
i1e = by_name(_special.i1e, broadcasts=True)
log_ndtr = by_name(_special.log_ndtr, broadcasts=True)
log_sigmoid = by_name(_special.log_sigmoid, broadcasts=True)
logit = by_name(_special.logit, broadcasts=True)
ndtr = by_name(_special.ndtr, broadcasts=True)
ndtri = by_name(_special.ndtri, broadcasts=True)
polygamma = by_name(_special.polygamma, broadcasts=True)
sigmoid = by_name(_special.sigmoid, broadcasts=True)
softplus = by_name(_special.softplus, broadcasts=True)
xlog1py = by_name(_special.xlog1py, broadcasts=True)
xlogy = by_name(_special.xlogy, broadcasts=True)
zeta = by_name(_special.zeta, broadcasts=True)


def logsumexp(x: NamedArray, axis: AxisSelection | None = None) -> NamedArray:
    """Compute the logarithm of the sum of exponentials over axes, without overflow. By default over all axes."""
    return reduced(_special.logsumexp, x, axis)


def softmax(x: NamedArray, axis: AxisSelector) -> NamedArray:
    """Compute exponentials divided by their sum along an axis, without overflow."""
    return along("softmax", _special.softmax, x, axis)


def log_softmax(x: NamedArray, axis: AxisSelector) -> NamedArray:
    """Compute the logarithm of `softmax`, even if `softmax` underflows."""
    return along("log_softmax", _special.log_softmax, x, axis)
