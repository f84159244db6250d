"""Bessel functions on Dask."""

from xpand_extensions import special

from .._blocks import blockwise

i0 = blockwise(special.i0)
i0e = blockwise(special.i0e)
i1 = blockwise(special.i1)
i1e = blockwise(special.i1e)
