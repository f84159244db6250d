"""Powers, roots and sinc on Dask."""

from xpand_extensions import special

from .._blocks import blockwise

cbrt = blockwise(special.cbrt)
exp2 = blockwise(special.exp2)
rsqrt = blockwise(special.rsqrt)
sinc = blockwise(special.sinc)
