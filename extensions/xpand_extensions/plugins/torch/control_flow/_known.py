"""Read values inside PyTorch's transformations: whether a condition holds for some batch element."""

import torch
from torch.func import debug_unwrap

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced


def holds(active: Array) -> tuple[bool, bool]:
    """Tell whether a condition holds for any lane, and whether `vmap` has made it differ between lanes."""
    if not private.is_wrapped(active):
        return bool(active), False
    values, mapped = _below(active)
    with private.unobserved():
        return bool(torch.any(values)), mapped


def is_known(x: Array) -> bool:
    """Tell whether a value can be read, as one value for all lanes."""
    return not is_traced() and not _below(x)[1]


def is_saved(x: Array) -> bool:
    """Tell whether reverse mode saves the history of an array, at some level of torch.func."""
    while not x.requires_grad and private.is_wrapped(x):
        x = debug_unwrap(x, recurse=False)
    return bool(x.requires_grad)


def _below(x: Array) -> tuple[Array, bool]:
    """Return an array below all levels, and whether one of them maps it."""
    mapped = False
    while private.is_wrapped(x):
        mapped = mapped or private.is_mapped(x)
        x = debug_unwrap(x, recurse=False)
    return x, mapped
