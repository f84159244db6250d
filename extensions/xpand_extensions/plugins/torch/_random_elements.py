"""Random numbers of many keys at once on PyTorch: the samplers, whose loops depend on values, as one operation.

PyTorch's compiler must not see their steps, which it takes minutes for. In the host's memory they are NumPy's.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import torch

from xpand._typing import Array, DType
from xpand_extensions.generic import random as generic
from xpand_extensions.generic._random_gamma import gamma_slope

from ..numpy import random as of_host
from ._random_keys import split, words

_SAMPLERS: Final[dict[str, Callable[[Any], Callable[..., Any]]]] = {
    "gamma": lambda module: partial(module.gamma_elements, log_space=False),
    "loggamma": lambda module: partial(module.gamma_elements, log_space=True),
    "poisson": lambda module: module.poisson_elements,
    "binomial": lambda module: module.binomial_elements,
}


def split_each(keys: Array, /, *, num: int) -> Array:
    return torch.stack(words(keys, (num,)), dim=-1).view(torch.uint32)


def gamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    if torch.compiler.is_dynamo_compiling():
        return _operation("gamma", split(key, shape), [a.expand(shape)])
    return generic.gamma(key, a, shape, dtype)


def loggamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    if torch.compiler.is_dynamo_compiling():
        return _operation("loggamma", split(key, shape), [a.expand(shape)])
    return generic.loggamma(key, a, shape, dtype)


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    return _sampled("loggamma" if log_space else "gamma", keys, a)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    return _sampled("poisson", keys, lam)


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    return _sampled("binomial", keys, n, p)


def _sampled(name: str, keys: Array, *parameters: Array) -> Array:
    # The compiler of PyTorch 2.13 warns of each class of this kind.
    if torch.compiler.is_dynamo_compiling():
        return _operation(name, keys, list(parameters))
    return _Sampling.apply(name, keys, *parameters)


@torch.library.custom_op("xpand::sample", mutates_args=())  # type: ignore[untyped-decorator]
def _operation(name: str, keys: torch.Tensor, parameters: list[torch.Tensor]) -> torch.Tensor:
    find = _SAMPLERS[name]
    if keys.device.type != "cpu" or parameters[0].dtype == torch.bfloat16:
        return find(generic)(keys, *parameters).contiguous()
    found = find(of_host)(keys.numpy(), *[x.detach().numpy() for x in parameters])
    return torch.from_numpy(found)


@_operation.register_fake  # type: ignore[untyped-decorator]
def _(name: str, keys: Array, parameters: list[Array]) -> Array:
    last = parameters[-1]
    return torch.empty(last.shape, dtype=last.dtype, device=last.device)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
    ctx.name, ctx.count = inputs[0], len(inputs[2])
    ctx.save_for_backward(inputs[2][0], output)


def _backward(ctx: Any, gradient: Array) -> tuple[None, None, list[Array | None]]:
    if ctx.name not in ("gamma", "loggamma"):
        return None, None, [None] * ctx.count
    return None, None, [gradient * gamma_slope(*ctx.saved_tensors, log_space=ctx.name == "loggamma")]


# For the compiler, which can't follow the rule that `gamma` has elsewhere.
_operation.register_autograd(_backward, setup_context=_save)


class _Sampling(torch.autograd.Function):  # type: ignore[misc]
    """The operation for torch.func: without a derivative, which `gamma` gives its own."""

    @staticmethod
    def forward(name: str, keys: Array, *parameters: Array) -> Array:
        return _operation(name, keys, list(parameters))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
        ctx.mark_non_differentiable(output)
        ctx.count = len(inputs)

    @staticmethod
    def backward(ctx: Any, gradient: Array) -> tuple[None, ...]:
        nothing: tuple[None, ...] = (None,) * ctx.count
        return nothing

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], name: str, *tensors: Array) -> tuple[Array, int]:
        mapped = [
            x.expand(info.batch_size, *x.shape) if axis is None else x.movedim(axis, 0)
            for x, axis in zip(tensors, in_dims[1:])
        ]
        return _sampled(name, *mapped), 0
