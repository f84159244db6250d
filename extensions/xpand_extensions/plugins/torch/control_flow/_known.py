"""Read values inside PyTorch's transformations: whether a condition holds for some batch element."""

from typing import Any

import torch
from torch.func import debug_unwrap

from xpand.extend import Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced


def holds(active: Array) -> tuple[bool, bool]:
    """Tell whether a condition holds for any lane, and whether `vmap` has made it differ between lanes."""
    if not private.is_wrapped(active):
        return bool(active), False
    levels = _Levels()
    return bool(_AnyLane.apply(active, levels)), levels.mapped


def is_known(x: Array) -> bool:
    """Tell whether a value can be read, as one value for all lanes."""
    if is_traced():
        return False
    if not private.is_wrapped(x):
        return True
    levels = _Levels()
    _AnyLane.apply(x == x, levels)
    return not levels.mapped


def is_saved(x: Array) -> bool:
    """Tell whether reverse mode saves the history of an array, at some level of torch.func."""
    while not x.requires_grad and private.is_wrapped(x):
        x = debug_unwrap(x, recurse=False)
    return bool(x.requires_grad)


class _Levels:
    """The levels of transformations around a value. Not a list, which PyTorch would copy."""

    mapped = False


class _AnyLane(torch.autograd.Function):  # type: ignore[misc]
    """The condition of a whole batch: the vmap rule of a function is the public API to leave a level of `vmap`."""

    @staticmethod
    def forward(active: Array, levels: _Levels) -> Array:
        return active.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Array) -> None:
        ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[None, None]:
        return None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> None:
        return None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], active: Array, levels: _Levels) -> tuple[Array, None]:
        levels.mapped = True
        return _AnyLane.apply(torch.any(active, dim=in_dims[0]), levels), None
