"""Random numbers of many keys at once for any library, one of each key.

The implementations of `bits` and `split` take several keys, an array of shape (…, 2), where the facades take one.
"""

import math

from xpand import array_namespace
from xpand._typing import Array, DType

from .._random_keys import bits
from .._random_keys import split as _split
from ._random_normal import lowest, normal_of


def split(keys: Array, count: int) -> Array:
    """Make keys of shape (…, count, 2)."""
    return _split.native(keys)(keys, (count,))


def uniform(keys: Array, dtype: DType, shape: tuple[int, ...] = ()) -> Array:
    """Make numbers from 0 to below 1, of shape (…, *shape)."""
    xp = array_namespace(keys)
    info = xp.finfo(dtype)
    mantissa = -round(math.log2(float(info.eps)))
    width = 8 if mantissa < 8 else info.bits
    words = bits.native(keys)(keys, shape, getattr(xp, f"uint{width}"))
    return xp.astype(xp.bitwise_right_shift(words, width - mantissa), dtype) * 2.0**-mantissa


def normal(keys: Array, dtype: DType) -> Array:
    """Make normal numbers, of shape (…)."""
    xp = array_namespace(keys)
    least = lowest(float(xp.finfo(dtype).eps))
    return normal_of(xp, uniform(keys, dtype) * (1.0 - least) + least, dtype)
