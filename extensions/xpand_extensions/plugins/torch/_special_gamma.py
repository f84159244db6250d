"""The gamma function's family on PyTorch: what of its own is exact, and derivatives in all arguments by the generic.

Its `polygamma(1, x)` is off by 4e6 ulps, its `gammainc` by 2e6 in float64; the latter has no derivative in `a`.
"""

from typing import Final

import torch

from xpand._typing import Array
from xpand_extensions.generic._rational import polynomial
from xpand_extensions.generic._special_gamma import ROOT, ROOT_SINGLE
from xpand_extensions.generic._width import widened

from ._mended import mended

# Taylor's series of digamma at its zero, divided by the distance
_TAYLOR: Final = (
    0.9676722454476212,
    -0.4427631689835921,
    0.258499760955651,
    -0.16394270544240652,
    0.10782405069126237,
    -0.07219956125645471,
    0.04880428816414311,
    -0.03316112647484736,
    0.022597648232218104,
    -0.01542476590494896,
    0.010538791616612175,
    -0.007204534386356869,
    0.004926781395729853,
    -0.003369801655439328,
    0.002305126326734928,
    -0.0015769367714301972,
)

gammaln = widened(torch.special.gammaln)


def _digamma_near(x: Array) -> Array:
    root, rest = ROOT if x.dtype == torch.float64 else ROOT_SINGLE
    t = ((x - 1.0) - root) - rest
    return t * polynomial(t, _TAYLOR)


# PyTorch's own is off by 1e3 ulps near its zero.
digamma = widened(mended(torch.special.digamma, _digamma_near, lambda x: (x - 1.4616).abs() < 0.12, 1.0))
