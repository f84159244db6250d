"""Uniform and normal numbers on PyTorch: of bits as signed integers."""

from typing import Any, Final

import torch

from xpand._typing import Array, DType
from xpand_extensions.generic.random import _uniform as generic
from xpand_extensions.generic.random._scaled import scaled

from ...numpy.random import _blocks as blocks
from .._unsigned import SIGNED
from ._keys import bits, is_on_host, made_on_host

_BITS: Final = {
    torch.float16: (torch.uint16, 10),
    torch.bfloat16: (torch.uint8, 7),
    torch.float32: (torch.uint32, 23),
    torch.float64: (torch.uint64, 52),
}
"""The type of the bits that numbers are made of, and how many of them are used."""
_UNIFORM: Final = {torch.float32: blocks.single, torch.float64: blocks.double}
_NORMAL: Final = {torch.float32: blocks.normal_single, torch.float64: blocks.normal_double}


def uniform(
    key: Array,
    /,
    shape: Any = (),
    dtype: DType | None = None,
    minval: Array | float = 0.0,
    maxval: Array | float = 1.0,
) -> Array:
    if dtype in _UNIFORM and is_on_host(key):
        return scaled(key, made_on_host(key, shape, dtype, _UNIFORM[dtype]), minval, maxval)
    unsigned, used = _BITS[dtype]
    signed = SIGNED.get(unsigned, unsigned)
    unused = 8 * unsigned.itemsize - used
    u = ((bits(key, shape, unsigned).view(signed) >> unused) & ((1 << used) - 1)).to(dtype) * 2.0**-used
    return scaled(key, u, minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    if dtype in _NORMAL and is_on_host(key):
        return made_on_host(key, shape, dtype, _NORMAL[dtype])
    return generic.normal(key, shape, dtype)
