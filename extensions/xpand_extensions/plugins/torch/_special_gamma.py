"""The gamma function's family on PyTorch: what of its own is exact.

Its `digamma` is off by 1e3 ulps near the zero, its `polygamma(1, x)` by 4e6, its `gammainc` by 2e6.
"""

import torch

from xpand_extensions.generic._width import widened

gammaln = widened(torch.special.gammaln)
