"""Special functions with the standard alone."""

from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import digamma, factorial, gammaln, polygamma, zeta
from ._incomplete import betainc, betaln, gammainc, gammaincc
from ._logistic import (
    cbrt,
    entr,
    exp2,
    expit,
    log_sigmoid,
    log_softmax,
    logit,
    logsumexp,
    rsqrt,
    sigmoid,
    sinc,
    softmax,
    softplus,
    xlog1py,
    xlogy,
)
