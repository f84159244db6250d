"""Counting, searching, sorting and sets."""

from typing import Any

import numpy as np

from xpand._common.unique import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from xpand._typing import Array, Axis


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number of elements that are not zero, an array even where NumPy gives a Python integer."""
    result = np.count_nonzero(x, axis, keepdims=keepdims)
    return np.asarray(result) if axis is None and not keepdims else result


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """The elements of `x` at `indices` along an axis, one index array per line of the other axes."""
    return np.take_along_axis(x, indices, axis)


_BACKWARDS = slice(None, None, -1)
_LAST_BACKWARDS = (..., _BACKWARDS)


def _reverse(x: Array, axis: int) -> Array:
    if axis == -1:
        return x[_LAST_BACKWARDS]
    return np.flip(x, axis)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """A sorted copy of `x`, along one axis. The other keywords are those of `np.sort`."""
    if stable:
        # Equal integers can't be told apart, so they get the sort that is ten times as fast; bytes' stable sort is
        # faster still (a radix sort).
        kind = x.dtype.kind
        if (kind != "i" and kind != "u") or x.dtype.itemsize == 1:
            kwargs["kind"] = "stable"
    if not descending:
        return np.sort(x, axis, **kwargs)
    # Sorting the reversed array in ascending order and reversing the result keeps equal elements in their order.
    return _reverse(np.sort(_reverse(x, axis), axis, **kwargs), axis)


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """The indices that sort `x` along one axis. The other keywords are those of `np.argsort`."""
    if stable:
        kwargs["kind"] = "stable"
    if not descending:
        return np.argsort(x, axis, **kwargs)
    order = np.argsort(_reverse(x, axis), axis, **kwargs)
    return _reverse(np.subtract(x.shape[axis] - 1, order, out=order), axis)


def unique_all(x: Array, /) -> UniqueAllResult:
    """The unique values in ascending order, the index of the first of each, the indices that rebuild `x`, the counts.

    Each NaN is a value of its own, as the standard asks of all four functions.
    """
    return UniqueAllResult(*np.unique(x, True, True, True, equal_nan=False))


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The unique values in ascending order and how often each occurs."""
    return UniqueCountsResult(*np.unique(x, return_counts=True, equal_nan=False))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The unique values in ascending order and the indices, in the shape of `x`, that rebuild it from them."""
    return UniqueInverseResult(*np.unique(x, return_inverse=True, equal_nan=False))


def unique_values(x: Array, /) -> Array:
    """The unique values, in ascending order."""
    return np.unique(x, equal_nan=False)
