"""Uniform numbers on PyTorch: of bits as signed integers."""

from typing import Any

import torch

from xpand import _arguments
from xpand._typing import Array, DType

from ._random_keys import bits

_OF_DTYPE = {
    torch.float16: (torch.uint16, torch.int16, 6, 10),
    torch.bfloat16: (torch.uint8, torch.uint8, 1, 7),
    torch.float32: (torch.uint32, torch.int32, 9, 23),
    torch.float64: (torch.uint64, torch.int64, 12, 52),
}


def uniform(
    key: Array,
    /,
    shape: Any = (),
    dtype: DType | None = None,
    minval: Array | float = 0.0,
    maxval: Array | float = 1.0,
) -> Array:
    unsigned, signed, unused, used = _OF_DTYPE[dtype]
    words = (bits(key, shape, unsigned).view(signed) >> unused) & ((1 << used) - 1)
    u = words.to(dtype) * 2.0**-used
    if not _arguments.is_array(minval) and not _arguments.is_array(maxval) and (minval, maxval) == (0.0, 1.0):
        return u
    low, high = (torch.as_tensor(x, dtype=dtype, device=key.device) for x in (minval, maxval))
    return torch.maximum(low, u * (high - low) + low)
