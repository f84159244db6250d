"""Special functions on JAX: its own where they are exact, all of them compiled."""

from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import betainc, betaln, digamma, factorial, gammainc, gammaincc, gammaln, polygamma, zeta
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
