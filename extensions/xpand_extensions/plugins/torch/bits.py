"""The bits of integers on PyTorch: views, and PyTorch's shifts, which accept any number of positions."""

import torch

from xpand.extend import Array, DType
from xpand_extensions.generic import bits as generic

from ._unsigned import SIGNED


def bitcast(x: Array, dtype: DType, /) -> Array:
    if dtype.itemsize == x.dtype.itemsize:
        return x.view(dtype)
    # Always a copy: `contiguous` doesn't change the strides of axes of size one, which `view` may refuse.
    x = x.clone(memory_format=torch.contiguous_format)
    return x.unsqueeze(-1).view(dtype) if dtype.itemsize < x.dtype.itemsize else x.view(dtype).squeeze(-1)


def population_count(x: Array, /) -> Array:
    signed = SIGNED.get(x.dtype, x.dtype)
    return generic.population_count(x.view(signed)).view(x.dtype)


def count_leading_zeros(x: Array, /) -> Array:
    signed = SIGNED.get(x.dtype, x.dtype)
    return generic.count_leading_zeros(x.view(signed)).view(x.dtype)


def shift_left(x: Array, n: Array, /) -> Array:
    signed = SIGNED.get(x.dtype, x.dtype)
    return torch.bitwise_left_shift(x.view(signed), n.view(signed)).view(x.dtype)


def shift_right(x: Array, n: Array, /) -> Array:
    if x.dtype in SIGNED:
        return shift_right_logical(x.view(SIGNED[x.dtype]), n.view(SIGNED[x.dtype])).view(x.dtype)
    return torch.bitwise_right_shift(x, n)


def shift_right_logical(x: Array, n: Array, /) -> Array:
    signed = SIGNED.get(x.dtype, x.dtype)
    if signed == torch.uint8:
        return torch.bitwise_right_shift(x, n)
    return generic.shift_right_logical(x.view(signed), n.view(signed)).view(x.dtype)
