"""Reductions that ignore NaN, with the standard alone."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions._bounds import index_dtype

from ..._dtypes import plain_sum


def nansum(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    return xp.sum(_filled(xp, x, 0), axis=axis, keepdims=keepdims)


def nanprod(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    return xp.prod(_filled(xp, x, 1), axis=axis, keepdims=keepdims)


def nanmin(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    return _extreme(xp, xp.min, math.inf, x, axis, keepdims)


def nanmax(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    return _extreme(xp, xp.max, -math.inf, x, axis, keepdims)


def nanmean(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    total = plain_sum(xp, _filled(xp, x, 0), axis=axis, keepdims=keepdims)
    return _divided(xp, total, _count(xp, x, axis, keepdims))


def nanvar(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    nan, values = xp.isnan(x), _filled(xp, x, 0)
    number = _count(xp, x, axis, True)
    mean = _divided(xp, plain_sum(xp, values, axis=axis, keepdims=True), number)
    distance = xp.where(nan, xp.zeros_like(x), values - mean)
    total = plain_sum(xp, distance * distance, axis=axis, keepdims=keepdims)
    return _divided(xp, total, number if keepdims else xp.squeeze(number, axis=axis), correction)


def nanstd(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    variance = nanvar(x, axis=axis, correction=correction, keepdims=keepdims)
    # The derivative of the root is infinite at 0, and would be NaN times that of the variance.
    positive = variance > 0
    return xp.where(positive, xp.sqrt(xp.where(positive, variance, xp.ones_like(variance))), variance)


def nanargmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return _first(x, nanmin, axis, keepdims)


def nanargmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return _first(x, nanmax, axis, keepdims)


def _filled(xp: Namespace, x: Array, value: float) -> Array:
    if checks.kind(xp, x.dtype) not in checks.FLOATING:
        return x
    return xp.where(xp.isnan(x), value, x)


def _count(xp: Namespace, x: Array, axis: Any, keepdims: bool) -> Array:
    """Count the elements that aren't NaN, as integers: a float16 can't count beyond 2048."""
    return xp.sum(xp.astype(~xp.isnan(x), index_dtype(xp, checks.device_of(x))), axis=axis, keepdims=keepdims)


def _divided(xp: Namespace, total: Array, number: Array, correction: float = 0.0) -> Array:
    """Divide by the corrected number, or give NaN where that isn't positive."""
    some = number > math.floor(correction)  # equivalent to the correction itself, and an integer like the number
    divisor = xp.astype(xp.where(some, number, xp.ones_like(number)), total.dtype)
    divisor = xp.where(some, divisor - correction, divisor) if correction else divisor
    return xp.where(some, total / divisor, math.nan)


def _extreme(xp: Namespace, function: Any, identity: float, x: Array, axis: Any, keepdims: bool) -> Array:
    if checks.kind(xp, x.dtype) != "real":
        return function(x, axis=axis, keepdims=keepdims)
    if 0 in x.shape:
        return plain_sum(xp, x, axis=axis, keepdims=keepdims) + math.nan
    all_nan = xp.all(xp.isnan(x), axis=axis, keepdims=keepdims)
    return xp.where(all_nan, math.nan, function(_filled(xp, x, identity), axis=axis, keepdims=keepdims))


def _first(x: Array, extreme: Any, axis: int | None, keepdims: bool) -> Array:
    """Find the first element equal to the extreme one: an infinity that replaces NaN might come before a real one."""
    xp = array_namespace(x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,)
    if 0 in x.shape:
        shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
        shape = shape if keepdims else [size for i, size in enumerate(x.shape) if i not in axes]
        return xp.full(tuple(shape), -1, dtype=index_dtype(xp, checks.device_of(x)), device=checks.device_of(x))
    found = xp.equal(x, extreme(x, axis=axes, keepdims=True))
    first = xp.argmax(xp.astype(found, xp.int8), axis=axis, keepdims=keepdims)
    return xp.where(xp.any(found, axis=axis, keepdims=keepdims), first, -xp.ones_like(first))
