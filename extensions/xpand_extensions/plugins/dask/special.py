"""Special functions on Dask: each block by its own library."""

from functools import partial

from xpand.dask.array._blocks import by_blocks, elementwise
from xpand.extend import LibraryArray as Array
from xpand_extensions import special

i0 = by_blocks(special.i0)
i0e = by_blocks(special.i0e)
i1 = by_blocks(special.i1)
i1e = by_blocks(special.i1e)

erf = by_blocks(special.erf)
erfc = by_blocks(special.erfc)
erfcinv = by_blocks(special.erfcinv)
erfinv = by_blocks(special.erfinv)
log_ndtr = by_blocks(special.log_ndtr)
ndtr = by_blocks(special.ndtr)
ndtri = by_blocks(special.ndtri)

betainc = by_blocks(special.betainc)
betaln = by_blocks(special.betaln)
digamma = by_blocks(special.digamma)
factorial = by_blocks(special.factorial)
gammainc = by_blocks(special.gammainc)
gammaincc = by_blocks(special.gammaincc)
gammaln = by_blocks(special.gammaln)
zeta = by_blocks(special.zeta)


def polygamma(n: int, x: Array, /) -> Array:
    return elementwise(partial(special.polygamma, n), x, dtype=x.dtype)


entr = by_blocks(special.entr)
expit = by_blocks(special.expit)
log_sigmoid = by_blocks(special.log_sigmoid)
logit = by_blocks(special.logit)
sigmoid = by_blocks(special.sigmoid)
softplus = by_blocks(special.softplus)
xlog1py = by_blocks(special.xlog1py)
xlogy = by_blocks(special.xlogy)

cbrt = by_blocks(special.cbrt)
exp2 = by_blocks(special.exp2)
rsqrt = by_blocks(special.rsqrt)
sinc = by_blocks(special.sinc)
