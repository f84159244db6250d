"""The bits of integers on Dask: each block by its own library."""

import xpand.dask.array as xp
from xpand.dask.array._blocks import by_blocks
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


population_count = by_blocks(facade.population_count)
count_leading_zeros = by_blocks(facade.count_leading_zeros)
shift_left = by_blocks(facade.shift_left)
shift_right = by_blocks(facade.shift_right)
shift_right_logical = by_blocks(facade.shift_right_logical)
