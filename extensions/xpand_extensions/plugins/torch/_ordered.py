"""Order-preserving conversion of data types that PyTorch can't compare."""

import torch

from xpand.extend import Array

from ._unsigned import SIGNED


def ordered(x: Array) -> Array:
    """Return values in the same order as `x`, in a data type that PyTorch compares: not a large unsigned one."""
    signed = SIGNED.get(x.dtype)
    return x if signed is None else x.view(signed) ^ torch.iinfo(signed).min
