"""Random numbers of many keys on PyTorch: samplers, whose loops depend on values, as one operation each.

PyTorch's compiler must not see their steps, nor those of their derivatives, which take it minutes. On the CPU NumPy
computes them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from xpand.extend import DType
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic import random as generic
from xpand_extensions.generic.random._gamma import gamma_slope

from ...numpy import random as of_host
from .._operators import elementwise
from ..autodiff._checkpoint import pulled_back
from ._keys import split, words


def split_each(keys: Array, /, *, num: int) -> Array:
    return torch.stack(words(keys, (num,)), dim=-1).view(torch.uint32)


def gamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return gamma_elements(split(key, shape), a.expand(shape), log_space=False)


def loggamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return gamma_elements(split(key, shape), a.expand(shape), log_space=True)


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    return _GAMMA(log_space, keys, a)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    return _POISSON(keys, lam)


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    return _BINOMIAL(keys, n, p)


def _evaluated(of_host: Callable[..., Any], otherwise: Callable[..., Array], *tensors: Array) -> Array:
    """Call a function of NumPy arrays on the memory of tensors, where NumPy can read it."""
    if tensors[-1].device.type != "cpu" or tensors[-1].dtype == torch.bfloat16:
        return otherwise(*tensors).contiguous()
    return torch.from_numpy(of_host(*[x.detach().numpy() for x in tensors]))


def _gamma(log_space: bool, keys: Array, a: Array) -> Array:
    of_torch, of_numpy = (
        lambda keys, a, module=module: module.gamma_elements(keys, a, log_space=log_space)
        for module in (generic, of_host)
    )
    return _evaluated(of_numpy, of_torch, keys, a)


def _slope(log_space: bool, a: Array, sample: Array) -> Array:
    function = lambda a, sample: gamma_slope(a, sample, log_space=log_space)
    return _evaluated(function, function, a, sample)


def _slopes(log_space: bool, keys: Array, a: Array, sample: Array) -> tuple[None, Array]:
    return None, _SLOPE(log_space, a, sample)


def _curvatures(log_space: bool, a: Array, sample: Array, _: Array) -> Sequence[Array]:
    # By all its operations, since derivatives of higher order are asked for so rarely.
    function = lambda a, sample: (gamma_slope(a, sample, log_space=log_space),)
    return pulled_back(function, (a, sample), (torch.ones_like(a),))


_SLOPE = elementwise("gamma_slope(bool log_space, Tensor a, Tensor sample)", _slope, _curvatures)
_GAMMA = elementwise("gamma(bool log_space, Tensor keys, Tensor a)", _gamma, _slopes)
_POISSON = elementwise(
    "poisson(Tensor keys, Tensor lam)",
    lambda *tensors: _evaluated(of_host.poisson_elements, generic.poisson_elements, *tensors),
)
_BINOMIAL = elementwise(
    "binomial(Tensor keys, Tensor n, Tensor p)",
    lambda *tensors: _evaluated(of_host.binomial_elements, generic.binomial_elements, *tensors),
)
