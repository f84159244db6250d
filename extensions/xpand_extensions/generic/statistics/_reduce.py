"""Reductions by a user function, averages, and ranges, with the standard alone."""

import math
from collections.abc import Callable
from typing import Any, cast

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions._bounds import index_dtype

from ..._dtypes import is_narrow, long_sum, plain_sum, widened
from .._last_axis import as_last


def reduce(x: Array, /, function: Any, initial: Any, *, axis: Any = None, keepdims: bool = False) -> Array:
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
    """Combine neighbours until one element remains. If the number is odd, set the last one aside until the end."""
    waiting = []
    while rows.shape[-1] > 1:
        if rows.shape[-1] % 2:
            waiting.append(rows[..., -1])
            rows = rows[..., :-1]
        rows = _checked(function, rows[..., ::2], rows[..., 1::2])
    total = rows[..., 0]
    for last in reversed(waiting):  # the later an element was set aside, the earlier its position
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
    dtype = x.dtype if weights is None else xp.result_type(x, weights)
    if is_narrow(xp, dtype):
        weights = None if weights is None else xp.astype(weights, xp.float32)
        return xp.astype(average(xp.astype(x, xp.float32), axis=axis, weights=weights, keepdims=keepdims), dtype)
    if weights is None:
        size = math.prod([x.shape[i] for i in axis])
        total = long_sum(xp, x, axis, keepdims=keepdims)
        return total / size if size else total + math.nan
    if weights.ndim != x.ndim:
        weights = xp.reshape(weights, tuple([size if i in axis else 1 for i, size in enumerate(x.shape)]))
        weights = xp.broadcast_to(weights, x.shape)
    total = long_sum(xp, xp.multiply(x, weights), axis, keepdims=keepdims)
    return quotient_or_nan(xp, total, long_sum(xp, weights, axis, keepdims=keepdims))


def quotient_or_nan(xp: Namespace, x: Array, y: Array) -> Array:
    """Divide; return NaN where the divisor is 0, without a warning or NaN in derivatives of other elements."""
    zero = y == 0
    return xp.where(zero, math.nan, xp.divide(x, xp.where(zero, xp.ones_like(y), y)))


def cov(
    x: Array, /, *, rowvar: bool = True, correction: float = 1.0, fweights: Any = None, aweights: Any = None
) -> Array:
    xp = array_namespace(x, fweights, aweights)
    dtype = x.dtype if aweights is None else xp.result_type(x, aweights)
    if is_narrow(xp, dtype):
        aweights = None if aweights is None else xp.astype(aweights, xp.float32)
        wide = cov(xp.astype(x, xp.float32), rowvar=rowvar, correction=correction, fweights=fweights, aweights=aweights)
        return xp.astype(wide, dtype)
    rows = _rows(xp, x, rowvar)
    if fweights is None and aweights is None:
        size = rows.shape[-1]
        distance = rows - _mean(xp, rows)
        product = xp.matmul(distance, _transposed(xp, distance))
        result = product / (size - correction) if size > correction else xp.zeros_like(product) + math.nan
    else:
        weights, divisor = _weights(xp, rows, correction, fweights, aweights)
        mass = xp.sum(weights)
        # If all weights are 0, the divisor is not positive either.
        mean = long_sum(xp, rows * weights, (rows.ndim - 1,), keepdims=True) / xp.where(
            mass == 0, xp.ones_like(mass), mass
        )
        distance = rows - mean
        product = xp.matmul(distance * weights, _transposed(xp, distance))
        some = divisor > 0
        result = xp.where(some, product / xp.where(some, divisor, xp.ones_like(divisor)), math.nan)
    return xp.reshape(result, ()) if x.ndim == 1 else result


@widened
def corrcoef(x: Array, /, *, rowvar: bool = True) -> Array:
    xp = array_namespace(x)
    rows = _rows(xp, x, rowvar)
    distance = rows - _mean(xp, rows)
    if not rows.shape[-1]:
        return xp.full_like(xp.matmul(distance, _transposed(xp, distance)), math.nan)
    # Squares of scaled distances neither overflow nor underflow.
    size = xp.max(xp.abs(distance), axis=-1, keepdims=True)
    varies = size > 0
    distance = distance / xp.where(varies, size, xp.ones_like(size))
    squares = xp.sum(_squared(xp, distance), axis=-1, keepdims=True)
    length = xp.sqrt(xp.where(varies, squares, xp.ones_like(squares)))
    unit = distance / length
    product = xp.matmul(unit, _transposed(xp, unit))
    product = xp.where(varies & _transposed(xp, varies), _clipped(xp, product), math.nan)
    return xp.reshape(product, ()) if x.ndim == 1 else product


def _rows(xp: Namespace, x: Array, rowvar: bool) -> Array:
    if x.ndim == 1:
        return xp.expand_dims(x, axis=0)
    return x if rowvar else xp.matrix_transpose(x)


def _mean(xp: Namespace, rows: Array) -> Array:
    # Avoid `mean`, since some libraries warn if there are no observations.
    return long_sum(xp, rows, (rows.ndim - 1,), keepdims=True) / max(rows.shape[-1], 1)


def _transposed(xp: Namespace, x: Array) -> Array:
    return xp.matrix_transpose(xp.conj(x) if checks.kind(xp, x.dtype) == "complex" else x)


def _squared(xp: Namespace, x: Array) -> Array:
    return xp.real(x) ** 2 + xp.imag(x) ** 2 if checks.kind(xp, x.dtype) == "complex" else x * x


def _weights(
    xp: Namespace, rows: Array, correction: float, fweights: Array | None, aweights: Array | None
) -> tuple[Any, Any]:
    """Return the weights of the observations and the divisor of the sums of products."""
    real = xp.real(rows).dtype if checks.kind(xp, rows.dtype) == "complex" else rows.dtype
    counts = None if fweights is None else xp.astype(fweights, real)
    if aweights is None:
        return counts, xp.sum(cast("Array", counts)) - correction
    weights = aweights if counts is None else xp.multiply(aweights, counts)
    mass = xp.sum(weights)
    squares = xp.sum(weights * aweights)
    return weights, mass - correction * squares / xp.where(mass == 0, xp.ones_like(mass), mass)


def _clipped(xp: Namespace, x: Array) -> Array:
    """Clip to the range of correlations: rounding may exceed it."""
    if checks.kind(xp, x.dtype) != "complex":
        return xp.clip(x, -1.0, 1.0)
    i = xp.full((), 1j, dtype=x.dtype, device=checks.device_of(x))
    parts = [xp.clip(part(x), -1.0, 1.0) for part in (xp.real, xp.imag)]
    return parts[0] + i * parts[1]


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


@widened
def nanmean(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    total = long_sum(xp, _filled(xp, x, 0), axis, keepdims=keepdims)
    return _divided(xp, total, _count(xp, x, axis, keepdims))


@widened
def nanvar(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    nan, values = xp.isnan(x), _filled(xp, x, 0)
    number = _count(xp, x, axis, True)
    mean = _divided(xp, long_sum(xp, values, axis, keepdims=True), number)
    distance = xp.where(nan, xp.zeros_like(x), values - mean)
    total = long_sum(xp, distance * distance, axis, keepdims=keepdims)
    return _divided(xp, total, number if keepdims else xp.squeeze(number, axis=axis), correction)


@widened
def nanstd(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    xp = array_namespace(x)
    variance = nanvar(x, axis=axis, correction=correction, keepdims=keepdims)
    # The derivative of the root is infinite at 0; times the derivative of the variance it would be NaN.
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
    """Count the elements that aren't NaN, with integers, since float16 cannot count beyond 2048."""
    return xp.sum(xp.astype(~xp.isnan(x), index_dtype(xp, checks.device_of(x))), axis=axis, keepdims=keepdims)


def _divided(xp: Namespace, total: Array, number: Array, correction: float = 0.0) -> Array:
    """Divide by the corrected number; return NaN where it is not positive."""
    some = number > math.floor(correction)  # equivalent to the correction, but an integer
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
    """Find the first element equal to the extreme. An infinity that replaced NaN might come before a real one."""
    xp = array_namespace(x)
    axes = tuple(range(x.ndim)) if axis is None else (axis,)
    if 0 in x.shape:
        shape = [1 if i in axes else size for i, size in enumerate(x.shape)]
        shape = shape if keepdims else [size for i, size in enumerate(x.shape) if i not in axes]
        return xp.full(tuple(shape), -1, dtype=index_dtype(xp, checks.device_of(x)), device=checks.device_of(x))
    found = xp.equal(x, extreme(x, axis=axes, keepdims=True))
    first = xp.argmax(xp.astype(found, xp.int8), axis=axis, keepdims=keepdims)
    return xp.where(xp.any(found, axis=axis, keepdims=keepdims), first, -xp.ones_like(first))
