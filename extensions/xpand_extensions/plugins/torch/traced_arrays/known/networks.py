"""Activations and losses, whose derivatives are shorter than calls of PyTorch."""

from typing import Any, Final

import torch
from torch.nn import functional

from xpand_extensions.tracing._core import bind

from ._table import Known, both, is_floating, known

_T: Final = torch.Tensor


def _positive(xp: Any, out: Any, x: Any) -> Any:
    return xp.astype(out > 0, out.dtype)


def _logistic(xp: Any, out: Any, x: Any) -> Any:
    return out * (1 - out)


def _activation(function: Any, factor: Any) -> Known:
    """Make an elementwise function that the standard lacks, with its derivative."""
    name = f"torch.{function.__name__}"

    def apply(xp: Any, input: Any) -> Any:
        if not is_floating(input):
            return NotImplemented
        op = xp.operations.get(name)
        if op is None:
            op = xp.operation(name, function)
            like = xp.operations["tanh"]
            op.shape, op.batching, op.is_elementwise, op.derivative = like.shape, like.batching, True, like.derivative
            op.derivative, op.factors = (type(like.derivative[0])(factor),), (factor,)
        return xp.wrap(bind(op, (input,), {}))

    return apply


_RELU: Final = _activation(torch.relu, _positive)
known(*both("relu"))(_RELU)
known(*both("sigmoid"), functional.sigmoid)(_activation(torch.sigmoid, _logistic))


@known(functional.relu)
def _relu(xp: Any, input: Any, inplace: bool = False) -> Any:
    return NotImplemented if inplace else _RELU(xp, input)


@known(functional.mse_loss)
def _mse_loss(xp: Any, input: Any, target: Any, *, reduction: str = "mean") -> Any:
    if tuple(input.shape) != tuple(target.shape) or input.dtype is not target.dtype or not is_floating(input):
        return NotImplemented  # PyTorch warns
    if reduction not in ("mean", "sum", "none"):
        return NotImplemented
    found = xp.square(input - target)
    return found if reduction == "none" else getattr(xp, reduction)(found)
