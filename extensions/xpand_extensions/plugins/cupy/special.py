"""Special functions on CuPy, by its own kernels."""

import cupy as cp
import cupyx
from cupyx.scipy import special

from xpand_extensions._dtypes import widened

erf = widened(special.erf)
erfc = widened(special.erfc)
erfinv = widened(special.erfinv)
erfcinv = widened(special.erfcinv)
ndtr = widened(special.ndtr)
ndtri = widened(special.ndtri)
log_ndtr = widened(special.log_ndtr)

sigmoid = expit = widened(special.expit)
log_sigmoid = widened(special.log_expit)
logit = widened(special.logit)
entr = widened(special.entr)
xlogy = widened(special.xlogy)
xlog1py = widened(special.xlog1py)

cbrt = cp.cbrt
exp2 = cp.exp2
rsqrt = cupyx.rsqrt
