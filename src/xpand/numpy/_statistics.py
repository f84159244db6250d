"""Cumulative sums and products."""

from typing import Any

import numpy as np

from .._typing import DType
from .._typing import LibraryArray as Array


def _first_axis(function: str, x: Array) -> int:
    if x.ndim > 1:
        raise ValueError(f"{function}: x has {x.ndim} dimensions; with more than one, name the axis: axis=0")
    return 0


def _prepend(value: int, result: Array, axis: int) -> Array:
    axis %= result.ndim
    initial = np.full((*result.shape[:axis], 1, *result.shape[axis + 1 :]), value, result.dtype)
    return np.concatenate((initial, result), axis=axis)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
    **kwargs: Any,
) -> Array:
    """The sums of the elements up to each one, along an axis; `include_initial` puts a zero before them.

    `axis` may be omitted for one dimension. The other keywords are those of `np.cumsum`.
    """
    if axis is None:
        axis = _first_axis("cumulative_sum", x)
    result = x.cumsum(axis, dtype, **kwargs)
    return _prepend(0, result, axis) if include_initial else result


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
    **kwargs: Any,
) -> Array:
    """The products of the elements up to each one, along an axis; `include_initial` puts a one before them.

    `axis` may be omitted for one dimension. The other keywords are those of `np.cumprod`.
    """
    if axis is None:
        axis = _first_axis("cumulative_prod", x)
    result = x.cumprod(axis, dtype, **kwargs)
    return _prepend(1, result, axis) if include_initial else result
