"""Random numbers on Dask, by chunks."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from xpand.dask.array._blocks import gather
from xpand.extend import Device, DType, LibraryArray as Array, Namespace, namespace_or_default
from xpand_extensions.generic.random import _uniform as generic
from xpand_extensions.generic.random._continuous import scaled
from xpand_extensions.random import _discrete as discrete, _gamma as gammas

from ..numpy.random import _blocks as host
from ..numpy.random._blocks import NORMAL, UNIFORM
from ..numpy.random._native import Source


def native_generator(seed: int, /, *, xp: Namespace | str | None = None, device: Device | None = None) -> Any:
    return Source(da.random.default_rng(seed), namespace_or_default(xp, "native_generator"))


_WORD = np.dtype(np.uint32)


def split(key: Array, /, num: Any = 2) -> Array:
    return _of_keys(key, num, _WORD, host.both_words, (2,))


def fold_in(key: Array, /, data: Array | int) -> Array:
    key = key.rechunk({key.ndim - 1: -1})
    if not isinstance(data, da.Array):
        return key.map_blocks(partial(host.fold_in, data=int(data)), dtype=_WORD, meta=key._meta)
    word = max(key.ndim - 1, data.ndim)
    axes = tuple(range(word + 1))
    operands = (key, axes[word + 1 - key.ndim :]), (data, axes[word - data.ndim : word])
    return gather(host.fold_in, axes, *operands, dtype=_WORD)


def bits(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return _chunked(key, shape, dtype, host.double_word if dtype.itemsize == 8 else host.one_word)


def uniform(key: Array, /, shape: Any = (), dtype: Any = None, minval: Any = 0.0, maxval: Any = 1.0) -> Array:
    dtype = np.dtype(dtype)
    if dtype not in UNIFORM:
        return generic.uniform(key, shape, dtype, minval, maxval)
    return scaled(key, _chunked(key, shape, dtype, UNIFORM[dtype]), minval, maxval)


def normal(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    dtype = np.dtype(dtype)
    return _chunked(key, shape, dtype, NORMAL[dtype]) if dtype in NORMAL else generic.normal(key, shape, dtype)


def _chunked(key: Array, shape: tuple[int, ...], dtype: Any, finish: Callable[..., None]) -> Array:
    """Make the numbers for an array's positions in row-major order, then reshape them."""
    if key.ndim > 1:
        return _of_keys(key, shape, dtype, finish)
    size = math.prod(shape)
    if not size:
        return da.zeros(shape, dtype=dtype)
    row = size // shape[0] if shape else 1
    # Chunks are whole rows, so the shape cuts no chunk.
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


def _of_keys(key: Array, shape: Any, dtype: Any, finish: Callable[..., None], each: tuple[int, ...] = ()) -> Array:
    """Make the numbers of each key. All numbers of a key are in one chunk, with as many keys as fit."""
    lead, new = key.shape[:-1], (*shape, *each)
    chunks = da.core.normalize_chunks((*("auto" for _ in lead), *((n,) for n in new)), (*lead, *new), dtype=dtype)
    axis = len(lead)
    return da.map_blocks(
        partial(host.made, shape=tuple(shape), dtype=dtype, finish=finish, each=each),
        key.rechunk((*chunks[:axis], -1)),
        drop_axis=axis,
        new_axis=list(range(axis, axis + len(new))),
        chunks=chunks,
        dtype=dtype,
        meta=np.empty((0,) * (axis + len(new)), dtype),
    )


def _chunk(start: Any, key: Any, length: int, size: int, dtype: Any, finish: Callable[..., None]) -> Any:
    first = int(start[0])
    out = np.empty(min(length, size - first), dtype=dtype)
    low, high = key.tolist()
    host.fill((low, high), out, finish, first)
    return out


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    return _rows(gammas.gamma_elements, keys, (a,), a.ndim, log_space=log_space)


def poisson_elements(keys: Array, lam: Array, /) -> Array:
    return _rows(discrete.poisson_elements, keys, (lam,), lam.ndim - 1)


def binomial_elements(keys: Array, n: Array, p: Array, /) -> Array:
    return _rows(discrete.binomial_elements, keys, (n, p), p.ndim - 1)


def _rows(function: Any, keys: Array, parameters: tuple[Array, ...], shared: int, **options: Any) -> Array:
    """Call a function with keys and their parameters. Axes after the common ones are in one chunk."""
    last = parameters[-1]
    axes = tuple(range(last.ndim))
    whole = dict.fromkeys(axes[shared:], -1)
    operands = [(x.rechunk(whole) if whole else x, axes) for x in parameters]
    return gather(function, axes, (keys, (*axes[:shared], last.ndim)), *operands, dtype=last.dtype, **options)
