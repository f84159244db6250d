"""The gamma function's family on PyTorch: its own functions where they are exact.

Its `polygamma(1, x)` is off by 4e6 ulps, and its `gammainc`, which has no derivative in `a`, by 2e6 in float64; its
`zeta` has none in `s`.
"""

from typing import Final

import torch

from xpand import is_concrete
from xpand.extend import Array
from xpand.torch._differentiated import is_differentiated
from xpand_extensions._width import widened
from xpand_extensions.generic import special as generic
from xpand_extensions.generic._blocks import in_blocks
from xpand_extensions.generic.special._gamma import factorials

from .._corrected import corrected
from .._operators import elementwise

_UNSIGNED: Final = (torch.uint16, torch.uint32, torch.uint64)
"""Types for which PyTorch has few functions."""


def _suits_blocks(x: Array) -> bool:
    return x.device.type == "cpu" and not x.requires_grad and is_concrete(x)


gammainc = in_blocks(generic.gammainc, _suits_blocks)
gammaincc = in_blocks(generic.gammaincc, _suits_blocks)
betainc = in_blocks(generic.betainc, _suits_blocks)
zeta = in_blocks(generic.zeta, _suits_blocks)
# PyTorch's own is off by 1e3 ulps near its zero.
_digamma = corrected(torch.special.digamma, generic.digamma, lambda x: (x - 1.4616).abs() < 0.3, 1.0)


@widened
def gammaln(x: Array, /) -> Array:
    return _differentiable_gammaln(x) if is_differentiated(x) else torch.special.gammaln(x)


@widened
def digamma(x: Array, /) -> Array:
    return _differentiable_digamma(x) if is_differentiated(x) else _digamma(x)


def polygamma(n: int, x: Array, /) -> Array:
    if not n:
        return digamma(x)
    return _differentiable_polygamma(n, x) if is_differentiated(x) else generic.polygamma(n, x)


# PyTorch's derivative of both is its own `polygamma(1, x)` in the end.
_differentiable_gammaln = elementwise("gammaln(Tensor x)", torch.special.gammaln, lambda x, out: (digamma(x),))
_differentiable_digamma = elementwise("digamma(Tensor x)", _digamma, lambda x, out: (polygamma(1, x),))
_differentiable_polygamma = elementwise(
    "polygamma(int n, Tensor x)", generic.polygamma, lambda n, x, out: (polygamma(n + 1, x),)
)


def factorial(x: Array, /) -> Array:
    if x.dtype not in _UNSIGNED:
        return generic.factorial(x)
    # As numbers of int64, those of uint64 that are too large are negative, here and in the table.
    index = x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)
    found = factorials(torch.iinfo(x.dtype).max)
    last = len(found) - 1
    table = torch.tensor([n - 2**64 if n >= 2**63 else n for n in found], device=x.device)
    result = table[torch.where(index < 0, last, index.clamp(max=last))]
    return result.view(torch.uint64) if x.dtype == torch.uint64 else result.to(x.dtype)
