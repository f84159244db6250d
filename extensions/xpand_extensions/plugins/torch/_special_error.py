"""The error function's family on PyTorch: its own kernels, but for `ndtr`, whose lower tail is lost in PyTorch's."""

import math
from typing import Final

import torch

from xpand._typing import Array
from xpand_extensions.generic._width import widened

_MINUS_ROOT_HALF: Final = -math.sqrt(0.5)

erf = torch.special.erf
erfc = torch.special.erfc
erfinv = torch.special.erfinv
# These two have no kernels for narrow types.
ndtri = widened(torch.special.ndtri)
log_ndtr = widened(torch.special.log_ndtr)


def ndtr(x: Array, /) -> Array:
    return torch.special.erfc(x * _MINUS_ROOT_HALF) * 0.5
