"""The error function's family on PyTorch: its own kernels, but for `ndtr`, whose lower tail is lost in PyTorch's."""

import math
from typing import Final

import torch

from xpand import is_concrete
from xpand.extend import Array
from xpand_extensions.generic import special as generic

from .._corrected import corrected

_MINUS_ROOT_HALF: Final = -math.sqrt(0.5)
_WITH_KERNELS: Final = (torch.float32, torch.float64)

erf = torch.special.erf
erfc = torch.special.erfc
erfinv = torch.special.erfinv
# The generic function is constant at the ends and outside, where the derivative is infinite, or NaN.
erfcinv = corrected(generic.erfcinv, lambda x: erfinv(1.0 - x), lambda x: ~((x > 0.0) & (x < 2.0)), 1.0)


def ndtri(x: Array, /) -> Array:
    return torch.special.ndtri(x) if x.dtype in _WITH_KERNELS else generic.ndtri(x)


def log_ndtr(x: Array, /) -> Array:
    # PyTorch's vmap of its own function is a loop over the batch, and warns.
    own = x.dtype in _WITH_KERNELS and is_concrete(x)
    return torch.special.log_ndtr(x) if own else generic.log_ndtr(x)


def ndtr(x: Array, /) -> Array:
    return torch.special.erfc(x * _MINUS_ROOT_HALF) * 0.5
