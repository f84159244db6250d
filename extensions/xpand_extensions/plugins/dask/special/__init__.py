"""Special functions on Dask: each block by its own library."""

from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import betainc, betaln, digamma, factorial, gammainc, gammaincc, gammaln, polygamma, zeta
from ._logistic import entr, expit, log_sigmoid, logit, sigmoid, softplus, xlog1py, xlogy
from ._powers import cbrt, exp2, rsqrt, sinc
