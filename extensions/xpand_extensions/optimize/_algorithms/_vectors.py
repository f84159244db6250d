"""Computations with vectors of several problems, of shape `(*batch, n)`."""

from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, DType, Namespace, checks


def dot(x: Array, y: Array) -> Array:
    """Return the inner products of vectors: shape `(*batch)`."""
    return array_namespace(x, y).sum(x * y, axis=-1)


def largest(x: Array) -> Array:
    """Return the largest absolute value in each vector; 0 for an empty vector, NaN if it has NaN."""
    xp = array_namespace(x)
    return xp.max(xp.abs(x), axis=-1) if x.shape[-1] else xp.sum(x, axis=-1)


def norm(x: Array) -> Array:
    """Return the length of each vector, computed so that squares neither overflow nor underflow."""
    xp = array_namespace(x)
    scale = largest(x)
    safe = xp.where((scale > 0.0) & xp.isfinite(scale), scale, xp.ones_like(scale))
    ratio = x / safe[..., None]
    bounded = xp.where(xp.abs(ratio) <= 1.0, ratio, xp.zeros_like(ratio))
    return xp.where(xp.isfinite(scale), safe * xp.sqrt(dot(bounded, bounded)), scale)


def is_finite(x: Array, axes: int = 1) -> Array:
    """Return whether all elements of each vector are finite."""
    xp = array_namespace(x)
    return xp.all(xp.isfinite(x), axis=-1 if axes == 1 else tuple(range(-axes, 0)))


def tolerance_of(size: Array, atol: float, rtol: float) -> Array:
    """Return the larger of `atol` and `rtol` times a size; `atol` if the product is not finite."""
    xp = array_namespace(size)
    relative = rtol * size
    return xp.maximum(full_like(size, atol), xp.where(xp.isfinite(relative), relative, xp.zeros_like(relative)))


def eps_of(xp: Namespace, dtype: DType) -> float:
    """Return the data type's `eps`."""
    return float(xp.finfo(dtype).eps)


def times(scale: Array, x: Array) -> Array:
    """Multiply each vector by its own number."""
    return scale[..., None] * x


def select(condition: Array, new: trees.Tree, old: trees.Tree) -> trees.Tree:
    """Select from `new` where a condition holds, and from `old` elsewhere.

    The axes of the condition are the first axes of all arrays.
    """

    def chosen(x: Array, y: Array) -> Array:
        mask = condition
        for _ in range(x.ndim - condition.ndim):
            mask = mask[..., None]
        return array_namespace(mask, x, y).where(mask, x, y)

    return trees.map(chosen, new, old)


def full_like(x: Array, value: Any, dtype: DType | None = None) -> Array:
    """Return an array like another, filled with a value."""
    return array_namespace(x).full_like(x, value, dtype=dtype)


def quotient(x: Array, y: Array, otherwise: float = 0.0) -> Array:
    """Divide where the divisor isn't zero and both numbers are finite; elsewhere return `otherwise`."""
    xp = array_namespace(x, y)
    valid = (y != 0.0) & xp.isfinite(x) & xp.isfinite(y)
    one = xp.ones_like(y)
    return xp.where(valid, xp.where(valid, x, one) / xp.where(valid, y, one), full_like(y, otherwise))


def identity(x: Array) -> Array:
    """Make an identity matrix for each vector: shape `(*batch, n, n)`."""
    xp = array_namespace(x)
    n = x.shape[-1]
    eye = xp.eye(n, dtype=x.dtype, device=checks.device_of(x))
    return xp.broadcast_to(eye, (*x.shape, n))


def apply(matrix: Array, x: Array) -> Array:
    """Multiply matrices by vectors."""
    return array_namespace(matrix, x).matmul(matrix, x[..., None])[..., 0]
