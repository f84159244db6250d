"""Reductions by a user function, averages, and ranges, with the standard alone."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from ..._sums import plain_sum
from .._last_axis import as_last


def reduce(x: Array, function: Any, initial: Any, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x, initial)
    device = checks.device_of(x)
    if isinstance(initial, (bool, int, float, complex)):
        initial = xp.full((), initial, dtype=x.dtype, device=device)
    else:
        initial = xp.astype(initial, x.dtype, copy=False)
    rows = as_last(xp, x, axis)
    start = xp.broadcast_to(initial, rows.shape[:-1])
    result = _checked(function, start, _folded(function, rows)) if rows.shape[-1] else start
    shape = [1 if i in axis else size for i, size in enumerate(x.shape)] if keepdims else result.shape
    return xp.reshape(result, tuple(shape))


def _folded(function: Callable[[Array, Array], Array], rows: Array) -> Array:
    """Combine neighbours until one is left. Where their number is odd, the last waits for the end."""
    waiting = []
    while rows.shape[-1] > 1:
        if rows.shape[-1] % 2:
            waiting.append(rows[..., -1])
            rows = rows[..., :-1]
        rows = _checked(function, rows[..., ::2], rows[..., 1::2])
    total = rows[..., 0]
    for last in reversed(waiting):  # the later one waited, the further to the front it stood
        total = _checked(function, total, last)
    return total


def _checked(function: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    result = function(x, y)
    shape, dtype = getattr(result, "shape", None), getattr(result, "dtype", None)
    if shape is None or tuple(shape) != tuple(x.shape):
        raise ValueError(
            f"reduce: function must return an array of the shape of its arguments, {tuple(x.shape)}, got "
            + (type(result).__qualname__ if shape is None else str(tuple(shape)))
        )
    if dtype != x.dtype:
        raise TypeError(f"reduce: function must return the data type of x, {x.dtype}, got {dtype}")
    return result


def ptp(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    return xp.subtract(xp.max(x, axis=axis, keepdims=keepdims), xp.min(x, axis=axis, keepdims=keepdims))


def average(x: Array, /, *, axis: Any = None, weights: Array | None = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x, weights)
    if weights is None:
        size = math.prod([x.shape[i] for i in axis])
        total = plain_sum(xp, x, axis=axis, keepdims=keepdims)
        return total / size if size else total + math.nan
    if weights.ndim != x.ndim:
        weights = xp.reshape(weights, tuple([size if i in axis else 1 for i, size in enumerate(x.shape)]))
        weights = xp.broadcast_to(weights, x.shape)
    products = xp.multiply(x, weights)
    total = plain_sum(xp, products, axis=axis, keepdims=keepdims)
    mass = plain_sum(xp, weights, axis=axis, keepdims=keepdims)
    return quotient_or_nan(xp, total, mass)


def quotient_or_nan(xp: Namespace, x: Array, y: Array) -> Array:
    """Divide; NaN, without a warning or NaN among the derivatives elsewhere, where the divisor is 0."""
    zero = y == 0
    nan = xp.full((), math.nan, dtype=x.dtype, device=checks.device_of(x))
    return xp.where(zero, nan, xp.divide(x, xp.where(zero, xp.ones_like(y), y)))
