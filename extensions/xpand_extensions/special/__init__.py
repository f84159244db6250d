"""Special functions of real arrays: elementwise, but for `logsumexp`, `softmax` and `log_softmax`.

Each says how near it is to the true value on every library, in float32 and float64, in ulps: units in the last place of
the true value. An error said to be that of so many ulps *of the argument* is as large as the change of the true value
when the argument changes by that many units in its last place, to first order: where a function is steep, the rounding
of the argument is felt, and no more than that. Below the smallest normal number some libraries (JAX) compute with zero.

All take arrays of real floating-point data types; float16 and bfloat16 are as exact as their own results can be told
apart. Derivatives are those of the library's automatic differentiation, finite wherever the function's are.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from ._bessel import i0, i0e, i1, i1e
from ._error import erf, erfc, erfcinv, erfinv, log_ndtr, ndtr, ndtri
from ._gamma import betainc, betaln, digamma, factorial, gammainc, gammaincc, gammaln, polygamma, zeta
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

__all__ = [
    "erf",
    "erfc",
    "erfinv",
    "erfcinv",
    "ndtr",
    "ndtri",
    "log_ndtr",
    "sigmoid",
    "expit",
    "log_sigmoid",
    "logit",
    "softplus",
    "logsumexp",
    "softmax",
    "log_softmax",
    "xlogy",
    "xlog1py",
    "entr",
    "sinc",
    "cbrt",
    "rsqrt",
    "exp2",
    "gammaln",
    "digamma",
    "polygamma",
    "zeta",
    "factorial",
    "gammainc",
    "gammaincc",
    "betaln",
    "betainc",
    "i0",
    "i0e",
    "i1",
    "i1e",
]

if not TYPE_CHECKING:  # which would take every name for known
    __getattr__ = elsewhere(__name__)
