"""Shapes of arrays, also with sizes that are unknown, such as those of lazy arrays that were indexed with a mask."""

from typing import Any, TypeAlias, cast

from . import _arguments
from ._namespace import compute_sizes
from .typing import Array

__all__ = ["Sizes", "broadcast_shapes", "compute_shape", "has_known_shape", "shape"]
__dir__ = __all__.copy

Sizes: TypeAlias = tuple[int | None, ...]
"""The sizes of an array's axes. None: unknown."""


def shape(x: Array, /) -> Sizes:
    """Return the shape of an array as the standard defines it: an unknown size is None. In Dask's `shape` it is NaN.

    Nothing is computed. `xpand.size` does the same for the number of elements.

    Raises:
        TypeError: `x` is not an array.

    >>> import dask.array as da
    >>> x = da.arange(4, chunks=2)
    >>> shape(x[x > 1])
    (None,)
    """
    _arguments.namespace_of("shape", x=x)
    return _sizes(x.shape)


def has_known_shape(x: Array, /) -> bool:
    """Return whether all sizes of an array are known.

    Raises:
        TypeError: `x` is not an array.

    >>> import numpy as np
    >>> has_known_shape(np.ones((2, 3)))
    True
    """
    return None not in shape(x)


def compute_shape(x: Array, /) -> Array:
    """Return an array with the same values whose sizes are all known. Unknown ones are computed.

    Args:
        x: An array of any library.

    Returns:
        `x` itself if its shape is known. Otherwise, a lazy array whose values are not stored: they are computed again
        when they are needed.

    Raises:
        TypeError: `x` is not an array.
        ValueError: The library has no way to compute the sizes.

    Source: `dask.array.Array.compute_chunk_sizes`, which changes its argument.

    >>> import dask.array as da
    >>> x = da.arange(4, chunks=2)
    >>> compute_shape(x[x > 1]).shape
    (2,)
    """
    if has_known_shape(x):
        return x
    found = compute_sizes(x)
    if found is None:
        raise ValueError(f"compute_shape: x has the shape {shape(x)}, and its library can't compute sizes alone")
    return found


def broadcast_shapes(*shapes: tuple[float | None, ...]) -> Sizes:
    """Broadcast shapes by the standard's rules. An unknown size, None or NaN, fits every other one.

    Args:
        *shapes: The shapes.

    Returns:
        The common shape. A size is None if it is unknown in one shape, and unknown or 1 in the others.

    Raises:
        ValueError: The shapes don't broadcast.

    Source: `array_api_extra.broadcast_shapes`; `broadcast_shapes` of the standard.

    >>> broadcast_shapes((3, None), (1, 4))
    (3, 4)
    >>> broadcast_shapes((3, None), (1, 1))
    (3, None)
    """
    try:
        return _sizes(_arguments.broadcast((), *shapes))
    except ValueError:
        given = ", ".join(map(str, shapes))
        raise ValueError(f"broadcast_shapes: shapes must broadcast together, got {given}") from None


def _sizes(given: Any) -> Sizes:
    return cast("Sizes", tuple([None if size is None or size != size else int(size) for size in given]))
