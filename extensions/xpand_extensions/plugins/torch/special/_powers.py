"""Powers, roots and sinc on PyTorch."""

from typing import Final

import torch

from xpand import is_concrete
from xpand.extend import Array
from xpand_extensions.generic import special as generic

exp2 = torch.special.exp2
rsqrt = torch.rsqrt

_FLOAT: Final = (torch.float32, torch.float64)


def sinc(x: Array, /) -> Array:
    # The second derivative of PyTorch's is NaN at 0.
    if not _plain(x):
        return generic.sinc(x)
    return torch.special.sinc(x).masked_fill_(x.abs() > 1e30, 0.0)  # NaN at infinities, otherwise


def cbrt(x: Array, /) -> Array:
    if not _plain(x):
        return generic.cbrt(x)
    # The generic function's step of Newton's, in place; at 0 and infinities it would be NaN.
    a = x.abs()
    y = a ** (1.0 / 3.0)
    return a.div_(y * y).sub_(y).div_(3.0).nan_to_num_(0.0).add_(y).copysign_(x)


def _plain(x: Array) -> bool:
    """Tell whether no derivative is needed, and the type is wide enough."""
    return x.dtype in _FLOAT and is_concrete(x) and not x.requires_grad
