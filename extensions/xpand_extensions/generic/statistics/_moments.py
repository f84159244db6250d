"""Measures of the shape of a distribution, with the standard alone."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace

from ..._dtypes import widened


@widened
def skew(x: Array, /, *, axis: Any = None, bias: bool = True, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    size, standard = _standardized(xp, x, axis)
    result = (
        xp.mean(standard * standard * standard, axis=axis, keepdims=keepdims) if size else _none(xp, x, axis, keepdims)
    )
    return result if bias or size <= 2 else result * (math.sqrt(size * (size - 1)) / (size - 2))


@widened
def kurtosis(x: Array, /, *, axis: Any = None, fisher: bool = True, bias: bool = True, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    size, standard = _standardized(xp, x, axis)
    square = standard * standard
    result = xp.mean(square * square, axis=axis, keepdims=keepdims) if size else _none(xp, x, axis, keepdims)
    if not bias and size > 3:
        result = ((size**2 - 1.0) * result - 3.0 * (size - 1) ** 2) / ((size - 2) * (size - 3)) + 3.0
    return result - 3.0 if fisher else result


def _none(xp: Namespace, x: Array, axis: Any, keepdims: bool) -> Array:
    return xp.sum(x, axis=axis, keepdims=keepdims) + math.nan


def _standardized(xp: Namespace, x: Array, axis: Any) -> tuple[int, Array]:
    """Return the number of values in a slice, and the values with mean 0 and variance 1; NaN if all are equal."""
    size = math.prod([x.shape[i] for i in axis])
    if not size:
        return size, x
    mean = xp.mean(x, axis=axis, keepdims=True)
    distance = x - mean
    variance = xp.mean(distance * distance, axis=axis, keepdims=True)
    equal = variance <= (xp.finfo(x.dtype).eps * mean) ** 2
    return size, distance / xp.where(equal, math.nan, xp.sqrt(xp.where(equal, xp.ones_like(variance), variance)))
