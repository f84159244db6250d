"""The bits of integers on PyTorch, by views and PyTorch's shifts. The shifts accept any number of positions."""

import torch

from xpand.extend import DType, LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions.generic import bits as generic

from ._unsigned import on_signed


def bitcast(x: Array, /, dtype: DType) -> Array:
    if dtype.itemsize == x.dtype.itemsize:
        # PyTorch negates and conjugates some tensors only when they are read, so their bits are of other numbers.
        return x.resolve_conj().resolve_neg().view(dtype)
    # Always copy: `contiguous` does not change the strides of axes of size one, for which `view` may raise.
    x = x.clone(memory_format=torch.contiguous_format)
    return x.unsqueeze(-1).view(dtype) if dtype.itemsize < x.dtype.itemsize else x.view(dtype).squeeze(-1)


population_count = on_signed(generic.population_count)
count_leading_zeros = on_signed(generic.count_leading_zeros)
_logical = on_signed(generic.shift_right_logical)


@on_signed
def shift_left(x: Array, n: Array, /) -> Array:
    return torch.bitwise_left_shift(x, n)


def shift_right(x: Array, n: Array, /) -> Array:
    return _logical(x, n) if x.dtype in SIGNED else torch.bitwise_right_shift(x, n)


def shift_right_logical(x: Array, n: Array, /) -> Array:
    return torch.bitwise_right_shift(x, n) if x.dtype == torch.uint8 else _logical(x, n)
