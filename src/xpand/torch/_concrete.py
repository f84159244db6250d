"""Checks whether the values of a tensor can be read, and checks of the values."""

from __future__ import annotations

from cmath import isfinite
from collections.abc import Callable
from typing import Final

import torch
from torch.func import debug_unwrap

from ..typing import LibraryArray as Array
from . import _private as private

# Subclasses may have no values, as FakeTensor. A Parameter has.
_WITH_VALUES: Final = (torch.Tensor, torch.nn.Parameter)

_FEW: Final = 32
"""The number of elements up to which Python reads them faster than PyTorch adds them."""


def is_concrete(x: Array) -> bool:
    """Return whether the values of a tensor can be read now."""
    if is_traced() or x.is_meta:
        return False
    return type(x) in _WITH_VALUES and debug_unwrap(x) is x


def holds_at_some_level(test: Callable[[Array], bool], x: Array) -> bool:
    """Return whether a test is True for an array, or for one that levels of torch.func wrap as this array."""
    while not test(x):
        below = debug_unwrap(x, recurse=False)
        if below is x:
            return False
        x = below
    return True


def without_grad(x: Array) -> Array:
    """Remove the outer wrappers of derivatives: torch.func.grad wraps all arrays that it traces, even integers."""
    while not is_traced():
        below = debug_unwrap(x, recurse=False)
        if below is x or below.ndim != x.ndim:  # a wrapper of `vmap` hides an axis
            break
        x = below
    return x


def is_finite(x: Array) -> bool:
    """Return whether a tensor is known to have only finite numbers, and is not differentiated.

    The sum shows this in a twentieth of the time of `isfinite`. If finite numbers have an infinite sum, return False.
    """
    if not (x.is_cpu and is_concrete(x)) or x.requires_grad or private.in_forward_mode():
        return False
    if x.numel() <= _FEW and x.ndim == 1:
        return isfinite(sum(x.tolist()))
    return isfinite(torch.sum(x).item())


def is_nonnegative(x: Array) -> bool:
    """Return whether a tensor is known to have no negative numbers, by one pass over it."""
    return x.is_cpu and is_concrete(x) and bool(x.numel()) and torch.amin(x).item() >= 0


def is_traced() -> bool:
    """Return whether this thread makes a graph of PyTorch's. Tensors with values are constants in it.

    `torch.compiler.is_compiling()` can't tell: it is True in all threads while any of them compiles.
    """
    if torch.compiler.is_dynamo_compiling():
        return True
    return bool(private.count_modes()) and private.is_graph_mode_active()
