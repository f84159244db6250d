"""Operations of xpand that are registered with PyTorch: `torch.compile` calls each as it is."""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import torch

from xpand.extend import LibraryArray as Array, trace_instead

from ._in_compile._replaced import check_no_levels

Pull: TypeAlias = Callable[..., Sequence[Array | None]]
"""Takes the cotangent, the arguments and the result of an operation; returns the cotangents of all tensors, or None."""

_LIBRARY: Final = torch.library.Library("xpand", "FRAGMENT")


def define_operation(signature: str, run: Callable[..., Array], pull: Pull | None = None) -> Callable[..., Array]:
    """Define an operation whose result has the shape, data type and device of its last argument.

    Args:
        signature: The name and the arguments in PyTorch's notation: options, then tensors. All tensors have the same
            axes of lanes, in front of their other axes.
        run: Computes the operation on concrete tensors.
        pull: The derivative; None if it is zero.
    """
    name = signature.partition("(")[0]
    qualified = f"xpand::{name}"
    _LIBRARY.define(f"{signature} -> Tensor")
    operation: Any = getattr(torch.ops.xpand, name).default

    def mapped(info: Any, in_dims: Sequence[int | None], *args: Any) -> tuple[Array, int]:
        size = info.batch_size
        moved = [_moved(x, axis, size) if isinstance(x, torch.Tensor) else x for x, axis in zip(args, in_dims)]
        return operation(*moved), 0

    _LIBRARY.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(qualified, lambda *args: args[-1].new_empty(args[-1].shape), lib=_LIBRARY)
    torch.library.register_vmap(qualified, mapped, lib=_LIBRARY)

    def save(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
        ctx.options = [x for x in inputs if not isinstance(x, torch.Tensor)]
        ctx.save_for_backward(*[x for x in inputs if isinstance(x, torch.Tensor)], output)

    def backward(ctx: Any, cotangent: Array) -> tuple[Any, ...]:
        tensors = ctx.saved_tensors
        gradients = [None] * (len(tensors) - 1) if pull is None else pull(cotangent, *ctx.options, *tensors)
        return (*[None] * len(ctx.options), *gradients)

    torch.library.register_autograd(qualified, backward, setup_context=save, lib=_LIBRARY)

    def call(*args: Any) -> Array:
        result: Array = operation(*args)
        return result

    def checked(*args: Any) -> Array:
        check_no_levels(name, "functions with derivatives of their own")
        result: Array = operation(*args)
        return result

    trace_instead(call, checked)
    return call


def _moved(x: Array, axis: int | None, size: int) -> Array:
    return x.expand(size, *x.shape) if axis is None else x.movedim(axis, 0)
