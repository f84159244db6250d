"""Whether the values of a tensor can be read."""

from __future__ import annotations

from typing import Final

import torch

from ..typing import LibraryArray as Array
from . import _private as private

# Subclasses such as FakeTensor stand for a tensor without holding its values; a Parameter holds them.
_HOLD_VALUES: Final = (torch.Tensor, torch.nn.Parameter)


def is_concrete(x: Array) -> bool:
    """Return whether the values of a tensor can be read now."""
    if is_traced() or x.is_meta:
        return False
    return type(x) in _HOLD_VALUES and not private.is_wrapped(x)


def is_traced() -> bool:
    """Return whether this thread makes a graph of PyTorch's, in which a tensor that has values is a constant.

    Not `torch.compiler.is_compiling()`, which is true in all threads while any of them compiles.
    """
    if torch.compiler.is_dynamo_compiling():
        return True
    return bool(private.count_modes()) and private.is_graph_mode_active()
