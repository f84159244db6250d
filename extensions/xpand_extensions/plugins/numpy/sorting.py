"""Order among values on NumPy: its selection, which takes no sort, and its bisection row by row."""

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic import sorting as generic
from xpand_extensions.generic._selection import select
from xpand_extensions.sorting import Side, TopK


def top_k(x: Array, k: int, /, *, axis: int = -1, largest: bool = True) -> TopK:
    size = x.shape[axis]
    if not 0 < k < size:
        return generic.top_k(x, k, axis=axis, largest=largest)
    moved = np.moveaxis(x, axis, -1)
    position = size - k if largest else k - 1
    # Only values are partitioned: twice as fast as the indices, as NumPy has vector instructions for it.
    threshold = np.partition(moved, position, axis=-1)[..., position : position + 1]
    if np.isnan(threshold).any():
        return generic.top_k(x, k, axis=axis, largest=largest)
    indices = select(moved, threshold, k, largest=largest)
    few = np.take_along_axis(moved, indices, axis=-1)
    values: Array
    values, order = generic.top_k(few, k, axis=few.ndim - 1, largest=largest)
    indices = np.take_along_axis(indices, order, axis=-1)
    return TopK(np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis))


partition = np.partition
argpartition = np.argpartition


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    if x1.ndim == 1:
        return np.asarray(np.searchsorted(x1, x2, side, sorter))
    lead = np.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
    out = np.zeros((*lead, x2.shape[-1]), dtype=np.intp)
    x1 = np.broadcast_to(x1, (*lead, x1.shape[-1]))
    x2 = np.broadcast_to(x2, out.shape)
    sorter = None if sorter is None else np.broadcast_to(sorter, x1.shape)
    for row in np.ndindex(lead):
        out[row] = np.searchsorted(x1[row], x2[row], side, None if sorter is None else sorter[row])
    return out
