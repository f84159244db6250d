"""Division of integers on PyTorch, by its truncating functions. They crash or raise for the divisors 0 and -1."""

import torch

from xpand.extend import Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions.generic import arithmetic as generic


def quotient(x: Array, y: Array, /) -> Array:
    if x.dtype in SIGNED:
        return generic.quotient(x, y)
    zero, minus_one = _zeros_and_minus_ones(y)
    whole = torch.div(x, torch.where(zero | minus_one, torch.ones_like(y), y), rounding_mode="trunc")
    one = torch.ones_like(y)
    # The smallest number times -1 wraps around to itself.
    return whole * torch.where(zero, 0, torch.where(minus_one, -one, one))


def truncated_remainder(x: Array, y: Array, /) -> Array:
    if x.dtype in SIGNED or x.dtype.is_floating_point:
        return generic.truncated_remainder(x, y)
    zero, minus_one = _zeros_and_minus_ones(y)
    return torch.where(zero, x, torch.fmod(x, torch.where(zero | minus_one, torch.ones_like(y), y)))


def _zeros_and_minus_ones(y: Array) -> tuple[Array, Array]:
    """Return where divisors are 0 and where they are -1, which unsigned ones never are."""
    zero = y == 0
    return zero, y == -1 if y.dtype.is_signed else torch.zeros_like(zero)
