"""The axes of arrays: which are meant, and those of a batch."""

import math
from collections.abc import Sequence
from typing import Any


def axis_of(function: str, axis: Any, ndim: int) -> int:
    """Count an axis from the front."""
    if not isinstance(axis, int) and not hasattr(axis, "__index__"):
        raise TypeError(f"{function}: axis must be an integer, got {axis!r}")
    found: int = axis.__index__()
    if not -ndim <= found < ndim:
        raise IndexError(f"{function}: axis {found} is out of bounds for an array of {ndim} axes")
    return found % ndim


def axes_of(function: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Count axes from the front: one, several, or, for None, all."""
    if axes is None:
        return tuple(range(ndim))
    found = tuple([axis_of(function, axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))])
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: axes must be different, got {axes}")
    return found


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Write a shape, which may be one number, as a tuple."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def lifted(xp: Any, mapped: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """Give the arrays that have no batch axis one of length 1, where others have one."""
    return [x if is_mapped else xp.expand_dims(x, axis=0) for is_mapped, x in zip(mapped, arrays)]


def spread_over_batch(xp: Any, mapped: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """Give the arrays that have no batch axis one, of the same lanes throughout."""
    size = next(x.shape[0] for is_mapped, x in zip(mapped, arrays) if is_mapped)
    return [
        x if is_mapped else xp.broadcast_to(xp.expand_dims(x, axis=0), (size, *x.shape))
        for is_mapped, x in zip(mapped, arrays)
    ]


def flattened(xp: Any, x: Any, batched: bool = False) -> Any:
    """Make one axis of all, the batch axis excepted."""
    return xp.reshape(x, (x.shape[0], math.prod(x.shape[1:])) if batched else (math.prod(x.shape),))
