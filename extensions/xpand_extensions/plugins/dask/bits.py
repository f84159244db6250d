"""The bits of integers on Dask: each block by its own library."""

from typing import Any

import dask.array as da

import xpand.dask.array as xp
from xpand.extend import DType, LibraryArray as Array
from xpand_extensions import bits as facade
from xpand_extensions.arithmetic import element_width


def bitcast(x: Array, /, dtype: DType) -> Array:
    old, new = element_width(xp, x.dtype), element_width(xp, dtype)
    if old == new:
        return x.map_blocks(facade.bitcast, dtype, dtype=dtype)
    if new < old:
        return x.map_blocks(facade.bitcast, dtype, dtype=dtype, new_axis=x.ndim, chunks=(*x.chunks, (old // new,)))
    whole = x.rechunk({x.ndim - 1: -1})
    return whole.map_blocks(facade.bitcast, dtype, dtype=dtype, drop_axis=x.ndim - 1, chunks=whole.chunks[:-1])


def population_count(x: Array, /) -> Array:
    return x.map_blocks(facade.population_count, dtype=x.dtype)


def count_leading_zeros(x: Array, /) -> Array:
    return x.map_blocks(facade.count_leading_zeros, dtype=x.dtype)


def shift_left(x: Array, n: Array, /) -> Array:
    return _blocks(facade.shift_left, x, n)


def shift_right(x: Array, n: Array, /) -> Array:
    return _blocks(facade.shift_right, x, n)


def shift_right_logical(x: Array, n: Array, /) -> Array:
    return _blocks(facade.shift_right_logical, x, n)


def _blocks(function: Any, x: Array, n: Array) -> Array:
    return da.map_blocks(function, x, n, dtype=x.dtype)
