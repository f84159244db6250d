"""Special functions on CuPy: its own kernels."""

from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._logistic import entr, expit, log_sigmoid, logit, sigmoid, xlog1py, xlogy
from ._powers import cbrt, exp2, rsqrt
