"""Order among values on Dask: the block's library runs each function on one block along the axis."""

import math
from typing import Any

import numpy as np

from xpand.dask.array._blocks import along_axis, gather, map_core
from xpand.extend import LibraryArray as Array
from xpand_extensions import sorting
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import sorting as generic
from xpand_extensions.sorting import Side, TopK

_INDICES = np.dtype(np.int64)


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    parts = enumerate((x.dtype, _INDICES))
    return TopK(*[along_axis(_top_k, x, axis, dtype=d, size=k, k=k, largest=largest, part=i) for i, d in parts])


def _top_k(block: Array, *, k: int, axis: int, largest: bool, part: int) -> Array:
    return sorting.top_k(block, k, axis=axis, largest=largest)[part]


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return along_axis(sorting.partition, x, axis, dtype=x.dtype, kth=kth)


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return along_axis(sorting.argpartition, x, axis, dtype=_INDICES, kth=kth)


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    ndim = max(x1.ndim, x2.ndim) if x1.ndim > 1 else x2.ndim
    output = tuple(range(1, ndim + 1))
    along = (*output[ndim - x1.ndim : -1], 0) if x1.ndim > 1 else (0,)
    arrays = [(x2, output[ndim - x2.ndim :]), (x1, along), *([] if sorter is None else [(sorter, along)])]
    return gather(_search, output, *arrays, dtype=_INDICES, side=side)


def _search(x2: Array, x1: Array, sorter: Array | None = None, *, side: Side) -> Array:
    return sorting.searchsorted(x1, x2, side=side, sorter=sorter)


@forwards_to(generic.unique)
def unique(x: Array, /, *, axis: int | None = None, size: int | None = None, **options: Any) -> Any:
    """Find unique values in one task, which needs all elements."""
    number = math.nan if size is None else size
    of_input = x.shape if axis is None else (x.shape[axis],)
    outputs = [((number,) if axis is None else (*x.shape[:axis], number, *x.shape[axis + 1 :]), x.dtype)]
    outputs += [((number,), _INDICES)] * options["return_index"]
    outputs += [(of_input, _INDICES)] * options["return_inverse"]
    outputs += [((number,), _INDICES)] * options["return_counts"]
    found = map_core(sorting.unique, [x], [x.ndim], outputs, axis=axis, size=size, **options)
    return found if len(found) > 1 else found[0]
