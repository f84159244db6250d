"""Threefry-2x32 on PyTorch, which has few functions of uint32: with the same bits as int32."""

import math
from typing import Any

import torch

from xpand._typing import Array, DType
from xpand_extensions.generic._random_keys import PARITY, ROTATIONS


def key_of_seed(seed: Array, /) -> Array:
    if seed.dtype == torch.uint64:
        seed = seed.view(torch.int64)
    wide = seed.to(torch.int64)
    high = wide >> 32 if seed.dtype == torch.int64 else torch.zeros_like(wide)
    return torch.stack([high, wide], dim=-1).to(torch.int32).view(torch.uint32)


def split(key: Array, /, num: Any = 2) -> Array:
    return torch.stack(words(key, num), dim=-1).view(torch.uint32)


def fold_in(key: Array, /, data: Array | int) -> Array:
    if isinstance(data, int):
        data = torch.tensor(data, dtype=torch.int64, device=key.device)
    elif data.dtype == torch.uint64:
        data = data.view(torch.int64)
    low = data.to(torch.int64).to(torch.int32).unsqueeze(-1)
    return torch.cat(_hashed(key, torch.zeros_like(low), low), dim=-1).view(torch.uint32)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    x, y = words(key, shape)
    if dtype == torch.uint64:
        return ((x.to(torch.int64) << 32) | (y.to(torch.int64) & 0xFFFFFFFF)).view(dtype)
    both = x ^ y
    if dtype == torch.uint32:
        return both.view(dtype)
    return both.to(torch.uint8) if dtype == torch.uint8 else both.to(torch.int16).view(dtype)


def words(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the two words of each place in an array of a shape, as int32."""
    size = math.prod(shape)
    places = torch.arange(size, dtype=torch.int64 if size > 2**31 else torch.int32, device=key.device)
    high = (places >> 32).to(torch.int32) if size > 2**32 else torch.zeros((1,), dtype=torch.int32, device=key.device)
    x, y = _hashed(key, high, places.to(torch.int32))
    return x.reshape(shape), y.reshape(shape)


def _hashed(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    first, second = key[0:1].view(torch.int32), key[1:2].view(torch.int32)
    schedule = (first, second, first ^ second ^ PARITY)
    x, y = high + first, low + second
    for i in range(5):
        for places in ROTATIONS[i % 2]:
            x = x + y
            y = x ^ _rotated(y, places)
        x = x + schedule[(i + 1) % 3]
        y = y + (schedule[(i + 2) % 3] + (i + 1))
    return x, y


def _rotated(x: Array, places: int) -> Array:
    # What comes in from the left has copies of the sign.
    return (x << places) | ((x >> (32 - places)) & ((1 << places) - 1))
