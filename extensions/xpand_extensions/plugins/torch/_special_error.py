"""The error function's family on PyTorch: its own kernels, but for `ndtr`, whose lower tail is lost in PyTorch's."""

import math
from typing import Final

import torch

from xpand import is_concrete
from xpand._typing import Array
from xpand_extensions.generic import special as generic
from xpand_extensions.generic._width import widened

_MINUS_ROOT_HALF: Final = -math.sqrt(0.5)

erf = torch.special.erf
erfc = torch.special.erfc
erfinv = torch.special.erfinv
ndtri = widened(torch.special.ndtri)  # which has no kernel for narrow types


@widened
def log_ndtr(x: Array, /) -> Array:
    # PyTorch maps its own by a loop over the batch, and warns of it.
    return torch.special.log_ndtr(x) if is_concrete(x) else generic.log_ndtr(x)


def ndtr(x: Array, /) -> Array:
    return torch.special.erfc(x * _MINUS_ROOT_HALF) * 0.5
