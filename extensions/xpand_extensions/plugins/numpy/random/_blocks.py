"""Threefry-2x32 on NumPy, in blocks that stay in the cache, without temporary arrays.

A block is a hundred passes of NumPy's functions of uint32, which take eight or sixteen at a time, over three buffers.
The size of a block, measured on 1e7 numbers: 8,192 take 1.7 times as long, 16,384 1.2 times, 65,536 as long.
"""

import math
import sys
from collections.abc import Callable
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np

from xpand.extend import DType, LibraryArray as Array
from xpand_extensions.generic.random import _keys as keys, _uniform as generic
from xpand_extensions.generic.random._continuous import scaled
from xpand_extensions.generic.random._keys import PARITY, ROTATIONS
from xpand_extensions.generic.random._normal import PIECES, evaluated

Words: TypeAlias = "np.ndarray[Any, np.dtype[np.uint32]]"
Finish: TypeAlias = Callable[[Words, Words, Any], None]
"""Writes numbers into a part of the result, from two words for each number. It may overwrite the words."""

BLOCK: Final = 32_768
FEW: Final = 256
"""Up to this number of values, Python integers are faster."""
_MASK: Final = 0xFFFFFFFF
_LOW, _HIGH = (0, 1) if sys.byteorder == "little" else (1, 0)


def fill(key: tuple[int, int], out: Any, finish: Finish, start: int = 0) -> None:
    """Write the numbers of a range of counters into an array, along its first axis.

    Args:
        key: The words of the key.
        out: Where to write.
        finish: Makes numbers from words.
        start: The first counter.
    """
    size = out.shape[0]
    if size <= FEW:
        _fill_few(key, out, finish, start)
        return
    block = min(size, BLOCK)
    base = np.arange(block, dtype=np.uint32)
    x, y, scratch = (np.empty(block, dtype=np.uint32) for _ in range(3))
    done = 0
    while done < size:
        high, low = divmod(start + done, 2**32)
        # All numbers of a block have the same upper word.
        count = min(block, size - done, 2**32 - low)
        first, second, third = x[:count], y[:count], scratch[:count]
        _hash(key, high, low, base[:count], first, second, third)
        finish(first, second, out[done : done + count])
        done += count


def _hash(key: tuple[int, int], high: int, low: int, base: Words, x: Words, y: Words, scratch: Words) -> None:
    schedule = (*key, key[0] ^ key[1] ^ PARITY)
    np.add(base, np.uint32(low + schedule[1] & _MASK), out=y)
    x.fill(high + schedule[0] & _MASK)
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            np.add(x, y, out=x)
            np.left_shift(y, np.uint32(positions), out=scratch)
            np.right_shift(y, np.uint32(32 - positions), out=y)
            np.bitwise_or(y, scratch, out=y)
            np.bitwise_xor(x, y, out=y)
        np.add(x, np.uint32(schedule[(i + 1) % 3]), out=x)
        np.add(y, np.uint32(schedule[(i + 2) % 3] + i + 1 & _MASK), out=y)


def hash_one(key: tuple[int, int], counter: int) -> tuple[int, int]:
    """Apply Threefry-2x32 to one counter."""
    return _hash_few(key, counter, 1)


def _hash_few(key: tuple[int, int], start: int, count: int) -> tuple[int, int]:
    """Hash all counters together, as 64-bit lanes of one Python integer. A single call of NumPy takes longer.

    The upper half of each lane collects the carries of sums, so they never reach the next lane.
    """
    ones, steps = _lanes(count)
    mask = _MASK * ones
    counters = start * ones + steps
    schedule = (key[0] * ones, key[1] * ones, (key[0] ^ key[1] ^ PARITY) * ones)
    x = (counters >> 32 & mask) + schedule[0]
    y = (counters & mask) + schedule[1] & mask
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            x += y
            moved = y << positions
            y = ((moved | moved >> 32) ^ x) & mask
        x += schedule[(i + 1) % 3]
        y = y + schedule[(i + 2) % 3] + (i + 1) * ones & mask
    return x & mask, y


@cache
def _lanes(count: int) -> tuple[int, int]:
    """Return two integers: with 1 in each lane, and with 0, 1, 2, … in the lanes."""
    return sum(1 << 64 * i for i in range(count)), sum(i << 64 * i for i in range(count))


def _fill_few(key: tuple[int, int], out: Any, finish: Finish, start: int) -> None:
    count = out.shape[0]
    x, y = _hash_few(key, start, count)
    lanes = (x << 32 | y).to_bytes(8 * count, "little")
    second, first = np.frombuffer(lanes, dtype="<u4").astype(np.uint32).reshape(count, 2).T.copy()
    finish(first, second, out)


# Operations on the words


def both_words(x: Words, y: Words, out: Any) -> None:
    """Write both words, along a last axis of length 2."""
    out[:, 0] = x
    out[:, 1] = y


def one_word(x: Words, y: Words, out: Any) -> None:
    """Combine both words to integers of up to 32 bits."""
    np.bitwise_xor(x, y, out=x)
    out[...] = x


def double_word(x: Words, y: Words, out: Any) -> None:
    """Combine both words to integers of 64 bits."""
    halves = out.view(np.uint32).reshape(-1, 2)
    halves[:, _HIGH] = x
    halves[:, _LOW] = y


def single(x: Words, y: Words, out: Any) -> None:
    """Make float32 from 0 to below 1 from 23 bits."""
    np.bitwise_xor(x, y, out=x)
    np.right_shift(x, np.uint32(9), out=x)
    # The bits of a number from 1 to below 2.
    np.bitwise_or(x, np.uint32(0x3F800000), out=x)
    np.subtract(x.view(np.float32), np.float32(1), out=out)


def double(x: Words, y: Words, out: Any) -> None:
    """Make float64 from 0 to below 1 from 52 bits."""
    halves = out.view(np.uint32).reshape(-1, 2)
    np.right_shift(y, np.uint32(12), out=y)
    np.bitwise_or(y, x << np.uint32(20), out=halves[:, _LOW])
    np.right_shift(x, np.uint32(12), out=x)
    np.bitwise_or(x, np.uint32(0x3FF00000), out=halves[:, _HIGH])
    np.subtract(out, 1.0, out=out)


def normal_single(x: Words, y: Words, out: Any) -> None:
    """Make normal numbers of float32."""
    single(x, y, out)
    _make_normal(out, 32, x.view(np.float32), y.view(np.float32))


def normal_double(x: Words, y: Words, out: Any) -> None:
    """Make normal numbers of float64."""
    double(x, y, out)
    _make_normal(out, 64, np.empty_like(out), np.empty_like(out))


def _make_normal(u: Any, width: int, w: Any, found: Any) -> None:
    """Replace numbers from 0 to below 1 by normal numbers, with two buffers."""
    dtype = u.dtype.type
    # Map to numbers from the next one above -1 to below 1. The product is exact.
    np.multiply(u, dtype(2), out=u)
    np.add(u, dtype(-1.0 + np.finfo(dtype).eps / 2), out=u)
    np.multiply(u, u, out=w)
    np.subtract(dtype(1), w, out=w)
    np.log(w, out=w)
    np.negative(w, out=w)
    first, *others = PIECES[width]
    rare = np.flatnonzero(w >= first.below)
    far = w[rare]
    np.subtract(w, dtype(first.middle), out=w)
    np.multiply(w, dtype(first.coefficients[0]), out=found)
    np.add(found, dtype(first.coefficients[1]), out=found)
    for coefficient in first.coefficients[2:]:
        np.multiply(found, w, out=found)
        np.add(found, dtype(coefficient), out=found)
    for piece in others:
        here = far < piece.below
        found[rare[here]] = evaluated(np, piece, far[here])
        rare, far = rare[~here], far[~here]
    np.multiply(u, found, out=u)
    np.multiply(u, dtype(np.sqrt(2.0)), out=u)


_UINT64: Final = np.dtype(np.uint64)


def split(key: Array, /, num: Any = 2) -> Array:
    return made(key, num, np.dtype(np.uint32), both_words, (2,))


def fold_in(key: Array, /, data: Array | int) -> Array:
    if key.ndim > 1 or getattr(data, "ndim", 0):
        return keys.fold_in(key, data)
    first, second = key.tolist()
    return np.array(hash_one((first, second), int(data) & 0xFFFFFFFF), dtype=np.uint32)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return made(key, shape, dtype, double_word if dtype == _UINT64 else one_word)


def made(key: Array, shape: tuple[int, ...], dtype: Any, finish: Finish, each: tuple[int, ...] = ()) -> Any:
    """Make the numbers of one or several keys: an array of shape (…, *shape, *each)."""
    out = np.empty((math.prod(key.shape[:-1]), math.prod(shape), *each), dtype=dtype)
    for (first, second), row in zip(key.reshape(-1, 2).tolist(), out):
        fill((first, second), row, finish)
    return out.reshape((*key.shape[:-1], *shape, *each))


UNIFORM: Final = {np.dtype(np.float32): single, np.dtype(np.float64): double}
NORMAL: Final = {np.dtype(np.float32): normal_single, np.dtype(np.float64): normal_double}


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in UNIFORM:
        return generic.uniform(key, shape, dtype, minval, maxval)
    return scaled(key, made(key, shape, dtype, UNIFORM[dtype]), minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in NORMAL:
        return generic.normal(key, shape, dtype)
    return made(key, shape, dtype, NORMAL[dtype])
