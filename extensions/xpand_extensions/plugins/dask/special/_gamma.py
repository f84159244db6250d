"""The gamma function's family on Dask."""

from xpand.extend import Array
from xpand_extensions import special

from .._blocks import blockwise

betainc = blockwise(special.betainc)
betaln = blockwise(special.betaln)
digamma = blockwise(special.digamma)
factorial = blockwise(special.factorial)
gammainc = blockwise(special.gammainc)
gammaincc = blockwise(special.gammaincc)
gammaln = blockwise(special.gammaln)
zeta = blockwise(special.zeta)


def polygamma(n: int, x: Array, /) -> Array:
    return blockwise(lambda block: special.polygamma(n, block))(x)
