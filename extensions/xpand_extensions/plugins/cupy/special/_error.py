"""The error function's family on CuPy: cupyx's."""

from cupyx.scipy import special

from xpand_extensions._width import widened

erf = widened(special.erf)
erfc = widened(special.erfc)
erfinv = widened(special.erfinv)
erfcinv = widened(special.erfcinv)
ndtr = widened(special.ndtr)
ndtri = widened(special.ndtri)
log_ndtr = widened(special.log_ndtr)
