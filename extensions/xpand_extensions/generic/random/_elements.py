"""Random numbers of many keys at once for any library: arrays of keys have the shape (…, 2)."""

import math

from xpand import array_namespace
from xpand.extend import Array, DType

from ...random._elements import split_each as split_each_
from ._keys import counters, hashed
from ._normal import lowest, normal_of


def split_each(keys: Array, /, *, num: int) -> Array:
    xp = array_namespace(keys)
    return xp.stack(hashed(xp, keys, *counters(xp, keys, 0, num)), axis=-1)


def uniform(keys: Array, dtype: DType) -> Array:
    """Make a number from 0 to below 1 of each key."""
    return uniforms(keys, dtype, 1)[..., 0]


def uniforms(keys: Array, dtype: DType, count: int) -> Array:
    """Make several numbers of each key, along a last axis."""
    xp = array_namespace(keys)
    info = xp.finfo(dtype)
    mantissa = -round(math.log2(float(info.eps)))
    # As signed integers, of which all libraries have all functions.
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
    """Make a normal number of each key."""
    xp = array_namespace(keys)
    least = lowest(float(xp.finfo(dtype).eps))
    return normal_of(xp, uniform(keys, dtype) * (1.0 - least) + least, dtype)
