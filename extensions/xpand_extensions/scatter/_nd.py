"""Writing at integer indices: along one axis, at multi-indices, and with batch axes."""

from collections.abc import Sequence
from typing import Any, Final, Literal, TypeAlias

from xpand.extend import Array, ArrayLike, checks

from .._bounds import Mode
from .._dispatch import pluggable
from ..indexing._take import check_gather, check_indices, check_multi_index

ScatterOperation: TypeAlias = Literal["set", "add", "subtract", "multiply", "min", "max", "mean"]
"""The operation that combines elements with values."""

_OPERATIONS: Final[dict[str, frozenset[checks.Kind] | None]] = {
    "set": None,
    "add": checks.NUMERIC,
    "subtract": checks.NUMERIC,
    "multiply": checks.NUMERIC,
    "min": checks.ORDERED,
    "max": checks.ORDERED,
    "mean": checks.FLOATING,
}


@pluggable
def scatter(
    x: Array,
    indices: Array,
    values: ArrayLike,
    /,
    *,
    axis: int = 0,
    batch_dims: int = 0,
    operation: ScatterOperation = "set",
    mode: Mode | None = None,
) -> Array:
    """Write slices at indices along an axis, with separate indices for each batch element: the inverse of
    `indexing.gather`.

    Args:
        x: An array of shape `(*batch, *before, n, *after)`. It is never changed.
        indices: Integers of shape `(*batch, *positions)`; each batch size is that of `x`, or 1. Negative indices count
            from the end.
        values: An array that broadcasts to the shape `(*batch, *before, *positions, *after)`, or a Python scalar. It is
            cast to the data type of `x`.
        axis: The axis of `x` of size `n`. It must not be a batch axis.
        batch_dims: The number of batch axes, which are the first axes of `x` and `indices`.
        operation: "set" replaces elements by values, and by the last value for duplicate indices; "add", "subtract",
            "multiply", "min" and "max" combine an element with all its values; "mean" replaces an element by the mean
            of its values.
        mode: The treatment of indices out of bounds: "raise" an `IndexError`; "drop" (or "fill") their values; "clip"
            them to the nearest element; "wrap" around. By default: "raise" if the values of the indices are known,
            otherwise (under jit and vmap, in lazy arrays) "drop".

    Returns:
        An array of the shape, data type and device of `x`.

    Raises:
        TypeError: An argument of the wrong type; a data type of `x` that the operation doesn't take (it takes numeric
            ones; real or boolean for "min" and "max", floating-point for "mean"); values of a kind that doesn't promote
            to that of `x`; arrays of two libraries.
        ValueError: No such axis, batch sizes or values that don't fit, an unknown operation or mode, arrays on two
            devices.
        IndexError: Indices out of bounds.

    Copies `x` and reads the values once; a library without scatter also sorts the indices.

    Source: the inverse of `tf.gather`.

    >>> import numpy as np
    >>> x, values = np.zeros(3), np.asarray([1.0, 2.0, 6.0])
    >>> scatter(x, np.asarray([0, 2, 2]), values, operation="add")
    array([1., 0., 8.])
    >>> scatter(x, np.asarray([0, 2, 2]), values, operation="mean")
    array([1., 0., 4.])
    """
    given = axis, batch_dims, operation, mode
    implementation, axis, batch_dims = scatter.planned(_check, (x, indices, values), *given)
    return implementation(x, indices, values, axis=axis, batch_dims=batch_dims, operation=operation, mode=mode)


@pluggable
def scatter_nd(
    x: Array,
    indices: Array,
    values: ArrayLike,
    /,
    *,
    batch_dims: int = 0,
    axes: Sequence[int] | None = None,
    operation: ScatterOperation = "set",
    mode: Mode | None = None,
) -> Array:
    """Write slices at multi-indices, which lie along the last axis of `indices`: the inverse of `indexing.gather_nd`.

    Args:
        x: An array of shape `(*batch, *sizes, *rest)`. It is never changed.
        indices: Integers of shape `(*batch, *positions, k)`, an index for each of the `k` axes of `sizes`; each batch
            size is that of `x`, or 1. Negative indices count from the end.
        values: An array that broadcasts to the shape `(*batch, *positions, *rest)`, or a Python scalar. It is cast to
            the data type of `x`.
        batch_dims: The number of batch axes, which are the first axes of `x` and `indices`.
        axes: The `k` axes of `x` that the multi-indices index, in this order; `rest` are the other axes, in the order
            of `x`. By default: the first axes after the batch axes.
        operation: As in `scatter`.
        mode: As in `scatter`. A multi-index is out of bounds if any of its indices is.

    Returns:
        An array of the shape, data type and device of `x`.

    Raises:
        TypeError, IndexError: As `scatter`.
        ValueError: As `scatter`, or repeated axes, or batch axes among `axes`.

    Takes as long as `scatter`.

    Source: `tf.tensor_scatter_nd_update` and its variants; PhiML's `scatter` for batches.

    >>> import numpy as np
    >>> scatter_nd(np.zeros((2, 3)), np.asarray([[0, 2], [1, 0]]), np.asarray([1.0, 2.0])).tolist()
    [[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]]
    """
    given = batch_dims, axes, operation, mode
    implementation, batch_dims, axes = scatter_nd.planned(_check_nd, (x, indices, values), *given)
    return implementation(x, indices, values, batch_dims=batch_dims, axes=axes, operation=operation, mode=mode)


def indexed_add(
    x: Array, indices: Array, values: ArrayLike, /, *, axes: Sequence[int] | None = None, mode: Mode | None = None
) -> Array:
    """Add values to an array at multi-indices: `scatter_nd` with the operation "add".

    Arguments, result and errors are those of `scatter_nd`.

    Source: `Nx.indexed_add`.

    >>> import numpy as np
    >>> indexed_add(np.asarray([1.0, 2.0]), np.asarray([[0], [0]]), np.asarray([1.0, 5.0]))
    array([7., 2.])
    """
    _, axes = _check_nd("indexed_add", x, indices, values, 0, axes, "add", mode)
    return scatter_nd.native(x, indices, values)(
        x, indices, values, batch_dims=0, axes=axes, operation="add", mode=mode
    )


def indexed_put(
    x: Array, indices: Array, values: ArrayLike, /, *, axes: Sequence[int] | None = None, mode: Mode | None = None
) -> Array:
    """Put values into an array at multi-indices: `scatter_nd` with the operation "set".

    Arguments, result and errors are those of `scatter_nd`.

    Source: `Nx.indexed_put`.

    >>> import numpy as np
    >>> indexed_put(np.asarray([1.0, 2.0]), np.asarray([[1], [1]]), np.asarray([3.0, 5.0]))
    array([1., 5.])
    """
    _, axes = _check_nd("indexed_put", x, indices, values, 0, axes, "set", mode)
    return scatter_nd.native(x, indices, values)(
        x, indices, values, batch_dims=0, axes=axes, operation="set", mode=mode
    )


def _check(
    function: str, x: Array, indices: Array, values: Any, axis: Any, batch_dims: Any, operation: Any, mode: Any
) -> tuple[int, int]:
    """Check the arguments of a scatter along an axis; return the axis and the number of batch axes."""
    check_indices(function, x, indices, mode)
    _check_values(function, x, values, operation)
    axis, batch_dims = check_gather(function, x, indices, axis, batch_dims)
    _check_batch(function, x, indices, batch_dims)
    shape = tuple(x.shape)
    _check_shape(function, values, (*shape[:axis], *indices.shape[batch_dims:], *shape[axis + 1 :]))
    return axis, batch_dims


def _check_nd(
    function: str, x: Array, indices: Array, values: Any, batch_dims: Any, axes: Any, operation: Any, mode: Any
) -> tuple[int, tuple[int, ...]]:
    """Check the arguments of a scatter at multi-indices; return the number of batch axes and the indexed axes."""
    check_indices(function, x, indices, mode)
    _check_values(function, x, values, operation)
    batch_dims, axes = check_multi_index(function, x, indices, batch_dims, axes)
    _check_batch(function, x, indices, batch_dims)
    rest = [size for axis, size in enumerate(x.shape) if axis >= batch_dims and axis not in axes]
    _check_shape(function, values, (*x.shape[:batch_dims], *indices.shape[batch_dims:-1], *rest))
    return batch_dims, axes


def _check_values(function: str, x: Array, values: Any, operation: Any) -> None:
    checks.choice(function, "operation", operation, _OPERATIONS)
    if type(values) in (bool, int, float, complex):
        xp = checks.namespace_of(function, x=x)
    else:
        xp = checks.together(function, x=x, values=values)
    kinds = _OPERATIONS[operation]
    if kinds is not None:
        checks.dtype(function, "x", xp, x, kinds)
    checks.castable(function, "values", xp, values, x, "x")


def _check_batch(function: str, x: Array, indices: Array, batch_dims: int) -> None:
    sizes, given = tuple(x.shape[:batch_dims]), tuple(indices.shape[:batch_dims])
    if not checks.broadcasts_to(given, sizes):
        raise ValueError(
            f"{function}: each batch size of indices must be that of x or 1, got {given}, x has {sizes}; broadcast "
            "x first with `xp.broadcast_to`"
        )


def _check_shape(function: str, values: Any, shape: tuple[int, ...]) -> None:
    if not hasattr(values, "dtype"):
        return
    given = checks.known_shape(function, "values", values)
    if not checks.broadcasts_to(given, shape):
        raise ValueError(f"{function}: values of shape {given} do not broadcast to the shape of the selection, {shape}")
