"""Counting, searching, sorting, sets, and cumulative sums and products."""

from typing import Any

import numpy as np

from .._common.sorting import argsort_descending, sort_descending, unique_functions
from ..typing import Axis, DType, LibraryArray as Array


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the number of elements that are not zero, an array even where NumPy gives a Python integer."""
    result = np.count_nonzero(x, axis, keepdims=keepdims)
    return np.asarray(result) if axis is None and not keepdims else result


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements of `x` at `indices` along an axis, one index array per line of the other axes."""
    return np.take_along_axis(x, indices, axis)


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return a sorted copy of `x`, along one axis. The other keywords are those of `np.sort`."""
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
    """Return the indices that sort `x` along one axis. The other keywords are those of `np.argsort`."""
    if stable:
        kwargs["kind"] = "stable"
    if not descending:
        return np.argsort(x, axis, **kwargs)
    return argsort_descending(x, axis, np, lambda x: np.argsort(x, axis, **kwargs))


unique_all, unique_counts, unique_inverse, unique_values = unique_functions(np.unique)


def _first_axis(function: str, x: Array) -> int:
    if x.ndim > 1:
        raise ValueError(f"{function}: x has {x.ndim} dimensions; with more than one, name the axis: axis=0")
    return 0


def _prepend(value: int, result: Array, axis: int) -> Array:
    axis %= result.ndim
    initial = np.full((*result.shape[:axis], 1, *result.shape[axis + 1 :]), value, result.dtype)
    return np.concatenate((initial, result), axis=axis)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the sums of the elements up to each one, along an axis; `include_initial` puts a zero before them.

    `axis` may be omitted for one dimension. The other keywords are those of `np.cumsum`.
    """
    if axis is None:
        axis = _first_axis("cumulative_sum", x)
    result = x.cumsum(axis, dtype, **kwargs)
    return _prepend(0, result, axis) if include_initial else result


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the products of the elements up to each one, along an axis; `include_initial` puts a one before them.

    `axis` may be omitted for one dimension. The other keywords are those of `np.cumprod`.
    """
    if axis is None:
        axis = _first_axis("cumulative_prod", x)
    result = x.cumprod(axis, dtype, **kwargs)
    return _prepend(1, result, axis) if include_initial else result
