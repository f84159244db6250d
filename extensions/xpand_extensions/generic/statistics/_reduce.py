"""Reductions by a user function, averages, and ranges, with the standard alone."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from ..._dtypes import plain_sum
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
    """Combine neighbours until one is left. If their number is odd, the last is set aside until the end."""
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
    """Divide; return NaN where the divisor is 0, without a warning, and without NaN in other elements' derivatives."""
    zero = y == 0
    return xp.where(zero, math.nan, xp.divide(x, xp.where(zero, xp.ones_like(y), y)))


def cov(
    x: Array, /, *, rowvar: bool = True, correction: float = 1.0, fweights: Any = None, aweights: Any = None
) -> Array:
    xp = array_namespace(x, fweights, aweights)
    rows = _rows(xp, x, rowvar)
    if fweights is None and aweights is None:
        size = rows.shape[-1]
        distance = rows - _mean(xp, rows)
        product = xp.matmul(distance, _transposed(xp, distance))
        result = product / (size - correction) if size > correction else xp.zeros_like(product) + math.nan
    else:
        weights, divisor = _weights(xp, rows, correction, fweights, aweights)
        mass = xp.sum(weights)
        # Without any weight the divisor isn't positive either.
        mean = xp.sum(rows * weights, axis=-1, keepdims=True) / xp.where(mass == 0, xp.ones_like(mass), mass)
        distance = rows - mean
        product = xp.matmul(distance * weights, _transposed(xp, distance))
        some = divisor > 0
        result = xp.where(some, product / xp.where(some, divisor, xp.ones_like(divisor)), math.nan)
    return xp.reshape(result, ()) if x.ndim == 1 else result


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
    # Not `mean`, for which some libraries warn without observations.
    return plain_sum(xp, rows, axis=-1, keepdims=True) / max(rows.shape[-1], 1)


def _transposed(xp: Namespace, x: Array) -> Array:
    return xp.matrix_transpose(_conjugate(xp, x))


def _conjugate(xp: Namespace, x: Array) -> Array:
    return xp.conj(x) if checks.kind(xp, x.dtype) == "complex" else x


def _squared(xp: Namespace, x: Array) -> Array:
    return xp.real(x) ** 2 + xp.imag(x) ** 2 if checks.kind(xp, x.dtype) == "complex" else x * x


def _weights(
    xp: Namespace, rows: Array, correction: float, fweights: Array | None, aweights: Array | None
) -> tuple[Any, Any]:
    """Return the weights of the observations and the divisor of the sums of products."""
    real = xp.real(rows).dtype if checks.kind(xp, rows.dtype) == "complex" else rows.dtype
    counts = None if fweights is None else xp.astype(fweights, real)
    if aweights is None:
        return counts, xp.sum(counts) - correction
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
