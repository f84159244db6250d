"""Special functions of real arrays. All except `logsumexp`, `softmax` and `log_softmax` are elementwise.

Each function states its largest error on any library, in float32 and float64, in ulps: units in the last place of the
true value. An error of n ulps *of the argument* is the change of the true value if the argument changes by n units in
its last place: a steep function magnifies the rounding of its argument. Some libraries (JAX) treat numbers below the
smallest normal number as zero.

All functions take arrays of real floating-point data types. In float16 and bfloat16, results are as exact as the data
type allows. The library computes derivatives; they are finite wherever those of the function are.
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
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)
