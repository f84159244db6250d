"""Special functions on PyTorch: its own kernels where they are exact."""

from ._special_bessel import i0, i0e, i1, i1e
from ._special_error import erf, erfc, erfinv, log_ndtr, ndtr, ndtri
from ._special_gamma import betainc, digamma, factorial, gammainc, gammaincc, gammaln, zeta
from ._special_logistic import (
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
from ._special_powers import cbrt, exp2, rsqrt, sinc

__all__ = [
    "betainc",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "expit",
    "factorial",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "log_sigmoid",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "rsqrt",
    "sigmoid",
    "sinc",
    "softmax",
    "softplus",
    "xlog1py",
    "xlogy",
    "zeta",
]
