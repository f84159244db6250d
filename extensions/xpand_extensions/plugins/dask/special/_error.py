"""The error function's family on Dask."""

from xpand_extensions import special

from .._blocks import blockwise

erf = blockwise(special.erf)
erfc = blockwise(special.erfc)
erfcinv = blockwise(special.erfcinv)
erfinv = blockwise(special.erfinv)
log_ndtr = blockwise(special.log_ndtr)
ndtr = blockwise(special.ndtr)
ndtri = blockwise(special.ndtri)
