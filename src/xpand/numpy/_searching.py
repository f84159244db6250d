"""Counting, searching, sorting, sets, differences, and cumulative sums and products."""

from typing import Any

import numpy as np

from .._common.limits import as_floating, check_choices, searched
from .._common.sorting import argsort_descending, sort_descending, unique_functions
from .._namespace import namespace_of_traced
from ..typing import Axis, DType, LibraryArray as Array, Scalar

_where = np.where
_NUMBERS = frozenset((int, float, complex))


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the number of nonzero elements, always as an array; NumPy may return a Python integer."""
    result = np.count_nonzero(x, axis, keepdims=keepdims)
    if axis is not None or keepdims:
        return result
    try:
        return np.asarray(result)
    except TypeError:
        if namespace_of_traced(result) is None:
            raise
        return result


def take(x: Array, indices: Array, axis: int | None = None, out: Array | None = None, mode: Any = "raise") -> Array:
    """Return the elements of `x` at `indices` along an axis. `out` and `mode` are the same as for `np.take`."""
    try:
        return x.take(indices, axis, out, mode)
    except (AttributeError, TypeError):
        # NumPy does not dispatch on the indices.
        traced = namespace_of_traced(x, indices)
        if traced is None or out is not None or mode != "raise":
            return np.take(x, indices, axis, out, mode)
    return traced.take(x, indices, axis=axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements of `x` at `indices` along an axis, one for each index."""
    return np.take_along_axis(x, indices, axis)


def where(condition: Array, x1: Array | Scalar | None = None, x2: Array | Scalar | None = None, /) -> Any:
    """Return the elements of the second argument where the first is true, and of the third elsewhere.

    A Python integer must fit into the other argument's data type; NumPy's function wraps around.
    """
    if type(x2) is int or type(x1) is int:
        check_choices("where", x1, x2, np)
    elif x2 is None:
        return _where(condition)
    return _where(condition, x1, x2)


def isin(
    x1: Array | Scalar, x2: Array | Scalar, /, assume_unique: bool = False, invert: bool = False, **kwargs: Any
) -> Array:
    """Return whether each element of `x1` is in `x2`. A Python number gets the data type of a floating-point array."""
    return np.isin(as_floating(x1, x2, np), as_floating(x2, x1, np), assume_unique, invert, **kwargs)


def searchsorted(x1: Array, x2: Array | Scalar, /, side: Any = "left", sorter: Array | None = None) -> Array:
    """Return the indices at which to insert `x2` into the ascending `x1`, or into `x1[sorter]`.

    A Python number gets the data type of `x1`, and `sorter` may have any integer data type.
    """
    if type(x2) in _NUMBERS:
        x2, side = searched(x1, x2, side, np)
    if sorter is not None:
        sorter = _as_index(sorter)
    try:
        return x1.searchsorted(x2, side, sorter)
    except TypeError:
        if namespace_of_traced(x1, x2, sorter) is None:
            raise
    return np.searchsorted(x1, x2, side, sorter)


def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Repeat each element along an axis, or of the flattened array if `axis` is None."""
    return np.repeat(x, _as_index(repeats), axis)


def _as_index(x: Any) -> Any:
    """Convert uint64, which some functions of NumPy refuse."""
    return x.astype(np.intp) if getattr(x, "dtype", None) == np.uint64 else x


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return a copy of `x`, sorted along one axis. The other keywords are the same as for `np.sort`."""
    if stable:
        # Stability does not matter for integers, so use the unstable sort, which is ten times as fast. For integers of
        # one byte, the stable sort (a radix sort) is even faster.
        kind = x.dtype.kind
        if (kind != "i" and kind != "u") or x.dtype.itemsize == 1:
            kwargs["kind"] = "stable"
    if not descending:
        return np.sort(x, axis, **kwargs)
    return sort_descending(x, axis, np, lambda x: np.sort(x, axis, **kwargs))


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return the indices that sort `x` along one axis. The other keywords are the same as for `np.argsort`."""
    if stable:
        kwargs["kind"] = "stable"
    if not descending:
        return np.argsort(x, axis, **kwargs)
    return argsort_descending(x, axis, np, lambda x: np.argsort(x, axis, **kwargs))


unique_all, unique_counts, unique_inverse, unique_values = unique_functions(np.unique)


def diff(x: Array, /, n: int = 1, axis: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """Return the `n`-th differences along an axis, after joining `prepend` and `append` to it unless they are None."""
    ends = {name: end for name, end in (("prepend", prepend), ("append", append)) if end is not None}
    return np.diff(x, n, axis, **ends)


def _first_axis(function: str, x: Array) -> int:
    if x.ndim > 1:
        raise ValueError(f"{function}: x has {x.ndim} dimensions; with more than one, name the axis: axis=0")
    return 0


# In these data types, the sum of a million numbers of the shorter ones would lose four digits.
_WIDE = {"e": np.float64, "f": np.float64, "F": np.complex128}


def _prepend(value: int, result: Array, axis: int) -> Array:
    axis %= result.ndim
    initial = np.full((*result.shape[:axis], 1, *result.shape[axis + 1 :]), value, result.dtype)
    return np.concatenate((initial, result), axis=axis)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the cumulative sum along an axis, after a zero if `include_initial`.

    `axis` may be omitted for one dimension. The other keywords are the same as for `np.cumsum`. Without `out`, float16,
    float32 and complex64 are added in float64 or complex128.
    """
    if axis is None:
        axis = _first_axis("cumulative_sum", x)
    target = x.dtype if dtype is None else np.dtype(dtype)
    if target.char in _WIDE and not kwargs:
        dtype, narrow = _WIDE[target.char], target
    else:
        narrow = None
    try:
        result = x.cumsum(axis, dtype, **kwargs)
    except TypeError:
        if namespace_of_traced(x) is None:
            raise
        result = x.cumsum(axis=axis, dtype=dtype, **kwargs)
    if narrow is not None:
        result = result.astype(narrow)
    return _prepend(0, result, axis) if include_initial else result


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the cumulative product along an axis, after a one if `include_initial`.

    `axis` may be omitted for one dimension. The other keywords are the same as for `np.cumprod`.
    """
    if axis is None:
        axis = _first_axis("cumulative_prod", x)
    try:
        result = x.cumprod(axis, dtype, **kwargs)
    except TypeError:
        if namespace_of_traced(x) is None:
            raise
        result = x.cumprod(axis=axis, dtype=dtype, **kwargs)
    return _prepend(1, result, axis) if include_initial else result
