"""The matrix logarithm as one operation of PyTorch: its steps depend on values, so its compiler must not see them."""

from typing import Any, Final

import torch

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linalg import _functions as generic

from ..autodiff._levels import Rule, call


@torch.library.custom_op("xpand::logm", mutates_args=())  # type: ignore[untyped-decorator]
def _operation(x: torch.Tensor) -> torch.Tensor:
    return generic.logm(x).contiguous()


@_operation.register_fake  # type: ignore[untyped-decorator]
def _(x: Array) -> Array:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


@_operation.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: tuple[int], x: Array) -> tuple[Array, int]:
    return _operation(x.movedim(in_dims[0], 0)), 0


def _derivative(x: Array, e: Array) -> Array:
    """Return the derivative at `x` in the direction `e`: the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.)
    """
    size = x.shape[-1]
    upper = torch.cat([x, e], dim=-1)
    lower = torch.cat([torch.zeros_like(x), x], dim=-1)
    return logm(torch.cat([upper, lower], dim=-2))[..., :size, size:]


def _backward(ctx: Any, gradient: Array) -> Array:
    return _derivative(ctx.saved_tensors[0].mH, gradient)


# For PyTorch's compiler, which can't trace levels of torch.func.
_operation.register_autograd(_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def logm(x: Array, /) -> Array:
    if torch.compiler.is_dynamo_compiling():
        return _operation(x)
    return call(_RULE, (x,))[0]


# The transpose of the derivative is the derivative at the transpose of `x`.
_RULE: Final = Rule(
    function=lambda x: (_operation(x),),
    forward=lambda x: ((logm(x),), (x,)),
    pull=lambda residuals, cotangents: (_derivative(residuals[0].mT, cotangents[0]),),
    push=lambda residuals, tangents: (_derivative(residuals[0], tangents[0]),),
)
