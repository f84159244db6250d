"""Random integers on PyTorch: unsigned arithmetic with the bits of int64."""

from typing import Any, Final

import numpy as np
import torch

from xpand import namespace
from xpand.extend import Array, DType, checks
from xpand_extensions.generic.random import _uniform as generic
from xpand_extensions.random._arguments import arrays_of

from .._plain import is_plain
from .._unsigned import SIGNED
from ._keys import bits, split

_LEAST: Final = -(2**63)


def randint(key: Array, /, shape: Any, minval: Array | int, maxval: Array | int, dtype: DType | None = None) -> Array:
    if not arrays_of(minval, maxval) and key.device.type == "cpu" and is_plain(key):
        # NumPy's data types have the names of PyTorch's.
        named = np.dtype(str(dtype).removeprefix("torch."))
        words = np.asarray(key.tolist(), dtype=np.uint32)
        return torch.from_numpy(generic.randint(words, shape, minval, maxval, named))
    width = 64 if torch.iinfo(dtype).bits == 64 else 32
    unsigned = torch.uint64 if width == 64 else torch.uint32
    keys = split(key, (2,))
    higher, lower = (_as_int64(bits(keys[i, ...], shape, unsigned)) for i in range(2))
    first, span = _spans(key, minval, maxval, dtype)
    found = first + (_offsets_64 if width == 64 else _offsets_32)(higher, lower, span)
    signed = SIGNED.get(dtype, dtype)
    return found.to(signed).view(dtype)


def _as_int64(x: Array) -> Array:
    """Return the bits of uint64 as int64; widen other types."""
    if x.dtype == torch.uint64:
        return x.view(torch.int64)
    return x.view(torch.int32).to(torch.int64) & 0xFFFFFFFF if x.dtype == torch.uint32 else x.to(torch.int64)


def _spans(key: Array, minval: Array | int, maxval: Array | int, dtype: DType) -> tuple[Array, Array]:
    """Return the first integers, and how many there are, modulo 2⁶⁴."""
    low, high = checks.integer_range(namespace("torch"), dtype)
    first, _ = _clipped(key, minval, low, high)
    last, exceeds = _clipped(key, maxval, low, high)
    span = last - first + exceeds
    return first, torch.where(_is_less(first, last) if dtype == torch.uint64 else first < last, span, 1)


def _clipped(key: Array, x: Any, low: int, high: int) -> tuple[Array, Array]:
    """Clip bounds to a range, modulo 2⁶⁴, and tell which were above it."""
    if not checks.is_array(x):
        inside = min(max(x, low), high)
        wrapped = inside - 2**64 if inside >= 2**63 else inside
        options = {"dtype": torch.int64, "device": key.device}
        return torch.full((), wrapped, **options), torch.full((), int(x > high), **options)
    wide = _as_int64(x)
    if high >= 2**63:
        return wide if x.dtype == torch.uint64 else wide.clamp(min=0), torch.zeros_like(wide)
    is_large = (wide < 0) & (x.dtype == torch.uint64)
    found = torch.where(is_large, high, wide.clamp(low, high))
    return found, (is_large | (wide > high)).to(torch.int64)


def _is_less(x: Array, y: Array) -> Array:
    return (x ^ _LEAST) < (y ^ _LEAST)


def _offsets_32(higher: Array, lower: Array, span: Array) -> Array:
    mask = 0xFFFFFFFF
    span = span & mask
    divisor = torch.where(span == 0, 1, span)
    multiplier = 2**16 % divisor
    multiplier = (multiplier * multiplier & mask) % divisor
    found = ((higher % divisor * multiplier & mask) + lower % divisor & mask) % divisor
    return torch.where(span == 0, lower, found)


def _offsets_64(higher: Array, lower: Array, span: Array) -> Array:
    divisor = torch.where(span == 0, 1, span)
    multiplier = _remainder(torch.full_like(divisor, 2**32), divisor)
    multiplier = _remainder(multiplier * multiplier, divisor)
    found = _remainder(_remainder(higher, divisor) * multiplier + _remainder(lower, divisor), divisor)
    return torch.where(span == 0, lower, found)


def _remainder(x: Array, divisor: Array) -> Array:
    """Return the remainder of unsigned 64-bit integers by signed division."""
    is_large = divisor < 0
    signed = torch.where(is_large, 1, divisor)
    half = ((x >> 1) & ~_LEAST) // signed
    # The remainder is at most one divisor too large; or it is x, which is below two divisors.
    left = torch.where(is_large, x, x - 2 * half * signed)
    return torch.where(_is_less(left, divisor), left, left - divisor)
