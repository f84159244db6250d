"""Reading at integer indices: along one axis, at multi-indices, and with batch axes."""

from collections.abc import Sequence
from typing import Any

from xpand.extend import Array, ArrayLike, Namespace, checks

from .._bounds import MODES, Mode
from .._dispatch import pluggable


@pluggable
def take(
    x: Array,
    indices: Array,
    /,
    *,
    axis: int | None = None,
    mode: Mode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Take the elements at indices along an axis.

    Args:
        x: An array of one or more axes, of any data type.
        indices: Integers, of any shape. Negative indices count from the end.
        axis: The axis to index. It may be omitted for an array of one axis.
        mode: The treatment of indices out of bounds: "raise" an `IndexError`; "fill" (or "drop") returns `fill_value`;
            "clip" to the nearest element; "wrap" around. By default: "raise" if the values of the indices are known,
            otherwise (under jit and vmap, in lazy arrays) "fill".
        fill_value: The value for "fill": a Python scalar or an array of shape `()`. By default: NaN for floating-point
            types, the smallest signed integer, the largest unsigned integer, True for booleans.

    Returns:
        An array of shape `x.shape[:axis] + indices.shape + x.shape[axis + 1:]`, of the data type of `x`.

    Raises:
        TypeError: An argument of the wrong type or data type, arrays of two libraries, or a fill value that doesn't
            promote to the data type of `x`.
        ValueError: No such axis, or no axis although it is required; an unknown mode; arrays on two devices.
        IndexError: Indices out of bounds.

    Source: `take` of the standard, which takes one-dimensional indices and has no modes; JAX's modes.

    >>> import numpy as np
    >>> take(np.asarray([1.0, 2.0, 4.0]), np.asarray([[0, 2], [1, -1]])).tolist()
    [[1.0, 4.0], [2.0, 4.0]]
    >>> take(np.asarray([1, 2, 4]), np.asarray([0, 5]), mode="fill", fill_value=0)
    array([1, 0])
    """
    implementation, axis = take.planned(_check_take, (x, indices, fill_value), axis, mode)
    return implementation(x, indices, axis=axis, mode=mode, fill_value=fill_value)


@pluggable
def take_along_axis(
    x: Array, indices: Array, /, *, axis: int = -1, mode: Mode | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Take elements along an axis, with an index for each element of the result.

    Args:
        x: An array of one or more axes, of any data type.
        indices: Integers, with as many axes as `x`; all axes except `axis` broadcast with those of `x`.
        axis: The axis to index.
        mode: As in `take`.
        fill_value: As in `take`.

    Returns:
        An array of the broadcast shape, with the size of `indices` along `axis`.

    Raises:
        TypeError, IndexError: As `take`.
        ValueError: As `take`, or shapes that don't fit.

    Source: `take_along_axis` of the standard.

    >>> import numpy as np
    >>> x = np.asarray([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0]])
    >>> take_along_axis(x, np.asarray([[1, 0], [2, 2]])).tolist()
    [[1.0, 3.0], [5.0, 5.0]]
    """
    implementation, axis = take_along_axis.planned(_check_along, (x, indices, fill_value), axis, mode)
    return implementation(x, indices, axis=axis, mode=mode, fill_value=fill_value)


@pluggable
def gather(
    x: Array,
    indices: Array,
    /,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    mode: Mode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Gather slices at indices along an axis, with separate indices for each batch element.

    Without batch axes, this is `take`.

    Args:
        x: An array of shape `(*batch, *before, n, *after)`, of any data type.
        indices: Integers of shape `(*batch, *positions)`. Batch sizes broadcast with those of `x`. Negative indices
            count from the end.
        axis: The axis of `x` of size `n`. It must not be a batch axis.
        batch_dims: The number of batch axes, which are the first axes of both arrays.
        mode: As in `take`.
        fill_value: As in `take`.

    Returns:
        An array of shape `(*batch, *before, *positions, *after)`, of the data type of `x`.

    Raises:
        TypeError, IndexError: As `take`.
        ValueError: As `take`, or batch sizes that don't fit.

    Source: `tf.gather`.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> gather(x, np.asarray([1, 0])).tolist()
    [[4.0, 5.0, 6.0], [1.0, 2.0, 3.0]]
    >>> gather(x, np.asarray([[2, 0], [1, 1]]), axis=1, batch_dims=1).tolist()
    [[3.0, 1.0], [5.0, 5.0]]
    """
    implementation, axis, batch_dims = gather.planned(_check_gather, (x, indices, fill_value), axis, batch_dims, mode)
    return implementation(x, indices, axis=axis, batch_dims=batch_dims, mode=mode, fill_value=fill_value)


@pluggable
def gather_nd(
    x: Array,
    indices: Array,
    /,
    *,
    batch_dims: int = 0,
    axes: Sequence[int] | None = None,
    mode: Mode | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Gather slices at multi-indices, which lie along the last axis of `indices`.

    Args:
        x: An array of shape `(*batch, *sizes, *rest)`, of any data type.
        indices: Integers of shape `(*batch, *positions, k)`, an index for each of the `k` axes of `sizes`. Batch sizes
            broadcast with those of `x`. Negative indices count from the end.
        batch_dims: The number of batch axes, which are the first axes of both arrays.
        axes: The `k` axes of `x` that the multi-indices index, in this order. By default: the first axes after the
            batch axes.
        mode: As in `take`. A multi-index is out of bounds if any of its indices is.
        fill_value: As in `take`.

    Returns:
        An array of shape `(*batch, *positions, *rest)`, where `rest` are the axes not indexed, in the order of `x`.

    Raises:
        TypeError, IndexError: As `take`.
        ValueError: As `take`, sizes that don't fit, repeated axes, or batch axes among `axes`.

    Source: `tf.gather_nd`, and `Nx.gather` for `axes`.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> gather_nd(x, np.asarray([[0, 2], [1, 0]]))
    array([3., 4.])
    >>> gather_nd(x, np.asarray([[2], [0]]), axes=(1,)).tolist()
    [[3.0, 6.0], [1.0, 4.0]]
    """
    implementation, batch_dims, axes = gather_nd.planned(
        _check_gather_nd, (x, indices, fill_value), batch_dims, axes, mode
    )
    return implementation(x, indices, batch_dims=batch_dims, axes=axes, mode=mode, fill_value=fill_value)


# Checks, also for the functions of `scatter`


def check_indices(function: str, x: Array, indices: Array, mode: Any) -> Namespace:
    """Check an array, integer indices into it, and the mode; return their namespace."""
    xp = checks.together(function, x=x, indices=indices)
    checks.dtype(function, "indices", xp, indices, checks.INTEGERS)
    checks.choice(function, "mode", mode, MODES)
    checks.known_shape(function, "x", x)
    checks.known_shape(function, "indices", indices)
    return xp


def _check_reading(function: str, x: Array, indices: Array, mode: Any, fill_value: Any) -> None:
    """Check the common arguments of functions that read at indices."""
    xp = check_indices(function, x, indices, mode)
    if fill_value is not None:
        checks.scalar(function, "fill_value", xp, fill_value, x, "x")


def _check_take(function: str, x: Array, indices: Array, fill_value: Any, axis: Any, mode: Any) -> tuple[int]:
    _check_reading(function, x, indices, mode, fill_value)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{function}: axis must be given for an array of {x.ndim} axes")
        axis = 0
    return (checks.axis(function, axis, x.ndim),)


def _check_along(function: str, x: Array, indices: Array, fill_value: Any, axis: Any, mode: Any) -> tuple[int]:
    _check_reading(function, x, indices, mode, fill_value)
    axis = checks.axis(function, axis, x.ndim)
    lines = [(*array.shape[:axis], 1, *array.shape[axis + 1 :]) for array in (x, indices)]
    if x.ndim != indices.ndim or not _broadcast_together(*lines):
        raise ValueError(
            f"{function}: indices of shape {tuple(indices.shape)} must have as many axes as x, of shape "
            f"{tuple(x.shape)}, and sizes that broadcast with its sizes, axis {axis} excepted"
        )
    return (axis,)


def _check_gather(
    function: str, x: Array, indices: Array, fill_value: Any, axis: Any, batch_dims: Any, mode: Any
) -> tuple[int, int]:
    _check_reading(function, x, indices, mode, fill_value)
    axis, batch_dims = check_gather(function, x, indices, axis, batch_dims)
    _check_batch(function, x, indices, batch_dims)
    return axis, batch_dims


def _check_gather_nd(
    function: str, x: Array, indices: Array, fill_value: Any, batch_dims: Any, axes: Any, mode: Any
) -> tuple[int, tuple[int, ...]]:
    _check_reading(function, x, indices, mode, fill_value)
    batch_dims, axes = check_multi_index(function, x, indices, batch_dims, axes)
    _check_batch(function, x, indices, batch_dims)
    return batch_dims, axes


def check_gather(function: str, x: Array, indices: Array, axis: Any, batch_dims: Any) -> tuple[int, int]:
    """Check the axis and the number of batch axes; return both, with the axis counted from the front."""
    axis = checks.axis(function, axis, x.ndim)
    batch_dims = checks.integer(function, "batch_dims", batch_dims, minimum=0)
    if batch_dims > axis or batch_dims > indices.ndim:
        raise ValueError(
            f"{function}: batch_dims={batch_dims} must be at most axis={axis} and the {indices.ndim} axes of indices"
        )
    return axis, batch_dims


def check_multi_index(
    function: str, x: Array, indices: Array, batch_dims: Any, axes: Any
) -> tuple[int, tuple[int, ...]]:
    """Check the number of batch axes and the indexed axes; return both, with the axes counted from the front."""
    batch_dims = checks.integer(function, "batch_dims", batch_dims, minimum=0)
    if batch_dims > x.ndim or batch_dims > indices.ndim - 1:
        raise ValueError(
            f"{function}: batch_dims={batch_dims} must be at most the {x.ndim} axes of x, and less than the "
            f"{indices.ndim} axes of indices, whose last one holds the multi-indices"
        )
    k = indices.shape[-1]
    if axes is None:
        if batch_dims + k > x.ndim:
            raise ValueError(
                f"{function}: the last axis of indices has size {k}, one index for each of as many axes of x, which "
                f"has only {x.ndim - batch_dims}" + (" after the batch axes" if batch_dims else "")
            )
        return batch_dims, tuple(range(batch_dims, batch_dims + k))
    if not isinstance(axes, Sequence):
        raise TypeError(f"{function}: axes must be a sequence of integers or None, got {axes!r}")
    found = tuple([checks.axis(function, axis, x.ndim, "axes") for axis in axes])
    if len(found) != k or len(set(found)) != k or any(axis < batch_dims for axis in found):
        raise ValueError(
            f"{function}: axes={tuple(axes)} must be {k} different axes, one for each index along the last axis of "
            "indices, none of them a batch axis"
        )
    return batch_dims, found


def _broadcast_together(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    if one == other:
        return True
    try:
        checks.broadcast(one, other)
    except ValueError:
        return False
    return True


def _check_batch(function: str, x: Array, indices: Array, batch_dims: int) -> None:
    sizes, given = tuple(x.shape[:batch_dims]), tuple(indices.shape[:batch_dims])
    if not _broadcast_together(sizes, given):
        raise ValueError(f"{function}: the batch sizes of x, {sizes}, and of indices, {given}, do not broadcast")
