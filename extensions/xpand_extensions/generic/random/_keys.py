"""Threefry-2x32 and keys for any library, with the standard's operations on uint32.

Functions take keys of shape (…, 2), and each key makes a row of the result. So `vmap` is one call.
"""

import math
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks

from ...arithmetic import integer_width
from ...random._keys import split_each as split_each_
from ._normal import lowest, normal_of

ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
PARITY: Final = 0x1BD11BDA


def key_of_seed(seed: Array, /) -> Array:
    xp = array_namespace(seed)
    low = lowest_word(xp, seed)
    if integer_width(xp, seed.dtype) < 64:
        return xp.stack([xp.zeros_like(low), low], axis=-1)
    return xp.stack([lowest_word(xp, xp.bitwise_right_shift(seed, 32)), low], axis=-1)


def lowest_word(xp: Namespace, x: Array) -> Array:
    """Return the lowest 32 bits of integers, in two's complement."""
    if integer_width(xp, x.dtype) < 64:
        x = xp.astype(x, xp.int64)
    return xp.astype(xp.bitwise_and(x, 0xFFFFFFFF), xp.uint32)


def key_data(key: Array, /) -> Array:
    return key


def hashed(xp: Namespace, keys: Array, high: Array | None, low: Array) -> tuple[Array, Array]:
    """Apply Threefry-2x32 to counters.

    Args:
        xp: The namespace.
        keys: Of shape (…, 2).
        high: The upper words of the counters, of shape (n,); None: 0.
        low: The lower words.

    Returns:
        Both words for each, of shape (…, n).
    """
    first, second = keys[..., 0:1], keys[..., 1:2]
    schedule = (first, second, xp.bitwise_xor(xp.bitwise_xor(first, second), PARITY))
    x = first if high is None else high + first
    y = low + second
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            x = x + y
            rotated = xp.bitwise_or(xp.bitwise_left_shift(y, positions), xp.bitwise_right_shift(y, 32 - positions))
            y = xp.bitwise_xor(x, rotated)
        x = x + schedule[(i + 1) % 3]
        y = y + (schedule[(i + 2) % 3] + (i + 1))
    return x, y


def counters(xp: Namespace, keys: Array, start: int, stop: int) -> tuple[Array | None, Array]:
    """Make the counters of a range: their upper words, or None if all are 0, and their lower words."""
    device = checks.device_of(keys)
    if stop <= 2**32:
        return None, xp.astype(xp.arange(start, stop, dtype=xp.int64, device=device), xp.uint32)
    positions = xp.arange(start, stop, dtype=xp.int64, device=device)
    return xp.astype(xp.bitwise_right_shift(positions, 32), xp.uint32), xp.astype(
        xp.bitwise_and(positions, 0xFFFFFFFF), xp.uint32
    )


def words(xp: Namespace, keys: Array, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Return the two words of each position, both of shape (…, *shape)."""
    x, y = hashed(xp, keys, *counters(xp, keys, 0, math.prod(shape)))
    full = (*keys.shape[:-1], *shape)
    return xp.reshape(x, full), xp.reshape(y, full)


def split(key: Array, /, num: Any = 2) -> Array:
    xp = array_namespace(key)
    return xp.stack(words(xp, key, num), axis=-1)


def fold_in(key: Array, /, data: Array | int) -> Array:
    xp = array_namespace(key)
    if isinstance(data, int):
        low = xp.asarray([data], dtype=xp.uint32, device=checks.device_of(key))
    else:
        low = xp.expand_dims(lowest_word(xp, data), axis=-1)
    return xp.concat(hashed(xp, key, None, low), axis=-1)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    x, y = words(xp, key, shape)
    width = integer_width(xp, dtype)
    if width == 64:
        return xp.bitwise_or(xp.bitwise_left_shift(xp.astype(x, dtype), 32), xp.astype(y, dtype))
    both = xp.bitwise_xor(x, y)
    return both if width == 32 else xp.astype(xp.bitwise_and(both, 2**width - 1), dtype)


def split_each(keys: Array, /, *, num: int) -> Array:
    xp = array_namespace(keys)
    return xp.stack(hashed(xp, keys, *counters(xp, keys, 0, num)), axis=-1)


def uniform(keys: Array, dtype: DType) -> Array:
    """Make one number from 0 to below 1 from each key."""
    return uniforms(keys, dtype, 1)[..., 0]


def uniforms(keys: Array, dtype: DType, count: int) -> Array:
    """Make several numbers from each key, along a last axis."""
    xp = array_namespace(keys)
    info = xp.finfo(dtype)
    mantissa = -round(math.log2(float(info.eps)))
    # Convert to signed integers, for which all libraries have all functions.
    words = xp.astype(split_each_(keys, num=count), xp.int64)
    first, second = words[..., 0], words[..., 1]
    if info.bits == 64:
        bits = first * 2**20 + xp.bitwise_right_shift(second, 12)
    else:
        width = 8 if mantissa < 8 else info.bits
        mask = xp.full_like(first, 2**width - 1)
        bits = xp.bitwise_right_shift(xp.bitwise_and(xp.bitwise_xor(first, second), mask), width - mantissa)
    return xp.astype(bits, dtype) * 2.0**-mantissa


def normal(keys: Array, dtype: DType) -> Array:
    """Make one normal number from each key."""
    xp = array_namespace(keys)
    least = lowest(float(xp.finfo(dtype).eps))
    return normal_of(xp, uniform(keys, dtype) * (1.0 - least) + least, dtype)
