"""Random numbers of many keys at once on PyTorch; those of tensors in the host's memory by NumPy's loops."""

import torch

from xpand._typing import Array
from xpand_extensions.generic import random as generic

from ..numpy import _random_discrete as discrete
from ..numpy import _random_gamma as continuous
from ._plain import is_plain
from ._random_keys import words


def split_each(keys: Array, /, *, num: int) -> Array:
    return torch.stack(words(keys, (num,)), dim=-1).view(torch.uint32)


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    if not _on_host(keys, a):
        return generic.gamma_elements(keys, a, log_space=log_space)
    return torch.from_numpy(continuous.gamma_elements(keys.numpy(), a.numpy(), log_space=log_space))


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    if not _on_host(keys, lam):
        return generic.poisson_elements(keys, lam)
    return torch.from_numpy(discrete.poisson_elements(keys.numpy(), lam.numpy()))


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    if not _on_host(keys, n, p):
        return generic.binomial_elements(keys, n, p)
    return torch.from_numpy(discrete.binomial_elements(keys.numpy(), n.numpy(), p.numpy()))


def _on_host(keys: Array, *parameters: Array) -> bool:
    return all(x.device.type == "cpu" and x.dtype != torch.bfloat16 and is_plain(x) for x in (keys, *parameters))
