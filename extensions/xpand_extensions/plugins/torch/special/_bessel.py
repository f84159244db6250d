"""Bessel functions on PyTorch: its own, finite as far as the function is, and infinite at infinity."""

import torch

from xpand.extend import Array
from xpand_extensions._width import widened
from xpand_extensions.generic import special as generic

from .._corrected import corrected


def _beyond(x: Array) -> Array:
    """Tell where exp(x), from which PyTorch computes the function, nearly overflows."""
    return x.abs() > (709.0 if x.dtype == torch.float64 else 88.0)


def _is_zero(x: Array) -> Array:
    """Tell where PyTorch loses the sign of zeros, and where its derivatives are wrong, also at NaN."""
    return ~(x.abs() > 0.0)


i0 = widened(corrected(torch.special.i0, generic.i0, _beyond, 1.0))
i0e = widened(torch.special.i0e)
i1 = widened(corrected(torch.special.i1, generic.i1, lambda x: _beyond(x) | _is_zero(x), 1.0))
i1e = widened(corrected(torch.special.i1e, generic.i1e, _is_zero, 1.0))
