"""Random numbers on NumPy of many keys, one each, or at some of the positions of an array, for trials.

The functions work on parts of an array that stay in a processor's cache; words are arrays of uint32 of one axis.
"""

from typing import Any, Final, TypeAlias

import numpy as np

from xpand_extensions.generic.random._keys import PARITY, ROTATIONS

from ._blocks import NORMAL, UNIFORM

Words: TypeAlias = tuple[Any, Any]
"""The two words of a key for each element, or, as arrays of one element, of one key."""

DTYPES: Final = tuple(UNIFORM)
"""The data types of numbers that can be made."""


def hashed(key: Words, low: Any = 0, high: Any = 0) -> Words:
    """Return Threefry's output for counters, given by their words, under keys."""
    schedule = key[0], key[1], key[0] ^ key[1] ^ np.uint32(PARITY)
    x, y = np.broadcast_arrays(schedule[0] + high, schedule[1] + low)
    # Either may be a view of a single number.
    x, y = np.array(x), np.array(y)
    rest = np.empty_like(x)
    for i in range(5):
        for positions in ROTATIONS[i % 2]:
            np.add(x, y, out=x)
            np.right_shift(y, 32 - positions, out=rest)
            np.left_shift(y, positions, out=y)
            np.bitwise_or(y, rest, out=y)
            np.bitwise_xor(y, x, out=y)
        x += schedule[(i + 1) % 3]
        y += schedule[(i + 2) % 3]
        y += np.uint32(i + 1)
    return x, y


def uniform(key: Words, dtype: Any, low: Any = 0, high: Any = 0) -> Any:
    """Make numbers from 0 to below 1."""
    first, second = hashed(key, low, high)
    result = np.empty(first.shape, dtype)
    UNIFORM[dtype](first, second, result)
    return result


def normal(key: Words, dtype: Any) -> Any:
    """Make normal numbers."""
    first, second = hashed(key)
    result = np.empty(first.shape, dtype)
    NORMAL[dtype](first, second, result)
    return result


def taken(words: Words, positions: Any) -> Words:
    """Take the words at some positions."""
    return words[0][positions], words[1][positions]
