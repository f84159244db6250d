"""Creation of arrays: diagonals, counts, indices, one-hot vectors."""

import math
from collections.abc import Sequence
from typing import Any

from . import _arguments
from ._defaults import default_namespace
from ._precision import default_dtype
from .typing import Array, Device, DType, Namespace

__all__ = ["create_diagonal", "diag_indices", "iota", "one_hot", "tril_indices", "triu_indices"]
__dir__ = __all__.copy


def iota(
    shape: int | Sequence[int],
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    device: Device | None = None,
    xp: Namespace | None = None,
) -> Array:
    """Return consecutive integers, along one axis or through the whole array in row-major order.

    Args:
        shape: The shape of the result; a number for one axis.
        axis: The axis to count along. By default, every element has its own number.
        dtype: An integer or real floating-point data type; the library's default integer by default.
        device: The device of the result; the library's default device by default.
        xp: The namespace; by default, `default_namespace()`.

    Returns:
        An array of the given shape. With `axis`, it may be a view that repeats numbers: do not write into it.

    Raises:
        TypeError: A size or the axis is not an integer, or the data type is not real-valued.
        ValueError: A size is negative, or there is no such axis.

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


def create_diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Create matrices with given diagonals and zeros elsewhere.

    Args:
        x: The diagonals: an array of shape `(*batch, n)`, of any data type.
        offset: The diagonal: above the main one if positive, below it if negative.

    Returns:
        An array of shape `(*batch, n + abs(offset), n + abs(offset))`, of the data type of `x`.

    Raises:
        TypeError: `x` is not an array, or `offset` is not an integer.
        ValueError: `x` has no axis.

    Source: `numpy.diag`, `array_api_extra.create_diagonal`.

    >>> import numpy as np
    >>> create_diagonal(np.asarray([1, 2]), offset=1)
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    xp = _arguments.namespace_of("create_diagonal", x=x)
    offset = _arguments.integer("create_diagonal", "offset", offset)
    if not x.ndim:
        raise ValueError("create_diagonal: x must have an axis or more, got an array of shape ()")
    device = _arguments.device_of(x)
    size = x.shape[-1] + abs(offset)
    beyond = xp.zeros((*x.shape[:-1], abs(offset)), dtype=x.dtype, device=device)
    padded = xp.concat([x, beyond], axis=-1) if offset else x
    # Diagonals above the main one are filled by row, diagonals below it by column.
    numbers = xp.expand_dims(padded, axis=-1 if offset >= 0 else -2)
    mask = xp.astype(xp.eye(size, k=offset, dtype=xp.int8, device=device), xp.bool)
    return xp.where(mask, numbers, xp.zeros((), dtype=x.dtype, device=device))


def one_hot(x: Array, /, num_classes: int, *, dtype: DType | None = None, axis: int = -1) -> Array:
    """Return one-hot vectors: one at the position given by each integer, zero elsewhere.

    Args:
        x: An array of integers. Integers outside `0 <= x < num_classes` become vectors of zeros.
        num_classes: The number of elements of each vector.
        dtype: The data type of the result; the default real data type by default.
        axis: The axis of the result that the vectors lie along.

    Raises:
        TypeError: `x` is not an array of integers, or an option is not an integer.
        ValueError: The number of classes is negative, or there is no such axis.

    Source: `jax.nn.one_hot`, `array_api_extra.one_hot`.

    >>> import numpy as np
    >>> one_hot(np.asarray([1, 0, 5]), 3)
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 0., 0.]])
    """
    xp = _arguments.namespace_of("one_hot", x=x)
    _arguments.dtype("one_hot", "x", xp, x, _arguments.INTEGERS)
    count = _arguments.integer("one_hot", "num_classes", num_classes, minimum=0)
    axis = _arguments.axis("one_hot", axis, x.ndim + 1)
    device = _arguments.device_of(x)
    dtype = default_dtype(xp, device=device) if dtype is None else dtype
    # Compare in a data type that can hold both the integers and the class numbers.
    wide = x if _arguments.kind(xp, x.dtype) == "unsigned" else xp.astype(x, xp.int64)
    if _arguments.integer_range(xp, wide.dtype)[1] < count:
        wide = xp.astype(wide, xp.int64)
    classes = xp.arange(count, dtype=wide.dtype, device=device)
    return xp.astype(xp.moveaxis(xp.expand_dims(wide, axis=-1) == classes, -1, axis), dtype)


def diag_indices(
    n: int, /, *, ndim: int = 2, device: Device | None = None, xp: Namespace | None = None
) -> tuple[Array, ...]:
    """Return the indices of the main diagonal of an array with `ndim` axes of size `n`.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: The size or the number of axes is negative.

    Source: `numpy.diag_indices`, `array_api_extra.diag_indices`.

    >>> diag_indices(2)
    (array([0, 1]), array([0, 1]))
    """
    xp = default_namespace() if xp is None else xp
    n = _arguments.integer("diag_indices", "n", n, minimum=0)
    ndim = _arguments.integer("diag_indices", "ndim", ndim, minimum=0)
    return (xp.arange(n, dtype=_index_dtype(xp, device), device=device),) * ndim


def tril_indices(
    n: int, /, *, offset: int = 0, m: int | None = None, device: Device | None = None, xp: Namespace | None = None
) -> tuple[Array, Array]:
    """Return the indices of the lower triangle of a matrix, row by row.

    Args:
        n: The number of rows.
        offset: The last diagonal of the triangle: above the main one if positive, below it if negative.
        m: The number of columns; `n` by default.
        device: The device of the result; the library's default device by default.
        xp: The namespace; by default, `default_namespace()`.

    Returns:
        The indices of the rows and of the columns, of the default data type of indices.

    Raises:
        TypeError: An argument is not an integer.
        ValueError: A size is negative.

    Source: `numpy.tril_indices`, `array_api_extra.tril_indices`.

    >>> tril_indices(2)
    (array([0, 1, 1]), array([0, 0, 1]))
    """
    n, m, offset = _sizes("tril_indices", n, m, offset)
    return _triangle(n, m, xp, device, [(0, min(max(row + offset + 1, 0), m)) for row in range(n)])


def triu_indices(
    n: int, /, *, offset: int = 0, m: int | None = None, device: Device | None = None, xp: Namespace | None = None
) -> tuple[Array, Array]:
    """Return the indices of the upper triangle of a matrix, row by row.

    Arguments, result and errors are the same as for `tril_indices`. The first diagonal of the triangle is `offset`.

    Source: `numpy.triu_indices`, `array_api_extra.triu_indices`.

    >>> triu_indices(2)
    (array([0, 0, 1]), array([0, 1, 1]))
    """
    n, m, offset = _sizes("triu_indices", n, m, offset)
    return _triangle(n, m, xp, device, [(min(max(row + offset, 0), m), m) for row in range(n)])


def _sizes(function: str, n: int, m: int | None, offset: int) -> tuple[int, int, int]:
    n = _arguments.integer(function, "n", n, minimum=0)
    m = n if m is None else _arguments.integer(function, "m", m, minimum=0)
    return n, m, _arguments.integer(function, "offset", offset)


def _triangle(
    n: int, m: int, xp: Namespace | None, device: Device | None, columns: list[tuple[int, int]]
) -> tuple[Array, Array]:
    """Return the positions of a triangle; `columns` has the start and the stop of each row."""
    xp = default_namespace() if xp is None else xp
    options = {"dtype": _index_dtype(xp, device), "device": device}
    starts = [0]
    for first, stop in columns:
        starts.append(starts[-1] + stop - first)
    position = xp.arange(starts[-1], **options)
    if not starts[-1]:
        return position, position
    row = xp.astype(xp.searchsorted(xp.asarray(starts[1:], **options), position, side="right"), position.dtype)
    shift = xp.asarray([first - start for (first, _), start in zip(columns, starts)], **options)
    return row, position + xp.take(shift, row)


def _index_dtype(xp: Namespace, device: Device | None) -> DType:
    found: DType = xp.__array_namespace_info__().default_dtypes(device=device)["indexing"]
    return found
