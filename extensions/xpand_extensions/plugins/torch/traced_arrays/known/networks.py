"""Activations and losses, whose derivatives are shorter than calls of PyTorch."""

from typing import Any, Final

import torch
from torch.nn import functional

from xpand_extensions.tracing._core import bind

from ._table import Known, arithmetic, both, is_real_floating, is_traced, known


def _positive(xp: Any, out: Any, x: Any) -> Any:
    return xp.astype(out > 0, out.dtype)


def _logistic(xp: Any, out: Any, x: Any) -> Any:
    return out * (1 - out)


def _activation(function: Any, factor: Any) -> Known:
    """Make an elementwise function that the standard lacks, with its derivative."""
    name = f"torch.{function.__name__}"

    def apply(xp: Any, input: Any) -> Any:
        if not is_real_floating(input):
            return NotImplemented
        op = xp.operations.get(name)
        if op is None:
            like = xp.operations["tanh"]
            attributes = {"shape": like.shape, "batching": like.batching, "is_elementwise": True, "factors": (factor,)}
            op = xp.operation(name, function, **attributes, derivative=(type(like.derivative[0])(factor),))
        return xp.wrap(bind(op, (input,), {}))

    return apply


_RELU: Final = _activation(torch.relu, _positive)
arithmetic(*both("relu"))(_RELU)
arithmetic(*both("sigmoid"), functional.sigmoid)(_activation(torch.sigmoid, _logistic))


@arithmetic(functional.relu)
def _relu(xp: Any, input: Any, inplace: bool = False) -> Any:
    return NotImplemented if inplace else _RELU(xp, input)


@arithmetic(*both("tanh"), functional.tanh)
def _tanh(xp: Any, input: Any) -> Any:
    if not is_real_floating(input):
        return NotImplemented
    return xp.tanh(input)


def _moved(xp: Any, running: Any, now: Any, momentum: Any) -> None:
    """Move a running value towards the present one."""
    if running is not None:
        running[...] = (1 - momentum) * running + momentum * xp.astype(now, running.dtype)


def _update(xp: Any, x: Any, mean: Any, var: Any, momentum: Any, axes: tuple[int, ...]) -> None:
    """Update running means and variances that are traced arrays."""
    x = x.detach()
    now = xp.mean(x, axis=axes), xp.var(x, axis=axes, correction=1)
    if 0 not in axes:  # of each instance
        now = xp.mean(now[0], axis=0), xp.mean(now[1], axis=0)
    _moved(xp, mean, now[0], momentum)
    _moved(xp, var, now[1], momentum)


@known(functional.batch_norm)
def _batch_norm(
    xp: Any,
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not training or not (is_traced(running_mean) or is_traced(running_var)):
        return NotImplemented
    normalized = functional.batch_norm(input, None, None, weight, bias, True, momentum, eps)
    _update(xp, xp.wrap(input), running_mean, running_var, momentum, (0, *range(2, input.ndim)))
    return normalized


@known(functional.instance_norm)
def _instance_norm(
    xp: Any,
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not use_input_stats or not (is_traced(running_mean) or is_traced(running_var)):
        return NotImplemented
    normalized = functional.instance_norm(input, None, None, weight, bias, True, momentum, eps)
    _update(xp, xp.wrap(input), running_mean, running_var, momentum, tuple(range(2, input.ndim)))
    return normalized


@arithmetic(functional.mse_loss)
def _mse_loss(
    xp: Any,
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Any:
    if size_average is not None or reduce is not None or weight is not None:
        return NotImplemented
    if tuple(input.shape) != tuple(target.shape) or input.dtype is not target.dtype or not is_real_floating(input):
        return NotImplemented  # PyTorch warns
    if reduction not in ("mean", "sum", "none"):
        return NotImplemented
    squares = xp.square(input - target)
    return squares if reduction == "none" else getattr(xp, reduction)(squares)
