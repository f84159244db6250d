"""Axes moved to the end and back.

By a permutation: PyTorch's `moveaxis` does not work under its vmap.
"""

import math
from collections.abc import Sequence

from xpand._typing import Array, Namespace


def to_last(xp: Namespace, x: Array, axis: int) -> Array:
    """Move an axis, counted from the front, to the end."""
    if axis == x.ndim - 1:
        return x
    return xp.permute_dims(x, (*(i for i in range(x.ndim) if i != axis), axis))


def from_last(xp: Namespace, x: Array, axis: int) -> Array:
    """Move the last axis to a place counted from the front."""
    if axis == x.ndim - 1:
        return x
    last = x.ndim - 1
    return xp.permute_dims(x, (*range(axis), last, *range(axis, last)))


def as_last(xp: Namespace, x: Array, axes: Sequence[int]) -> Array:
    """Make one last axis of several, in their order."""
    if len(axes) == 1:
        return to_last(xp, x, axes[0])
    rest = [i for i in range(x.ndim) if i not in axes]
    if [*rest, *axes] != list(range(x.ndim)):
        x = xp.permute_dims(x, (*rest, *axes))
    return xp.reshape(x, (*x.shape[: len(rest)], math.prod(x.shape[len(rest) :])))
