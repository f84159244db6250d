"""Random bits and numbers on Dask: each chunk those of its counters, made by NumPy."""

import math
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np

from xpand._typing import Array, DType
from xpand_extensions.generic import _random_uniform as generic
from xpand_extensions.generic._random_scaled import scaled

from ..numpy import _random_blocks as blocks
from ..numpy._random_uniform import NORMAL, UNIFORM


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return _chunked(key, shape, dtype, blocks.double_word if dtype.itemsize == 8 else blocks.one_word)


def uniform(
    key: Array,
    /,
    shape: Any = (),
    dtype: DType | None = None,
    minval: Array | float = 0.0,
    maxval: Array | float = 1.0,
) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in UNIFORM:
        return generic.uniform(key, shape, dtype, minval, maxval)
    return scaled(key, _chunked(key, shape, dtype, UNIFORM[dtype]), minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return _chunked(key, shape, dtype, NORMAL[dtype]) if dtype in NORMAL else generic.normal(key, shape, dtype)


def _chunked(key: Array, shape: tuple[int, ...], dtype: Any, finish: Callable[..., None]) -> Array:
    """Make the numbers of an array's places in the order of its rows, then give them its shape."""
    size = math.prod(shape)
    if not size:
        return da.zeros(shape, dtype=dtype)
    row = size // shape[0] if shape else 1
    # Whole rows, so that no chunk is cut by the shape.
    (sizes,) = da.core.normalize_chunks("auto", shape=(size,), dtype=dtype)
    length = min(size, max(sizes[0] // row, 1) * row)
    starts = da.arange(0, size, length, chunks=1, dtype=np.int64)
    chunks = ((*(length,) * (size // length), *((size % length,) if size % length else ())),)
    flat = da.map_blocks(
        _chunk,
        starts,
        key.rechunk(-1),
        length,
        size,
        dtype,
        finish,
        chunks=chunks,
        dtype=dtype,
        meta=np.empty(0, dtype),
    )
    return flat.reshape(shape)


def _chunk(start: Any, key: Any, length: int, size: int, dtype: Any, finish: Callable[..., None]) -> Any:
    first = int(start[0])
    out = np.empty(min(length, size - first), dtype=dtype)
    low, high = key.tolist()
    blocks.fill((low, high), out, finish, first)
    return out
