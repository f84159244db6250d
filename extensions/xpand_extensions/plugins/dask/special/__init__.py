"""Special functions on Dask: each block by its own library."""

from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import betainc, betaln, digamma, factorial, gammainc, gammaincc, gammaln, polygamma, zeta
from ._logistic import entr, expit, log_sigmoid, logit, sigmoid, softplus, xlog1py, xlogy
from ._powers import cbrt, exp2, rsqrt, sinc

__all__ = [
    "betainc",
    "betaln",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
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
    "logit",
    "ndtr",
    "ndtri",
    "polygamma",
    "rsqrt",
    "sigmoid",
    "sinc",
    "softplus",
    "xlog1py",
    "xlogy",
    "zeta",
]
