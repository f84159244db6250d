"""Random numbers on NumPy of many keys, one each, or at some of the places of an array: what trials are made of.

The functions work on parts of an array that stay in a processor's cache; words are one-dimensional arrays of uint32.
"""

from typing import Any, Final

import numpy as np

from xpand_extensions import special

Words = tuple[Any, Any]
"""The two words of a key for each element, or (arrays of one element) of one key."""

AT_ONCE: Final = 2**13
"""How many elements are worked on at once."""
_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = np.uint32(0x1BD11BDA)
# The unsigned type of the same width, how many bits of it are no part of the mantissa, and those of 1.
_LAYOUTS: Final[dict[Any, tuple[Any, int, Any]]] = {
    np.dtype(np.float16): (np.uint16, 6, np.uint16(0x3C00)),
    np.dtype(np.float32): (np.uint32, 9, np.uint32(0x3F800000)),
    np.dtype(np.float64): (np.uint64, 12, np.uint64(0x3FF0000000000000)),
}


def hashed(key: Words, low: Any = 0, high: Any = 0) -> Words:
    """Return what Threefry makes of counters, given by their words, under keys."""
    words = key[0], key[1], key[0] ^ key[1] ^ _PARITY
    x, y = words[0] + high, words[1] + low
    if x.shape != y.shape:
        x, y = x + np.zeros_like(y), y + np.zeros_like(x)
    rest = np.empty_like(x)
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            np.add(x, y, out=x)
            np.right_shift(y, 32 - rotation, out=rest)
            np.left_shift(y, rotation, out=y)
            np.bitwise_or(y, rest, out=y)
            np.bitwise_xor(y, x, out=y)
        x += words[(i + 1) % 3]
        y += words[(i + 2) % 3]
        y += np.uint32(i + 1)
    return x, y


def uniform(key: Words, dtype: Any, low: Any = 0, high: Any = 0) -> Any:
    """Make uniform numbers of a data type from 0 to 1."""
    first, second = hashed(key, low, high)
    unsigned, surplus, one = _LAYOUTS[dtype]
    if unsigned is np.uint64:
        bits = first.astype(np.uint64)
        bits <<= 32
        bits |= second
    else:
        first ^= second
        bits = first.astype(unsigned, copy=False)
    bits >>= surplus
    bits |= one
    result = bits.view(dtype)
    result -= 1
    return result


def normal(key: Words, dtype: Any) -> Any:
    """Make a normal number of each key."""
    u = uniform(key, dtype)
    lowest = np.nextafter(dtype.type(-1), dtype.type(0))
    u *= 1 - lowest
    u += lowest
    return special.erfinv(np.maximum(u, lowest, out=u)) * dtype.type(np.sqrt(2.0))


def taken(words: Words, places: Any) -> Words:
    """Take the words at some places."""
    return words[0][places], words[1][places]
