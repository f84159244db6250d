"""Sorting, searching and taking."""

from typing import Any

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..._common.limits import check_choices, searched
from ...typing import Array
from ._blocks import along_axis, gather


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Sort along an axis. The axis is merged into one chunk, and split again if blocks are large."""
    return along_axis("sort", x, axis, dtype=x.dtype, descending=descending, stable=stable)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort along an axis. Chunks change as for `sort`."""
    return along_axis("argsort", x, axis, dtype=np.dtype(np.intp), descending=descending, stable=stable)


def searchsorted(x1: Array, x2: Array | float, /, side: str = "left", sorter: Array | None = None) -> Array:
    """Return the indices at which to insert the elements of `x2` into the ascending `x1`, or into `x1[sorter]`.

    `x2` keeps its chunks; `x1` and `sorter` are merged into one chunk.
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: x1 must have one axis, got shape {x1.shape}")
    values: Any = x2
    if not isinstance(x2, da.Array):
        scalar, side = searched(x1, x2, side, np)
        values = da.asarray(scalar)
    index = tuple(range(values.ndim))
    operands = [(x1, (values.ndim,)), (values, index)]
    keywords = []
    if sorter is not None:
        operands.append((sorter, (values.ndim + 1,)))
        keywords.append("sorter")
    return gather("searchsorted", index, *operands, dtype=np.dtype(np.intp), keywords=keywords, side=side)


def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the elements of `x1` where `condition` is true, and of `x2` elsewhere."""
    check_choices("where", x1, x2, np)
    return da.where(condition, x1, x2)


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return the elements at one-dimensional indices along an axis, which may be omitted if `x` has only one.

    Lazy indices keep their chunks, and the axis of `x` is merged into one chunk.
    """
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: axis must be given for an array of {x.ndim} axes; only one axis is unambiguous")
        axis = 0
    if not isinstance(indices, da.Array):
        return da.take(x, indices, axis=axis)
    axis = normalize_axis_index(axis, x.ndim)
    index = tuple(range(x.ndim))
    taken = tuple(range(x.ndim, x.ndim + indices.ndim))
    output = (*index[:axis], *taken, *index[axis + 1 :])
    return gather("take", output, (x, index), (indices, taken), dtype=x.dtype, axis=axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements at indices along an axis, one for each index; the other axes broadcast.

    `indices` keeps its chunks along the axis; in `x`, the axis is merged into one chunk.
    """
    if x.ndim != indices.ndim:
        raise ValueError(
            f"take_along_axis: indices must have as many axes as x, got shapes {x.shape} and {indices.shape}"
        )
    axis = normalize_axis_index(axis, x.ndim)
    index = tuple(range(x.ndim))
    source = (*index[:axis], x.ndim, *index[axis + 1 :])
    return gather("take_along_axis", index, (x, source), (indices, index), dtype=x.dtype, axis=axis)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of nonzero elements, one array for each axis. Their sizes are unknown."""
    if x.ndim == 0:
        raise ValueError("nonzero: x must have one or more axes, got a zero-dimensional array")
    return tuple(da.nonzero(da.rechunk(x, -1) if 0 in x.shape else x))  # Dask flattens empty arrays only in one chunk
