"""Order among values on Dask: the block's library runs each function on one block along the axis."""

import math
from typing import Any

import dask
import dask.array as da

from xpand.extend import DType, LibraryArray as Array
from xpand_extensions import sorting
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import sorting as generic
from xpand_extensions.sorting import Side, TopK

_INDICES = "int64"


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    options = {"k": k, "axis": axis, "largest": largest}
    return TopK(
        _along(x, axis, _top_k_part, k, x.dtype, part=0, **options),
        _along(x, axis, _top_k_part, k, _INDICES, part=1, **options),
    )


def _top_k_part(block: Array, *, k: int, axis: int, largest: bool, part: int) -> Array:
    return sorting.top_k(block, k, axis=axis, largest=largest)[part]


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return _along(x, axis, sorting.partition, x.shape[axis], x.dtype, kth, axis=axis)


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return _along(x, axis, sorting.argpartition, x.shape[axis], _INDICES, kth, axis=axis)


def _along(x: Array, position: int, function: Any, size: int, dtype: DType, /, *args: Any, **options: Any) -> Array:
    """Apply a function to blocks that hold a whole axis. The size of this axis changes."""
    x = x.rechunk({position: -1})
    chunks = tuple((size,) if i == position else sizes for i, sizes in enumerate(x.chunks))
    meta = da.utils.meta_from_array(x, dtype=dtype)
    return da.map_blocks(function, x, *args, chunks=chunks, meta=meta, **options)


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    lead: tuple[int, ...] = tuple(range(1, x2.ndim + 1))
    if x1.ndim > 1:
        shape = da.core.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
        x1, x2 = da.broadcast_to(x1, (*shape, x1.shape[-1])), da.broadcast_to(x2, (*shape, x2.shape[-1]))
        sorter = None if sorter is None else da.broadcast_to(sorter, x1.shape)
        lead = tuple(range(1, x2.ndim + 1))
    axes = (*lead[:-1], 0) if x1.ndim > 1 else (0,)
    arrays: tuple[Any, ...] = (x2, lead, x1.rechunk({-1: -1}), axes)
    if sorter is not None:
        arrays = (*arrays, sorter.rechunk({-1: -1}), axes)
    meta = da.utils.meta_from_array(x2, dtype=_INDICES)
    return da.blockwise(_search, lead, *arrays, side=side, concatenate=True, meta=meta)


def _search(x2: Array, x1: Array, sorter: Array | None = None, *, side: Side) -> Array:
    return sorting.searchsorted(x1, x2, side=side, sorter=sorter)


@forwards_to(generic.unique)
def unique(x: Array, /, *, axis: int | None = None, size: int | None = None, **options: Any) -> Any:
    """Find unique values in one task, which needs all elements."""
    return_index, return_inverse, return_counts = (options[f"return_{name}"] for name in ("index", "inverse", "counts"))
    many = return_index or return_inverse or return_counts
    (block,) = x.rechunk(-1).to_delayed().reshape(-1)
    compute = dask.delayed(sorting.unique, nout=1 + return_index + return_inverse + return_counts)
    found = compute(block, axis=axis, size=size, **options)
    number = math.nan if size is None else size
    along = (number,) if axis is None else (*x.shape[:axis], number, *x.shape[axis + 1 :])
    inverse = x.shape if axis is None else (x.shape[axis],)
    wanted = [(along, x.dtype)]
    wanted += [((number,), _INDICES)] * return_index
    wanted += [(inverse, _INDICES)] * return_inverse
    wanted += [((number,), _INDICES)] * return_counts
    parts = tuple(found) if many else (found,)
    results = tuple(
        da.from_delayed(part, shape, meta=da.utils.meta_from_array(x, ndim=len(shape), dtype=dtype))
        for part, (shape, dtype) in zip(parts, wanted)
    )
    return results if many else results[0]
