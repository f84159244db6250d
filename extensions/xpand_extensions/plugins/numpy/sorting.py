"""Order among values on NumPy: selection without a sort, and bisection row by row."""

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic import sorting as generic
from xpand_extensions.generic._selection import select
from xpand_extensions.sorting import Side, TopK

_SHORT = 64


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    size = x.shape[axis]
    # A stable sort of short rows takes half the time of a selection.
    if not 0 < k < size or (x.ndim > 1 and size <= _SHORT):
        return generic.top_k(x, k, axis=axis, largest=largest)
    position = size - k if largest else k - 1
    if x.ndim == 1:
        return _top_of_one(x, k, position, largest)
    moved = np.moveaxis(x, axis, -1)
    # Partition values, not indices: NumPy has vector instructions for values, which are twice as fast.
    threshold = np.partition(moved, position, axis=-1)[..., position : position + 1]
    if np.isnan(threshold).any():
        return generic.top_k(x, k, axis=axis, largest=largest)
    indices = select(moved, threshold, k, largest=largest)
    few = np.take_along_axis(moved, indices, axis=-1)
    values: Array
    values, order = generic.top_k(few, k, axis=few.ndim - 1, largest=largest)
    indices = np.take_along_axis(indices, order, axis=-1)
    return TopK(np.moveaxis(values, -1, axis), np.moveaxis(indices, -1, axis))


def _top_of_one(x: Array, k: int, position: int, largest: bool) -> TopK:
    """Select from one axis in few steps, since a step has more overhead than the work on a thousand values."""
    threshold = np.partition(x, position)[position]
    if threshold != threshold:
        return generic.top_k(x, k, axis=0, largest=largest)
    # Find at least `k` positions in ascending order. NaN is above the threshold.
    (candidates,) = (~(x < threshold) if largest else x <= threshold).nonzero()
    values = x[candidates]
    if largest:
        # Reverse twice to preserve the order of equal values.
        order = (len(values) - 1 - values[::-1].argsort(kind="stable"))[::-1]
    else:
        order = values.argsort(kind="stable")
    indices = candidates[order[:k]]
    return TopK(x[indices], indices)


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
