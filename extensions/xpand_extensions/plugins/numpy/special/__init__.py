"""Special functions on NumPy: SciPy's, and some of NumPy's own functions."""

from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import betainc, digamma, gammainc, gammaincc, gammaln, zeta
from ._logistic import (
    entr,
    expit,
    log_sigmoid,
    log_softmax,
    logit,
    logsumexp,
    sigmoid,
    softmax,
    softplus,
    xlog1py,
    xlogy,
)
from ._powers import cbrt, exp2, rsqrt, sinc
