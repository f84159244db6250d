"""Keys and bits on NumPy."""

import math
from typing import Any, Final

import numpy as np

from xpand.extend import DType
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.random import _keys as generic

from ._blocks import Finish, both_words, double_word, fill, hash_one, one_word

_UINT64: Final = np.dtype(np.uint64)


def split(key: Array, /, num: Any = 2) -> Array:
    return made(key, num, np.dtype(np.uint32), both_words, (2,))


def fold_in(key: Array, /, data: Array | int) -> Array:
    if key.ndim > 1 or getattr(data, "ndim", 0):
        return generic.fold_in(key, data)
    first, second = key.tolist()
    return np.array(hash_one((first, second), int(data) & 0xFFFFFFFF), dtype=np.uint32)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return made(key, shape, dtype, double_word if dtype == _UINT64 else one_word)


def made(key: Array, shape: tuple[int, ...], dtype: Any, finish: Finish, each: tuple[int, ...] = ()) -> Any:
    """Make the numbers of a key, or of several: an array of shape (…, *shape, *each)."""
    out = np.empty((math.prod(key.shape[:-1]), math.prod(shape), *each), dtype=dtype)
    for (first, second), row in zip(key.reshape(-1, 2).tolist(), out):
        fill((first, second), row, finish)
    return out.reshape((*key.shape[:-1], *shape, *each))
