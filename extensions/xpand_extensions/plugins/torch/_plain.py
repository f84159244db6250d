"""Which tensors are plain values, so that kernels of other libraries may read them."""

import torch
from torch.autograd import forward_ad

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private


def has_tangent(x: Array) -> bool:
    """Return whether the innermost level of forward mode differentiates an array."""
    return forward_ad.unpack_dual(x).tangent is not None


def is_plain(*tensors: Array) -> bool:
    """Return whether no transformation has to see an operation."""
    return (
        not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
        and not private.in_forward_mode()
        and all(is_concrete(x) for x in tensors)
        # Inside of torch.func's transformations NumPy can't read the memory of any tensor, not even of captured ones.
        and not private.are_levels_active()
    )
