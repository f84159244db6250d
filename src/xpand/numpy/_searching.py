"""Counting, searching, sorting and sets."""

from typing import Any

import numpy as np

from .._common import unique as _unique
from .._common.sorting import argsort_descending, sort_descending
from .._common.unique import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from .._typing import Array, Axis


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """The number of elements that are not zero, an array even where NumPy gives a Python integer."""
    result = np.count_nonzero(x, axis, keepdims=keepdims)
    return np.asarray(result) if axis is None and not keepdims else result


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """The elements of `x` at `indices` along an axis, one index array per line of the other axes."""
    return np.take_along_axis(x, indices, axis)


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
    return sort_descending(x, axis, np, lambda x: np.sort(x, axis, **kwargs))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """The indices that sort `x` along one axis. The other keywords are those of `np.argsort`."""
    if stable:
        kwargs["kind"] = "stable"
    if not descending:
        return np.argsort(x, axis, **kwargs)
    return argsort_descending(x, axis, np, lambda x: np.argsort(x, axis, **kwargs))


def unique_all(x: Array, /) -> UniqueAllResult:
    """The unique values in ascending order, the index of the first of each, the indices that rebuild `x`, the counts.

    Each NaN is a value of its own, as the standard asks of all four functions.
    """
    return _unique.unique_all(x, np)


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """The unique values in ascending order and how often each occurs."""
    return _unique.unique_counts(x, np)


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """The unique values in ascending order and the indices, in the shape of `x`, that rebuild it from them."""
    return _unique.unique_inverse(x, np)


def unique_values(x: Array, /) -> Array:
    """The unique values, in ascending order."""
    return _unique.unique_values(x, np)
