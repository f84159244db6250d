"""Elementwise operations of our own that PyTorch's dispatcher knows: one node in any graph, with derivatives and maps.

`torch.library.register_autograd` supports neither forward mode, where derivatives are then silently 0, nor torch.func.
Here a derivative is attached at each level separately, as for PyTorch's kernels.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import torch

from xpand.extend import Array
from xpand.torch import _private as private

Partials: TypeAlias = Callable[..., Sequence[Array | None]]
"""Maps the arguments and the result of an operation to its elementwise derivatives in each tensor."""

_LIBRARY: Final = torch.library.Library("xpand", "FRAGMENT")


class _Call(NamedTuple):
    """An operation at a level of torch.func, or outside of torch.func, and the call for the levels below."""

    overload: Any
    partials: Partials
    keys: Any
    modes: tuple[bool, bool]


def elementwise(signature: str, run: Callable[..., Array], partials: Partials | None = None) -> Callable[..., Array]:
    """Define an operation, in place of one of the same name.

    Args:
        signature: Its name, and its arguments as PyTorch writes them: options, then tensors. The result is of the
            shape, data type and device of the last one; the others have the same axes, some maybe further ones.
        run: Computes it on concrete tensors.
        partials: Its derivatives; None if its derivatives are zero.

    Returns:
        The operation, for tensors of any kind.
    """
    name = signature.partition("(")[0]
    _LIBRARY.define(f"{signature} -> Tensor")
    overload = getattr(torch.ops.xpand, name).default

    def attached(keys: Any, *args: Any) -> Array:
        if partials is None or not any(_is_differentiated(x) for x in args):
            return _redispatched(overload, keys, args)
        with private.allow_single_level():
            found: Array = _Attached.apply(_Call(overload, partials, keys, _modes()), *args)
        return found

    def mapped(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Array, int]:
        size = info.batch_size
        moved = [_moved(x, axis, size) if isinstance(x, torch.Tensor) else x for x, axis in zip(args, in_dims)]
        return overload(*moved), 0

    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    _LIBRARY.impl(name, attached, "Autograd", with_keyset=True)
    torch.library.register_fake(f"xpand::{name}", _without_values, lib=_LIBRARY)
    torch.library.register_vmap(f"xpand::{name}", mapped, lib=_LIBRARY)
    return overload  # type: ignore[no-any-return]


def _without_values(*args: Any) -> Array:
    like = args[-1]
    return torch.empty(like.shape, dtype=like.dtype, device=like.device)


def _moved(x: Array, axis: int | None, size: int) -> Array:
    return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)


def _redispatched(overload: Any, keys: Any, args: Sequence[Any]) -> Array:
    found: Array = private.redispatch(overload, keys, args)
    return found


def _modes() -> tuple[bool, bool]:
    return torch.is_grad_enabled(), private.is_forward_mode_enabled()


def _is_differentiated(x: Any) -> bool:
    if not isinstance(x, torch.Tensor) or not x.is_floating_point():
        return False
    if x.requires_grad and torch.is_grad_enabled():
        return True
    return _tangent(x) is not None


def _tangent(x: Array) -> Array | None:
    # Not by `unpack_dual`, which doesn't know the levels inside of torch.compile.
    return private.unpack_dual(x)[1]


class _Attached(private.SingleLevelFunction):  # type: ignore[misc]
    """The derivative of an operation, at one level."""

    @staticmethod
    def forward(call: _Call, *args: Any) -> Array:
        # PyTorch disables derivatives in these functions, also at the levels below.
        reverse, forward = call.modes
        with torch.set_grad_enabled(reverse), private.set_forward_mode(forward):
            return _redispatched(call.overload, call.keys, args)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
        call, *args = inputs
        tensors = [x for x in args if isinstance(x, torch.Tensor)]
        ctx.call, ctx.options = call, args[: len(args) - len(tensors)]
        ctx.save_for_backward(*tensors, output)
        ctx.save_for_forward(*tensors, output)

    @staticmethod
    def backward(ctx: Any, gradient: Array) -> tuple[Array | None, ...]:
        # The pullback may be called after the level has finished.
        slopes = ctx.call.partials(*ctx.options, *private.unwrap_dead(ctx.saved_tensors))
        needed = ctx.needs_input_grad[len(ctx.needs_input_grad) - len(slopes) :]
        nothing: list[Array | None] = [None] * (len(ctx.needs_input_grad) - len(slopes))
        found = [
            gradient * slope if slope is not None and is_needed else None for slope, is_needed in zip(slopes, needed)
        ]
        return (*nothing, *found)

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Array:
        reverse, forward = ctx.call.modes
        with torch.set_grad_enabled(reverse), private.set_forward_mode(forward):
            primals = [private.unpack_dual(x)[0] for x in ctx.saved_tensors]
            slopes = ctx.call.partials(*ctx.options, *primals)
            moves = tangents[len(tangents) - len(slopes) :]
            terms = [move * slope for move, slope in zip(moves, slopes) if slope is not None and move is not None]
            return sum(terms[1:], start=terms[0])
