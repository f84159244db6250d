"""Checks whether tensors have plain values, which other libraries can read, and computations by NumPy."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.autograd import forward_ad

from xpand import is_concrete
from xpand.extend import DType, LibraryArray as Array
from xpand.torch import _private as private

_ON_HOST: Final = (torch.float32, torch.float64)


def has_tangent(x: Array) -> bool:
    """Return whether the innermost level of forward mode differentiates an array."""
    return forward_ad.unpack_dual(x).tangent is not None


def is_plain(*tensors: Array) -> bool:
    """Return whether no transformation traces or differentiates an operation on these tensors."""
    return (
        not (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
        and not private.in_forward_mode()
        and all(is_concrete(x) for x in tensors)
        # Inside torch.func's transformations, NumPy can't read the memory of any tensor, even of captured ones.
        and not private.are_levels_active()
    )


def is_on_host(*tensors: Array, dtypes: Sequence[DType] = _ON_HOST) -> bool:
    """Return whether NumPy can compute with tensors: all have plain values on the CPU, of the given data types."""
    return is_plain(*tensors) and all(x.is_cpu and x.dtype in dtypes for x in tensors)


def on_host(function: Callable[..., Any], *tensors: Array, **options: Any) -> Array:
    """Apply a function of NumPy arrays to tensors, without NumPy's warnings."""
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.asarray(function(*[x.numpy(force=True) for x in tensors], **options)))
