"""Changes of shape: padding and tiling to a size, broadcasting by position, batches. Changes of diagonals."""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from . import _arguments
from ._namespace import array_namespace
from .typing import Array, ArrayLike

__all__ = ["atleast_nd", "broadcast_in_dim", "fill_diagonal", "pad_to", "tile_to", "to_batched"]
__dir__ = __all__.copy


def atleast_nd(x: Array, /, *, ndim: int) -> Array:
    """Add leading axes of size one until an array has at least `ndim` axes.

    Args:
        x: An array.
        ndim: The smallest number of axes of the result.

    Raises:
        TypeError: `x` is not an array, or `ndim` is not an integer.
        ValueError: `ndim` is negative.

    Source: `numpy.atleast_1d`, `array_api_extra.atleast_nd`.

    >>> import numpy as np
    >>> atleast_nd(np.asarray([1, 2]), ndim=3)
    array([[[1, 2]]])
    """
    xp = _arguments.namespace_of("atleast_nd", x=x)
    ndim = _arguments.integer("atleast_nd", "ndim", ndim, minimum=0)
    return xp.reshape(x, (1,) * (ndim - x.ndim) + tuple(x.shape)) if x.ndim < ndim else x


def pad_to(x: Array, /, size: int, *, axis: int = -1, fill_value: ArrayLike = 0) -> Array:
    """Change the size of an axis: add elements at the end of the axis, or cut elements off.

    Args:
        x: An array with one or more axes.
        size: The size of the result along `axis`.
        axis: The axis.
        fill_value: The value of added elements: a number or an array of shape `()` that promotes to the data type of
            `x`.

    Returns:
        An array of the data type of `x`. This is `x` itself if the size does not change. If elements are cut off,
        whether the result shares memory with `x` depends on the library.

    Raises:
        TypeError: `x` is not an array, or `fill_value` doesn't promote to its data type or is of another library.
        ValueError: `size` is negative, there is no such axis, or `fill_value` has another shape or device.
        OverflowError: `fill_value` is an integer out of the range of the data type of `x`.

    Source: PhiML's `pad_to`.

    >>> import numpy as np
    >>> pad_to(np.asarray([1, 2, 3]), 5, fill_value=-1)
    array([ 1,  2,  3, -1, -1])
    >>> pad_to(np.asarray([1, 2, 3]), 2)
    array([1, 2])
    """
    xp = _arguments.namespace_of("pad_to", x=x)
    size = _arguments.integer("pad_to", "size", size, minimum=0)
    axis = _arguments.axis("pad_to", axis, x.ndim)
    shape = _arguments.known_shape("pad_to", "x", x)
    value: Any = fill_value
    given = _arguments.is_array(value)
    if given:
        xp = _arguments.namespace_of("pad_to", x=x, fill_value=value)
        _arguments.one_device("pad_to", x=x, fill_value=value)
        if value.ndim:
            raise ValueError(f"pad_to: fill_value must be a number or of shape (), got shape {tuple(value.shape)}")
    _arguments.castable("pad_to", "fill_value", xp, value, x, "x")
    missing = size - shape[axis]
    if missing <= 0:
        return x if missing == 0 else x[(slice(None),) * axis + (slice(size), ...)]
    rest = (*shape[:axis], missing, *shape[axis + 1 :])
    if given:
        filled = xp.broadcast_to(xp.astype(value, x.dtype), rest)
    else:
        filled = xp.full(rest, value, dtype=x.dtype, device=_arguments.device_of(x))
    return xp.concat([x, filled], axis=axis)


def tile_to(x: Array, /, size: int, *, axis: int = -1) -> Array:
    """Repeat an array along an axis up to a given size.

    Args:
        x: An array with one or more axes.
        size: The size of the result along `axis`, a multiple of the size of `x`.
        axis: The axis.

    Raises:
        TypeError: `x` is not an array, or an option is not an integer.
        ValueError: `size` is not a multiple of the size of the axis, or there is no such axis.

    Source: PhiML's `tile_to`.

    >>> import numpy as np
    >>> tile_to(np.asarray([1, 2]), 6)
    array([1, 2, 1, 2, 1, 2])
    """
    xp = _arguments.namespace_of("tile_to", x=x)
    size = _arguments.integer("tile_to", "size", size, minimum=0)
    axis = _arguments.axis("tile_to", axis, x.ndim)
    now = _arguments.known_shape("tile_to", "x", x)[axis]
    if now == size:
        return x
    if now == 0 or size % now:
        raise ValueError(
            f"tile_to: size={size} is not a multiple of {now}, the size of axis {axis}; `pad_to` takes any size"
        )
    return xp.tile(x, tuple(size // now if i == axis else 1 for i in range(x.ndim)))


def broadcast_in_dim(x: Array, /, shape: int | Sequence[int], *, axes: int | Sequence[int]) -> Array:
    """Broadcast an array to a shape, with its axes at given positions of the result.

    Args:
        x: An array of any shape.
        shape: The shape of the result.
        axes: The position in the result of each axis of `x`, in increasing order. An axis of `x` must have the same
            size as the axis of the result, or 1.

    Returns:
        An array of the given shape. Whether it shares memory with `x` depends on the library.

    Raises:
        TypeError: `x` is not an array, or a size or an axis is not an integer.
        ValueError: The number of axes is wrong, the axes don't increase, or a size doesn't broadcast.

    Source: `jax.lax.broadcast_in_dim`, Nx's `broadcast`.

    >>> import numpy as np
    >>> broadcast_in_dim(np.asarray([1, 2]), (2, 3), axes=0)
    array([[1, 1, 1],
           [2, 2, 2]])
    """
    xp = _arguments.namespace_of("broadcast_in_dim", x=x)
    sizes = _arguments.shape("broadcast_in_dim", "shape", shape)
    positions = _arguments.axes("broadcast_in_dim", axes, len(sizes))
    own = _arguments.known_shape("broadcast_in_dim", "x", x)
    if len(positions) != len(own):
        raise ValueError(
            f"broadcast_in_dim: axes must give a position for each of the {len(own)} axes of x, got {len(positions)}: "
            f"{axes}"
        )
    if list(positions) != sorted(positions):
        raise ValueError(
            f"broadcast_in_dim: axes must increase, got {axes}; reorder the axes of x first, with `xp.permute_dims`"
        )
    for axis, (position, size) in enumerate(zip(positions, own)):
        if size not in (1, sizes[position]):
            raise ValueError(
                f"broadcast_in_dim: axis {axis} of x has size {size}, which doesn't broadcast to the {sizes[position]} "
                f"of axis {position} of the result"
            )
    aligned = [1] * len(sizes)
    for position, size in zip(positions, own):
        aligned[position] = size
    return xp.broadcast_to(xp.reshape(x, tuple(aligned)), sizes)


def fill_diagonal(x: Array, value: ArrayLike, /, *, offset: int = 0) -> Array:
    """Return matrices with other values on a diagonal.

    Args:
        x: An array of shape `(*batch, m, n)`, of any data type.
        value: The values on the diagonal: a number, or an array that broadcasts to the shape of the diagonal,
            `(*batch, k)`, and promotes to the data type of `x`.
        offset: The diagonal: above the main one if positive, below it if negative.

    Returns:
        A new array of the shape and data type of `x`.

    Raises:
        TypeError: `x` is not an array, `value` doesn't promote to its data type or is of another library, or `offset`
            is not an integer.
        ValueError: `x` has fewer than two axes, `value` doesn't broadcast, or lies on another device.
        OverflowError: `value` is an integer out of the range of the data type of `x`.

    Source: `numpy.fill_diagonal`, for matrices, which it overwrites.

    >>> import numpy as np
    >>> fill_diagonal(np.zeros((2, 3)), np.asarray([1.0, 2.0]), offset=1)
    array([[0., 1., 0.],
           [0., 0., 2.]])
    """
    xp = _arguments.namespace_of("fill_diagonal", x=x)
    offset = _arguments.integer("fill_diagonal", "offset", offset)
    shape = _arguments.known_shape("fill_diagonal", "x", x)
    if len(shape) < 2:
        raise ValueError(f"fill_diagonal: x must have at least two axes, got the shape {shape}")
    *batch, m, n = shape
    device = _arguments.device_of(x)
    filled: Any = value
    if _arguments.is_array(filled):
        xp = _arguments.together("fill_diagonal", x=x, value=filled)
    _arguments.castable("fill_diagonal", "value", xp, filled, x, "x")
    if not _arguments.is_array(filled):
        filled = xp.full((), filled, dtype=x.dtype, device=device)
    first = max(-offset, 0)  # the first row of the diagonal
    size = max(min(m - first, n - max(offset, 0)), 0)
    if not _arguments.broadcasts_to(tuple(filled.shape), (*batch, size)):
        raise ValueError(
            f"fill_diagonal: value must broadcast to the shape of the diagonal, {(*batch, size)}, got "
            f"{tuple(filled.shape)}"
        )
    if not size:
        return xp.asarray(x, copy=True)
    filled = xp.astype(filled, x.dtype, copy=False)
    if filled.ndim:
        # Align the values with rows.
        filled = xp.broadcast_to(filled, (*filled.shape[:-1], size))
        before, after = (
            xp.zeros((*filled.shape[:-1], number), dtype=x.dtype, device=device) for number in (first, m - size - first)
        )
        filled = xp.expand_dims(xp.concat([before, filled, after], axis=-1), axis=-1)
    mask = xp.astype(xp.eye(m, n, k=offset, dtype=xp.int8, device=device), xp.bool)
    return xp.where(mask, filled, x)


def to_batched(
    x: Array, /, batch_size: int, *, axis: int = 0, leftover: Literal["repeat", "discard", "keep"] = "repeat"
) -> Iterator[Array]:
    """Split an array along an axis into batches of equal size.

    Args:
        x: An array with one or more axes.
        batch_size: The size of each batch along `axis`, at most the size of `x`.
        axis: The axis.
        leftover: The treatment of a last batch that is not full: "repeat" fills it with the start of `x`, "discard"
            drops it, "keep" yields it unchanged.

    Returns:
        An iterator. Each batch is sliced when it is needed.

    Raises:
        TypeError: `x` is not an array, or an option has the wrong type.
        ValueError: `batch_size` below 1 or above the size of the axis, no such axis, or an unknown `leftover`.

    Source: Nx's `to_batched`.

    >>> import numpy as np
    >>> [batch.tolist() for batch in to_batched(np.asarray([1, 2, 3]), 2)]
    [[1, 2], [3, 1]]
    """
    _arguments.namespace_of("to_batched", x=x)
    batch_size = _arguments.integer("to_batched", "batch_size", batch_size, minimum=1)
    axis = _arguments.axis("to_batched", axis, x.ndim)
    _arguments.choice("to_batched", "leftover", leftover, ("repeat", "discard", "keep"))
    size = _arguments.known_shape("to_batched", "x", x)[axis]
    if batch_size > size:
        raise ValueError(f"to_batched: batch_size={batch_size} is more than {size}, the size of axis {axis}")
    return _batches(x, batch_size, axis, size, leftover)


def _batches(x: Array, batch_size: int, axis: int, size: int, leftover: str) -> Iterator[Array]:
    def part(start: int, stop: int) -> Array:
        return x[(slice(None),) * axis + (slice(start, stop), ...)]

    full = size - size % batch_size
    for start in range(0, full, batch_size):
        yield part(start, start + batch_size)
    if full < size and leftover == "keep":
        yield part(full, size)
    elif full < size and leftover == "repeat":
        yield array_namespace(x).concat([part(full, size), part(0, batch_size - (size - full))], axis=axis)
