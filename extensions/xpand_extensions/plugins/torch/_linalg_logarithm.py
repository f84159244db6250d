"""The matrix logarithm as one operation of PyTorch: its steps depend on values, so its compiler must not see them."""

from typing import Any

import torch

from xpand._typing import Array
from xpand_extensions.generic import _linalg_functions as generic


@torch.library.custom_op("xpand::logm", mutates_args=())  # type: ignore[untyped-decorator]
def _logm(x: torch.Tensor) -> torch.Tensor:
    return generic.logm(x).contiguous()


@_logm.register_fake  # type: ignore[untyped-decorator]
def _(x: Array) -> Array:
    return torch.empty(x.shape, dtype=x.dtype, device=x.device)


def _save(context: Any, inputs: tuple[Array], output: Array) -> None:
    context.save_for_backward(inputs[0])


def _backward(context: Any, gradient: Array) -> Array:
    """The derivative at `x` in the direction `e` is the upper right block of the logarithm of `[[x, e], [0, x]]`.

    (R. Mathias, SIAM J. Matrix Anal. Appl. 17 (1996) 610.) Its adjoint is the derivative at the adjoint of `x`.
    """
    (x,) = context.saved_tensors
    x = x.mH
    size = x.shape[-1]
    upper = torch.cat([x, gradient], dim=-1)
    lower = torch.cat([torch.zeros_like(x), x], dim=-1)
    return logm(torch.cat([upper, lower], dim=-2))[..., :size, size:]


_logm.register_autograd(_backward, setup_context=_save)


@_logm.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: tuple[int | None], x: Array) -> tuple[Array, int]:
    return logm(x.movedim(in_dims[0], 0)), 0


def logm(x: Array, /) -> Array:
    return _logm(x)
