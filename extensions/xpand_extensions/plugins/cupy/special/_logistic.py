"""The logistic function and related functions on CuPy: cupyx's."""

from cupyx.scipy import special

from xpand_extensions._width import widened

sigmoid = expit = widened(special.expit)
log_sigmoid = widened(special.log_expit)
logit = widened(special.logit)
entr = widened(special.entr)
xlogy = widened(special.xlogy)
xlog1py = widened(special.xlog1py)
