"""Values of data types that PyTorch can't compare, as others in the same order."""

import torch

from xpand._typing import Array

from ._unsigned import SIGNED


def ordered(x: Array) -> Array:
    """Return values in the order of those of `x`, of a type that PyTorch compares: not unsigned ones of many bits."""
    signed = SIGNED.get(x.dtype)
    return x if signed is None else x.view(signed) ^ torch.iinfo(signed).min
