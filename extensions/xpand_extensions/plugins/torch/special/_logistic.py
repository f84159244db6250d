"""The logistic function and related functions on PyTorch: its own kernels."""

from typing import Any

import torch
from torch.nn import functional

from xpand import is_concrete
from xpand.extend import Array
from xpand_extensions.generic import special as generic

sigmoid = expit = torch.special.expit
log_sigmoid = functional.logsigmoid
logit = torch.special.logit
entr = torch.special.entr


def xlogy(x: Array, y: Array, /) -> Array:
    return torch.special.xlogy(x, y) if _plain(x) and _plain(y) else generic.xlogy(x, y)


def xlog1py(x: Array, y: Array, /) -> Array:
    return torch.special.xlog1py(x, y) if _plain(x) and _plain(y) else generic.xlog1py(x, y)


def _plain(x: Array) -> bool:
    """Tell whether no derivative is needed: PyTorch's own are NaN where both factors are 0."""
    return is_concrete(x) and not x.requires_grad


def softplus(x: Array, /) -> Array:
    # From its default threshold of 20 on PyTorch returns x, which in float64 is 1e-10 off.
    return functional.softplus(x, 1.0, 40.0)


def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    if b is not None or not axis:
        return generic.logsumexp(x, axis=axis, keepdims=keepdims, b=b)
    return torch.logsumexp(x, axis, keepdims)


def softmax(x: Array, /, *, axis: int = -1) -> Array:
    return torch.softmax(x, axis)


def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    return torch.log_softmax(x, axis)
