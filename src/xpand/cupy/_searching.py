"""Searching, sorting, sets and repetition."""

from typing import Any, cast

import cupy as cp

from .._common.limits import searched
from .._common.sorting import argsort_descending, sort_descending, unique_functions
from ..typing import LibraryArray as Array, Scalar
from ._integers import INTEGERS


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return a copy of `x`, sorted along one axis. CuPy's sort is always stable."""
    if descending:
        return sort_descending(x, axis, cp, lambda x: cp.sort(x, axis, **kwargs))
    return cp.sort(x, axis, **kwargs)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return the indices that sort `x` along one axis. CuPy's sort is always stable."""
    if descending:
        return argsort_descending(x, axis, cp, lambda x: cp.argsort(x, axis, **kwargs))
    return cp.argsort(x, axis, **kwargs)


unique_all, unique_counts, unique_inverse, unique_values = unique_functions(cp.unique)


def isin(x1: Array | Scalar, x2: Array | Scalar, /, *, invert: bool = False, **kwargs: Any) -> Array:
    """Return whether each element of `x1` is in `x2`. One may be a Python scalar, which gets the other's data type."""
    x1, x2 = INTEGERS.sought(x1, x2), INTEGERS.sought(x2, x1)
    if x1 is None or x2 is None:  # no array of this data type has the integer
        x1, x2 = cp.asarray(0 if x1 is None else x1), cp.zeros(0, dtype=int)
    dtype = cp.result_type(x1, x2)
    x1 = x1 if isinstance(x1, cp.ndarray) else cp.asarray(x1, dtype=dtype)
    x2 = x2 if isinstance(x2, cp.ndarray) else cp.asarray(x2, dtype=dtype)
    return cp.isin(x1, x2, invert=invert, **kwargs)


def searchsorted(x1: Array, x2: Array | Scalar, /, *, side: Any = "left", sorter: Array | None = None) -> Array:
    """Return the indices at which to insert `x2` into the ascending `x1`, or into `x1[sorter]`."""
    if not isinstance(x2, cp.ndarray):
        x2, side = searched(x1, x2, side, cp)
    return cp.searchsorted(x1, x2, side, sorter)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, or each slice along `axis`; an array `repeats` has a number for each.

    CuPy does not accept an array. The shape of the result depends on its values, so this waits for the device.
    """
    if not isinstance(repeats, cp.ndarray):
        return cp.repeat(x, repeats, axis)
    if repeats.dtype.kind not in "iu":
        raise TypeError(f"repeat: repeats has data type {repeats.dtype}; it must be an integer type")
    if repeats.size == 1:
        return cp.repeat(x, int(repeats.reshape(())), axis)
    if axis is None:
        x, axis = x.reshape(-1), 0
    if repeats.shape != (x.shape[axis],):
        raise ValueError(f"repeat: repeats has shape {repeats.shape}; it must be {(x.shape[axis],)}, (1,) or ()")
    ends = cp.cumsum(repeats, dtype=cp.int64)
    total = int(ends[-1]) if ends.size else 0
    origin = cp.searchsorted(ends, cp.arange(total, dtype=cp.int64), side="right")
    return cast(Array, cp.take(x, origin, axis=axis))
