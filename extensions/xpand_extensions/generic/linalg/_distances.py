"""Distances of vectors with the standard alone."""

import math

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

from ..._dtypes import widened


@widened
def cdist(x1: Array, x2: Array, /, metric: str = "euclidean", *, p: float = 2.0) -> Array:
    xp = array_namespace(x1, x2)
    if metric == "cosine":
        directions = [_directions(xp, x) for x in (x1, x2)]
        result = 1.0 - xp.matmul(directions[0], xp.matrix_transpose(directions[1]))
        return result if x1.shape[-1] else result + math.nan  # vectors without components are zeros
    difference = xp.expand_dims(x1, axis=-2) - xp.expand_dims(x2, axis=-3)
    if metric == "euclidean":
        return _root(xp, xp.sum(difference * difference, axis=-1))
    if metric == "sqeuclidean":
        return xp.sum(difference * difference, axis=-1)
    size = xp.abs(difference)
    if metric == "chebyshev":
        if not size.shape[-1]:
            return xp.sum(size, axis=-1)
        return xp.max(size, axis=-1)
    if metric == "cityblock" or p == 1.0:
        return xp.sum(size, axis=-1)
    # Powers of a number may overflow; those of its ratio to the largest one do not.
    largest = xp.max(size, axis=-1, keepdims=True) if size.shape[-1] else xp.sum(size, axis=-1, keepdims=True)
    usable = (largest > 0.0) & (largest < math.inf)
    scale = xp.where(usable, largest, xp.ones_like(largest))
    ratio = size / scale
    positive = ratio > 0.0
    powers = xp.where(positive, xp.where(positive, ratio, xp.ones_like(ratio)) ** p, ratio)
    total = xp.sum(powers, axis=-1)
    some = total > 0.0
    root = xp.where(some, xp.where(some, total, xp.ones_like(total)) ** (1.0 / p), total)
    return root * scale[..., 0]


def _root(xp: Namespace, square: Array) -> Array:
    """Return the root, with the derivative 0 at 0."""
    positive = square > 0.0
    return xp.where(positive, xp.sqrt(xp.where(positive, square, xp.ones_like(square))), square)


def _directions(xp: Namespace, x: Array) -> Array:
    length = _root(xp, xp.sum(x * x, axis=-1, keepdims=True))
    return x / xp.where(length == 0.0, xp.full((), math.nan, dtype=x.dtype, device=checks.device_of(x)), length)
