"""The arguments of programs: which tensors a program may take, and its key."""

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any, Final

import torch

from xpand.torch import _private as private

from ....jit._calls import NUMBERS

_PLAIN: Final = (torch.Tensor, torch.nn.Parameter)


def signature(leaves: Sequence[Any]) -> Hashable:
    """Return everything that a program depends on, except for the strides of the tensors."""
    try:
        tensors = [(type(x), x.shape, x.dtype, x.device, x.requires_grad) for x in leaves]
    except AttributeError:  # numbers
        numbers = [type(x) if type(x) in NUMBERS else None for x in leaves]
        return *numbers, signature([x for x in leaves if type(x) not in NUMBERS])
    return (
        torch.is_grad_enabled(),
        torch.get_default_dtype(),
        # A default device is a function mode. Read it only if there is one: this takes a microsecond.
        torch.get_default_device() if private.count_function_modes() else None,
        private.count_modes(),
        private.are_levels_active(),
        private.in_forward_mode(),
        _is_autocast(leaves),
        *tensors,
    )


def are_plain(arrays: Sequence[Any]) -> bool:
    """Return whether programs see all that PyTorch does with these arrays: no subclass, mode or level of torch.func
    takes part.
    """
    tensors = [x for x in arrays if type(x) not in NUMBERS]
    if private.count_modes() or private.are_levels_active() or private.in_forward_mode() or _is_autocast(tensors):
        return False
    return all(type(x) in _PLAIN for x in tensors)


def _is_autocast(tensors: Sequence[Any]) -> bool:
    """Return whether operations may compute in another data type than that of their arrays."""
    kind = tensors[0].device.type if tensors else "cpu"
    return _has_autocast(kind) and torch.is_autocast_enabled(kind)


@cache
def _has_autocast(kind: str) -> bool:
    return torch.amp.is_autocast_available(kind)


def require_gradients(arrays: Sequence[Any]) -> bool:
    """Return whether PyTorch records operations on the arrays, for `.backward()`."""
    return torch.is_grad_enabled() and any(type(x) not in NUMBERS and x.requires_grad for x in arrays)
