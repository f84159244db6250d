"""Uniform and normal numbers on PyTorch, from bits as signed integers."""

from typing import Any, Final

import torch

from xpand.extend import DType
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.random import _scaled as scales
from xpand_extensions.generic.random import _uniform as generic

from ...numpy.random import _blocks as blocks
from .._operators import elementwise
from .._unsigned import SIGNED
from ._keys import bits, is_on_host, made_on_host

_BITS: Final = {
    torch.float16: (torch.uint16, 10),
    torch.bfloat16: (torch.uint8, 7),
    torch.float32: (torch.uint32, 23),
    torch.float64: (torch.uint64, 52),
}
"""The integer type of the random bits, and the number of bits that are used."""
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
        return _scaled(key, made_on_host(key, shape, dtype, _UNIFORM[dtype]), minval, maxval)
    unsigned, used = _BITS[dtype]
    signed = SIGNED.get(unsigned, unsigned)
    unused = 8 * unsigned.itemsize - used
    u = ((bits(key, shape, unsigned).view(signed) >> unused) & ((1 << used) - 1)).to(dtype) * 2.0**-used
    return _scaled(key, u, minval, maxval)


# It has more steps than PyTorch's compiler should see: it repeats them at each use of the result.
_CORRECTION: Final = elementwise(
    "rounding(Tensor span, Tensor low, Tensor u)", lambda span, low, u: scales.correction(u, span, low)
)


def _correction(u: Array, span: Array, low: Array) -> Array:
    return _CORRECTION(span.expand(u.shape), low.expand(u.shape), u)


def _scaled(key: Array, u: Array, minval: Array | float, maxval: Array | float) -> Array:
    return scales.scaled(key, u, minval, maxval, correction=_correction)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    if dtype in _NORMAL and is_on_host(key):
        return made_on_host(key, shape, dtype, _NORMAL[dtype])
    return generic.normal(key, shape, dtype)
