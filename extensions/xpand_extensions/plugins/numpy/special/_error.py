"""The error function's family on NumPy: SciPy's."""

import scipy.special

from xpand_extensions.generic import special as generic

from .._scipy import scipy_or

erf = scipy_or(scipy.special.erf, generic.erf)
erfc = scipy_or(scipy.special.erfc, generic.erfc)
erfinv = scipy_or(scipy.special.erfinv, generic.erfinv)
erfcinv = scipy_or(scipy.special.erfcinv, generic.erfcinv)
ndtr = scipy_or(scipy.special.ndtr, generic.ndtr)
ndtri = scipy_or(scipy.special.ndtri, generic.ndtri)
log_ndtr = scipy_or(scipy.special.log_ndtr, generic.log_ndtr)
