"""The logistic function and related functions on Dask."""

from xpand_extensions import special

from .._blocks import blockwise

entr = blockwise(special.entr)
expit = blockwise(special.expit)
log_sigmoid = blockwise(special.log_sigmoid)
logit = blockwise(special.logit)
sigmoid = blockwise(special.sigmoid)
softplus = blockwise(special.softplus)
xlog1py = blockwise(special.xlog1py)
xlogy = blockwise(special.xlogy)
