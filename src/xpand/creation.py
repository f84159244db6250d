"""Arrays made from a rule."""

import math
from collections.abc import Sequence
from typing import Any

from . import _arguments
from ._defaults import default_namespace
from ._typing import Array, Device, DType, Namespace

__all__ = ["iota"]


def iota(
    shape: int | Sequence[int],
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    device: Device | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Count: along one axis, the same at every place of the others, or through the whole array in row-major order.

    Args:
        shape: The shape of the result; a number for one axis.
        axis: The axis to count along. Left out: every element has its own number.
        dtype: An integer or real floating-point data type; the library's default integer where left out.
        device: Where the result lies; the library's default device where left out.
        xp: The namespace; the default one where left out.

    Returns:
        An array of the given shape. Along an axis it may be a view that repeats the numbers, not to be written into.

    Raises:
        TypeError: Sizes or an axis that are no integers, or a data type that isn't real-valued.
        ValueError: A negative size, or no such axis.

    Source: Nx's `iota`, `jax.lax.broadcasted_iota`.

    >>> iota((2, 3))
    array([[0, 1, 2],
           [3, 4, 5]])
    >>> iota((2, 3), axis=0)
    array([[0, 0, 0],
           [1, 1, 1]])
    """
    xp = default_namespace() if xp is None else xp
    sizes = _arguments.shape("iota", "shape", shape)
    if dtype is not None and _arguments.kind(xp, dtype) not in _arguments.REAL_VALUED:
        raise TypeError(
            f"iota: dtype must be an integer or real floating-point data type, got {dtype}; convert the result with "
            "`xp.astype`"
        )
    options: dict[str, Any] = {"dtype": dtype, "device": device}
    if axis is None:
        return xp.reshape(xp.arange(math.prod(sizes), **options), sizes)
    axis = _arguments.axis("iota", axis, len(sizes))
    along = [1] * len(sizes)
    along[axis] = sizes[axis]
    return xp.broadcast_to(xp.reshape(xp.arange(sizes[axis], **options), tuple(along)), sizes)
