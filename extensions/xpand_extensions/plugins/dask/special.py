"""Special functions on Dask: each block by the way of its own library."""

from ._special_error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._special_logistic import entr, expit, log_sigmoid, logit, sigmoid, softplus, xlog1py, xlogy
from ._special_powers import cbrt, exp2, rsqrt, sinc

__all__ = [
    "cbrt",
    "entr",
    "erf",
    "erfc",
    "erfcinv",
    "erfinv",
    "exp2",
    "expit",
    "log_ndtr",
    "log_sigmoid",
    "logit",
    "ndtr",
    "ndtri",
    "rsqrt",
    "sigmoid",
    "sinc",
    "softplus",
    "xlog1py",
    "xlogy",
]
