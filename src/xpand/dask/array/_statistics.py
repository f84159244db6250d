"""Reductions, cumulative sums and products, counts."""

import math
from collections.abc import Callable
from typing import Any

import dask.array as da
import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...typing import Axis, DType, LibraryArray as Array
from ._blocks import along_axis


def _extremum(native: Callable[..., Array], x: Array, axis: Axis, keepdims: bool, kwargs: dict[str, Any]) -> Array:
    """Compute Dask's `max` or `min`. If there are no elements to reduce, raise an error immediately.

    Dask would raise it during the computation, even if the result has no elements either.
    """
    if 0 in x.shape:
        axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
        if all(size for i, size in enumerate(x.shape) if i not in axes):
            raise ValueError(f"{native.__name__}: no elements along axis {axis} of a zero-size array, shape {x.shape}")
        return da.sum(x, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return native(x, axis=axis, keepdims=keepdims, **kwargs)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the largest elements along axes, or NaN if there is one."""
    return _extremum(da.max, x, axis, keepdims, kwargs)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the smallest elements along axes, or NaN if there is one."""
    return _extremum(da.min, x, axis, keepdims, kwargs)


def _spread(
    native: Callable[..., Array], x: Array, axis: Axis, correction: float, keepdims: bool, kwargs: dict[str, Any]
) -> Array:
    """Return Dask's result, or NaN if the correction is the number of elements; there, Dask's result is infinite."""
    axes = range(x.ndim) if axis is None else normalize_axis_tuple(axis, x.ndim)
    if 0 < math.prod([x.shape[i] for i in axes]) <= correction:
        return native(x, axis=axis, keepdims=keepdims, **kwargs) * math.nan
    return native(x, axis=axis, ddof=correction, keepdims=keepdims, **kwargs)


def std(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the standard deviation, with `correction` subtracted from the number of elements."""
    return _spread(da.std, x, axis, correction, keepdims, kwargs)


def var(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the variance, with `correction` subtracted from the number of elements."""
    return _spread(da.var, x, axis, correction, keepdims, kwargs)


def count_nonzero(x: Array, axis: Axis = None, keepdims: bool = False) -> Array:
    """Count the nonzero elements."""
    return da.sum(x != 0, axis=axis, dtype=np.intp, keepdims=keepdims)


def _cumulate(
    name: str, x: Array, axis: int | None, dtype: DType | None, include_initial: bool, kwargs: dict[str, Any]
) -> Array:
    """Accumulate along an axis with Dask's `cumsum` or `cumprod`, which passes totals from block to block."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"cumulative_{name}: axis must be given for an array of {x.ndim} axes; only one axis is unambiguous"
            )
        axis = 0
    axis = normalize_axis_index(axis, x.ndim)
    if x.numblocks[axis] > 1 and not all(size > 0 for size in x.chunks[axis]):
        # Dask reads the total of a block from its last element, but a block of zero or unknown size may have none.
        if dtype is None:
            dtype = getattr(np, name)(np.empty(0, dtype=x.dtype)).dtype
        size = x.shape[axis] + include_initial
        function = f"cumulative_{name}"
        return along_axis(function, x, axis, dtype=dtype, size=size, include_initial=include_initial)
    accumulate, initial = (da.cumsum, da.zeros) if name == "sum" else (da.cumprod, da.ones)
    result = accumulate(x, axis=axis, dtype=dtype, **kwargs)
    if not include_initial:
        return result
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    chunks = (*x.chunks[:axis], (1,), *x.chunks[axis + 1 :])
    return da.concatenate([initial(shape, dtype=result.dtype, chunks=chunks), result], axis=axis)


# The data types in which numbers of shorter ones are added.
_WIDE = {"e": np.float64, "f": np.float64, "F": np.complex128}


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the cumulative sum along an axis, after a zero if `include_initial`."""
    target = np.dtype(x.dtype if dtype is None else dtype)
    wide = _WIDE.get(target.char)
    if wide is None or kwargs:
        return _cumulate("sum", x, axis, dtype, include_initial, kwargs)
    return _cumulate("sum", x, axis, wide, include_initial, kwargs).astype(target)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False, **kwargs: Any
) -> Array:
    """Return the cumulative product along an axis, after a one if `include_initial`."""
    return _cumulate("prod", x, axis, dtype, include_initial, kwargs)
