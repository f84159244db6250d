"""The bits of integers on Dask: each block by its own library."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import dask.array as da

import xpand.dask.array as xp
from xpand.extend import DType, LibraryArray as Array
from xpand_extensions import bits as facade
from xpand_extensions.arithmetic import element_width

F = TypeVar("F", bound=Callable[..., Any])


def bitcast(x: Array, /, dtype: DType) -> Array:
    old, new = element_width(xp, x.dtype), element_width(xp, dtype)
    if old == new:
        return x.map_blocks(facade.bitcast, dtype, dtype=dtype)
    if new < old:
        return x.map_blocks(facade.bitcast, dtype, dtype=dtype, new_axis=x.ndim, chunks=(*x.chunks, (old // new,)))
    whole = x.rechunk({x.ndim - 1: -1})
    return whole.map_blocks(facade.bitcast, dtype, dtype=dtype, drop_axis=x.ndim - 1, chunks=whole.chunks[:-1])


def _by_blocks(function: F) -> F:
    """Return a function that applies `function` to blocks."""

    @wraps(function)
    def run(x: Array, *others: Array) -> Any:
        return da.map_blocks(function, x, *others, dtype=x.dtype)

    return run  # type: ignore[return-value]


population_count = _by_blocks(facade.population_count)
count_leading_zeros = _by_blocks(facade.count_leading_zeros)
shift_left = _by_blocks(facade.shift_left)
shift_right = _by_blocks(facade.shift_right)
shift_right_logical = _by_blocks(facade.shift_right_logical)
