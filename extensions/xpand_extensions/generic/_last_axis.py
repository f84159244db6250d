"""Move axes to the end and back."""

import math
from collections.abc import Sequence

from xpand.extend import LibraryArray as Array, Namespace


def to_last(xp: Namespace, x: Array, axis: int) -> Array:
    """Move an axis, counted from the front, to the end."""
    return x if axis == x.ndim - 1 else xp.moveaxis(x, axis, -1)


def from_last(xp: Namespace, x: Array, axis: int) -> Array:
    """Move the last axis to a position counted from the front."""
    return x if axis == x.ndim - 1 else xp.moveaxis(x, -1, axis)


def as_last(xp: Namespace, x: Array, axes: Sequence[int]) -> Array:
    """Merge several axes, in their order, into one last axis."""
    if len(axes) == 1:
        return to_last(xp, x, axes[0])
    rest = [i for i in range(x.ndim) if i not in axes]
    if [*rest, *axes] != list(range(x.ndim)):
        x = xp.permute_dims(x, (*rest, *axes))
    return xp.reshape(x, (*x.shape[: len(rest)], math.prod(x.shape[len(rest) :])))
