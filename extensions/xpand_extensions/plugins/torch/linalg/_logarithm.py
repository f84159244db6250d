"""The matrix logarithm as one operation of PyTorch: its steps depend on values, so its compiler must not see them."""

from typing import Any

import torch
from torch.autograd import forward_ad

from xpand._typing import Array
from xpand.torch import _private as private
from xpand_extensions.generic.linalg import _functions as generic


@torch.library.custom_op("xpand::logm", mutates_args=())  # type: ignore[untyped-decorator]
def _operation(x: torch.Tensor) -> torch.Tensor:
    return generic.logm(x).contiguous()


@_operation.register_fake  # type: ignore[untyped-decorator]
def _(x: Array) -> Array:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@_operation.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: tuple[int], x: Array) -> tuple[Array, int]:
    return _operation(x.movedim(in_dims[0], 0)), 0


def _save(ctx: Any, inputs: tuple[Array], output: Array) -> None:
    ctx.save_for_backward(*inputs)


def _backward(ctx: Any, gradient: Array) -> Array:
    # The adjoint of the derivative is the derivative at the adjoint of `x`.
    return _derivative(ctx.saved_tensors[0].mH, gradient)


def _derivative(x: Array, e: Array) -> Array:
    """The derivative at `x` in the direction `e`: the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
    """
    size = x.shape[-1]
    upper = torch.cat([x, e], dim=-1)
    lower = torch.cat([torch.zeros_like(x), x], dim=-1)
    return logm(torch.cat([upper, lower], dim=-2))[..., :size, size:]


_operation.register_autograd(_backward, setup_context=_save)


class _Logarithm(torch.autograd.Function):  # type: ignore[misc]
    """The operation for torch.func, under which the derivatives of operations of `torch.library` don't work."""

    forward = staticmethod(_operation)
    backward = staticmethod(_backward)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Array], output: Array) -> None:
        _save(ctx, inputs, output)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx: Any, direction: Array) -> Array:
        # PyTorch calls this with derivatives switched off, which the levels below ask for.
        with torch.enable_grad(), private.set_forward_mode(True):
            return _derivative(forward_ad.unpack_dual(ctx.saved_tensors[0]).primal, direction)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int], x: Array) -> tuple[Array, int]:
        return logm(x.movedim(in_dims[0], 0)), 0


def logm(x: Array, /) -> Array:
    # The compiler of PyTorch 2.13 warns of each class of this kind.
    return _operation(x) if torch.compiler.is_dynamo_compiling() else _Logarithm.apply(x)
