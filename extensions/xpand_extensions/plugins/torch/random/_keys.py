"""Threefry-2x32 on PyTorch, which has few functions of uint32: with the same bits as int32.

NumPy hashes concrete keys on the CPU, block by block, into the memory of tensors.
"""

import math
from typing import Any

import numpy as np
import torch

from xpand.extend import DType
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced
from xpand_extensions.generic.random._keys import PARITY, ROTATIONS

from ...numpy.random import _blocks as blocks
from .._plain import is_plain
from .._unsigned import SIGNED


def key_of_seed(seed: Array, /) -> Array:
    wide = _int64(seed)
    high = wide >> 32 if seed.dtype.itemsize == 8 else torch.zeros_like(wide)
    return torch.stack([high, wide], dim=-1).to(torch.int32).view(torch.uint32)


def _int64(x: Array) -> Array:
    return x.view(torch.int64) if x.dtype == torch.uint64 else x.to(torch.int64)


def is_on_host(key: Array) -> bool:
    """Tell whether NumPy can compute the numbers of a key, now or when the compiled program runs."""
    if key.device.type != "cpu":
        return False
    return is_traced() or is_plain(key) or not private.is_wrapped(key)


def made_on_host(key: Array, shape: tuple[int, ...], dtype: DType, finish: blocks.Finish, *each: int) -> Array:
    """Make the numbers of a key that is on the host: a tensor of shape (*shape, *each)."""
    full = [*shape, *each]
    if not is_plain(key):
        return _made(key, full, len(shape), dtype, finish.__name__)
    return _filled(key, full, len(shape), dtype, finish)


def _filled(key: Array, full: list[int], axes: int, dtype: DType, finish: blocks.Finish) -> Array:
    first, second = key.tolist()
    # NumPy's data types have the names of PyTorch's. (Memory of a tensor may be out of reach inside `torch.func`.)
    out: Any = np.empty((math.prod(full[:axes]), *full[axes:]), dtype=str(dtype).removeprefix("torch."))
    blocks.fill((first, second), out, finish)
    return torch.from_numpy(out.reshape(full))


# One operation of a graph: TorchInductor takes minutes to fuse the hundred operations of hashing.
@torch.library.custom_op("xpand::random", mutates_args=())  # type: ignore[untyped-decorator]
def _made(key: torch.Tensor, full: list[int], axes: int, dtype: torch.dtype, finish: str) -> torch.Tensor:
    return _filled(key, full, axes, dtype, getattr(blocks, finish))


@_made.register_fake  # type: ignore[untyped-decorator]
def _(key: Any, full: Any, axes: int, dtype: DType, finish: str) -> Array:
    return torch.empty(full, dtype=dtype, device=key.device)


@_made.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: Any, key: Array, full: Any, axes: int, dtype: DType, finish: str) -> Any:
    rows = [_made(each, full, axes, dtype, finish) for each in key.movedim(in_dims[0], 0).unbind()]
    found = torch.stack([x.view(SIGNED.get(dtype, dtype)) for x in rows]) if rows else None
    return (key.new_empty((0, *full), dtype=dtype) if found is None else found.view(dtype)), 0


def split(key: Array, /, num: Any = 2) -> Array:
    if is_on_host(key):
        return made_on_host(key, num, torch.uint32, blocks.both_words, 2)
    return torch.stack(words(key, num), dim=-1).view(torch.uint32)


def fold_in(key: Array, /, data: Array | int) -> Array:
    if isinstance(data, int):
        data = torch.full((), data, dtype=torch.int64, device=key.device)
    data = _int64(data)
    if is_on_host(key) and is_on_host(data):
        return _folded(key, data)
    low = data.to(torch.int32).unsqueeze(-1)
    return torch.cat(_hashed(key, torch.zeros_like(low), low), dim=-1).view(torch.uint32)


@torch.library.custom_op("xpand::fold_in", mutates_args=())  # type: ignore[untyped-decorator]
def _folded(key: torch.Tensor, data: torch.Tensor) -> torch.Tensor:
    first, second = key.tolist()
    return torch.tensor(blocks.hash_one((first, second), int(data) & 0xFFFFFFFF), dtype=torch.uint32)


@_folded.register_fake  # type: ignore[untyped-decorator]
def _(key: Any, data: Any) -> Array:
    return torch.empty((2,), dtype=torch.uint32, device=key.device)


@_folded.register_vmap  # type: ignore[untyped-decorator]
def _(info: Any, in_dims: Any, key: Array, data: Array) -> Any:
    given = ((key, in_dims[0]), (data, in_dims[1]))
    keys, numbers = (x.expand(info.batch_size, *x.shape) if d is None else x.movedim(d, 0) for x, d in given)
    return torch.stack([_folded(*each).view(torch.int32) for each in zip(keys, numbers)]).view(torch.uint32), 0


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    if is_on_host(key):
        return made_on_host(key, shape, dtype, blocks.double_word if dtype == torch.uint64 else blocks.one_word)
    x, y = words(key, shape)
    if dtype == torch.uint64:
        return ((x.to(torch.int64) << 32) | (y.to(torch.int64) & 0xFFFFFFFF)).view(dtype)
    both = x ^ y
    if dtype == torch.uint32:
        return both.view(dtype)
    return both.to(torch.uint8) if dtype == torch.uint8 else both.to(torch.int16).view(dtype)


def words(key: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the two words of each position in an array of a shape, as int32; of several keys, of shape (…, *shape)."""
    x, y = _hashed(key, *counters(key, 0, math.prod(shape)))
    full = (*key.shape[:-1], *shape)
    return x.reshape(full), y.reshape(full)


def counters(key: Array, start: int, stop: int) -> tuple[Array, Array]:
    """Make the counters of a range: their upper words, and their lower words, as int32."""
    if stop <= 2**31:
        low = torch.arange(start, stop, dtype=torch.int32, device=key.device)
        return torch.zeros((1,), dtype=torch.int32, device=key.device), low
    positions = torch.arange(start, stop, dtype=torch.int64, device=key.device)
    return (positions >> 32).to(torch.int32), positions.to(torch.int32)


def _hashed(key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    first, second = key[..., 0:1].view(torch.int32), key[..., 1:2].view(torch.int32)
    schedule = (first, second, first ^ second ^ PARITY)
    x, y = high + first, low + second
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            x = x + y
            y = x ^ _rotated(y, positions)
        x = x + schedule[(i + 1) % 3]
        y = y + (schedule[(i + 2) % 3] + (i + 1))
    return x, y


def _rotated(x: Array, positions: int) -> Array:
    # What comes in from the left has copies of the sign.
    return (x << positions) | ((x >> (32 - positions)) & ((1 << positions) - 1))
