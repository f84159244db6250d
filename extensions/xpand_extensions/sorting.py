"""Sorting and searching: largest or smallest values, partitions, positions in sorted arrays, unique values.

On every library, NaN counts as larger than every number, and zeros of either sign are equal.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from xpand.extend import Array, DType, Scalar, checks, describe

from ._dispatch import pluggable
from ._dtypes import as_dtype, comparable_dtype
from ._elsewhere import arguments_elsewhere, elsewhere

__all__ = [
    "Side",
    "TopK",
    "argpartition",
    "lexsort",
    "partition",
    "searchsorted",
    "sort_with_order",
    "top_k",
    "unique",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

Side: TypeAlias = Literal["left", "right"]
"""The choice among several equal positions."""


class TopK(NamedTuple):
    """The largest or smallest values along an axis, in order, and their positions."""

    values: Array
    indices: Array


@arguments_elsewhere()
@pluggable
def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    """Find the `k` largest values along an axis, largest first, or the smallest ones, smallest first.

    Args:
        x: An array of at least one axis, of an integer or real floating-point data type.
        k: The number of values, from 0 to the size of the axis.
        axis: The axis.
        largest: True for the largest values, False for the smallest.

    Returns:
        `values`, of the shape of `x` with `k` along the axis, and `indices`, their positions along it. NaN counts as
        the largest value: it comes first, or with `largest=False` last. Among equal values, the lower index comes
        first. The values are differentiable.

    Raises:
        TypeError: `x` is not an array, or has another data type; an option is of another type.
        ValueError: There is no such axis, or it has fewer than `k` values.

    Takes time in proportion to the size of `x` on NumPy and PyTorch, and the time of a sort elsewhere.

    Source: `jax.lax.top_k`, for any axis and both directions.

    >>> import numpy as np
    >>> values, indices = top_k(np.asarray([1.0, 4.0, 2.0, 4.0]), 3)
    >>> values
    array([4., 4., 2.])
    >>> indices
    array([1, 3, 2])
    """
    implementation, k, axis = top_k.planned(_check_top_k, (x,), k, axis, largest)
    return implementation(x, k, axis=axis, largest=largest)


def sort_with_order(x: Array, /, *, axis: int = -1, descending: bool = False) -> TopK:
    """Sort along an axis, and return the values and their order from one sort.

    Args:
        x: An array of at least one axis, of an integer or real floating-point data type.
        axis: The axis.
        descending: Whether the largest come first.

    Returns:
        `values`, sorted, and `indices`, their positions in `x`. The sort is stable; NaN counts as the largest value, as
        in `top_k`. The values are differentiable.

    Raises:
        TypeError: `x` is not an array, or has another data type; an option is of another type.
        ValueError: There is no such axis.

    Source: `torch.sort`, `jax.lax.sort_key_val`.

    >>> import numpy as np
    >>> values, order = sort_with_order(np.asarray([3.0, 1.0, 2.0]))
    >>> values, order
    (array([1., 2., 3.]), array([1, 2, 0]))
    """
    (axis,) = _real_valued("sort_with_order", x, axis)
    checks.boolean("sort_with_order", "descending", descending)
    return top_k.native(x)(x, x.shape[axis], axis=axis, largest=descending)


def lexsort(keys: Array | Sequence[Array], /, *, axis: int = -1) -> Array:
    """Return the order that sorts by several keys: by the last one, among equal values by the one before, and so on.

    Args:
        keys: Arrays of one shape with at least one axis, of integer or real floating-point data types; or an array
            whose slices along the first axis are the keys.
        axis: The axis of each key to sort along.

    Returns:
        Positions along the axis, of the library's data type for indices and the shape of one key. The sort is stable;
        NaN counts as the largest value.

    Raises:
        TypeError: A key is not an array, or has another data type, or the arrays belong to two libraries.
        ValueError: There is no key or no such axis, or the keys differ in shape, or lie on two devices.

    Takes the time of a sort for each key.

    Source: `numpy.lexsort`.

    >>> import numpy as np
    >>> lexsort([np.asarray([3, 1, 2]), np.asarray([0, 1, 0])])
    array([2, 0, 1])
    """
    if checks.is_array(keys):
        xp = checks.namespace_of("lexsort", keys=keys)
        if not keys.ndim:
            raise ValueError("lexsort: keys must have an axis of keys, got an array of one value")
        columns = [keys[i, ...] for i in range(checks.known_shape("lexsort", "keys", keys)[0])]
    elif isinstance(keys, (list, tuple)):
        columns = list(keys)
    else:
        raise TypeError(f"lexsort: keys must be an array or a list of arrays, got {describe(keys)}")
    if not columns:
        raise ValueError("lexsort: keys must hold at least one key")
    xp = checks.together("lexsort", **{f"keys[{i}]": key for i, key in enumerate(columns)})
    shapes = {tuple(key.shape) for key in columns}
    if len(shapes) > 1:
        raise ValueError(f"lexsort: keys must have one shape, got {', '.join(map(str, sorted(shapes)))}")
    for key in columns:
        (axis,) = _real_valued("lexsort", key, axis)
    size = columns[0].shape[axis]
    order = top_k.native(columns[0])(columns[0], size, axis=axis, largest=False).indices
    for key in columns[1:]:
        sorted_so_far = xp.take_along_axis(key, order, axis=axis)
        then = top_k.native(key)(sorted_so_far, size, axis=axis, largest=False).indices
        order = xp.take_along_axis(order, then, axis=axis)
    return order


@pluggable
def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    """Partition the values along an axis: position `kth` gets the value that it has in sorted order.

    Values before `kth` are not larger, values after it are not smaller. Their order depends on the library.

    Args:
        x: An array of at least one axis, of an integer or real floating-point data type. NaN counts as the largest.
        kth: The position; negative numbers count from the end.
        axis: The axis.

    Returns:
        An array of the shape and data type of `x`, differentiable in `x`.

    Raises:
        TypeError: `x` is not an array, or has another data type; an option is not an integer.
        ValueError: There is no such axis.
        IndexError: `kth` is out of bounds.

    Takes time in proportion to the size of `x` on NumPy, and the time of a sort elsewhere.

    Source: `numpy.partition`.

    >>> import numpy as np
    >>> partition(np.asarray([3.0, 1.0, 2.0]), 1)[1]
    np.float64(2.0)
    """
    implementation, kth, axis = partition.planned(_check_position, (x,), kth, axis)
    return implementation(x, kth, axis=axis)


@pluggable
def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    """Return the indices that partition the values along an axis, like `partition`.

    Arguments and errors are those of `partition`.

    Returns:
        Integers of the shape of `x`: `xp.take_along_axis(x, result, axis=axis)` is partitioned.

    Source: `numpy.argpartition`.

    >>> import numpy as np
    >>> argpartition(np.asarray([3.0, 1.0, 2.0]), 0)[0]
    np.int64(1)
    """
    implementation, kth, axis = argpartition.planned(_check_position, (x,), kth, axis)
    return implementation(x, kth, axis=axis)


@pluggable
def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    """Find the positions at which values must be inserted into sorted values to keep the order.

    Args:
        x1: Values sorted in ascending order along the last axis, with NaN last: of shape `(n,)` or `(..., n)`, and of
            an integer or real floating-point data type. The order is not checked.
        x2: The values to insert: of any shape if `x1` has one axis, else of shape `(..., m)`, with leading axes that
            broadcast with those of `x1`.
        side: "left" for the first suitable position: the number of values in `x1` below the inserted one. "right" for
            the last: the number of values not above it.
        sorter: Integers of the shape of `x1` that sort it. `x1` itself need not be sorted then.

    Returns:
        Integers from 0 to `n`, of the library's data type for indices and the shape of `x2` (with its leading axes
        broadcast). NaN is inserted before (side "left") or after (side "right") all other NaN.

    Raises:
        TypeError: An argument is not an array, arrays belong to two libraries, or their data types don't promote.
        ValueError: The shapes don't fit, or `side` is neither "left" nor "right".

    Takes time in proportion to the size of `x2` times the logarithm of `n`.

    Source: `searchsorted` of the standard, for leading axes, as PyTorch has them.

    >>> import numpy as np
    >>> searchsorted(np.asarray([1.0, 2.0, 2.0, 3.0]), np.asarray([2.0, 0.0]))
    array([1, 0])
    >>> searchsorted(np.asarray([[1.0, 2.0], [3.0, 4.0]]), np.asarray([[1.5], [1.5]]))
    array([[1],
           [0]])
    """
    implementation, dtype = searchsorted.planned(_check_searchsorted, (x1, x2, sorter), side)
    x1, x2 = as_dtype(dtype, x1, x2)
    return implementation(x1, x2, side=side, sorter=sorter)


@arguments_elsewhere()
@pluggable
def unique(
    x: Array,
    /,
    *,
    axis: int | None = None,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    size: int | None = None,
    fill_value: Scalar | None = None,
) -> Any:
    """Find the unique values of an array, sorted, or its unique slices along an axis, in lexicographic order.

    As in the standard's `unique_all`, zeros of either sign are equal (the first one is returned), and each NaN is a
    value of its own, at the end. Complex numbers are sorted by their real parts, then by their imaginary parts.

    Args:
        x: An array of any shape and data type of the standard.
        axis: The axis whose slices are compared. None: all values are compared, as one sequence.
        return_index: Whether to return the position of the first occurrence of each value.
        return_inverse: Whether to return the number of the unique value for each element of `x`.
        return_counts: Whether to return how often each value occurs.
        size: The number of values to return. The shape of the result then does not depend on values, as jit and vmap
            require. If there are more unique values, the first ones in order are returned, and the inverse has the
            number `size` for the others. If there are fewer, `fill_value` is appended.
        fill_value: A Python scalar for missing values up to `size`. None: the first unique value (zero if there is
            none). Indices are filled with the first index, counts with 0.

    Returns:
        The unique values, of shape `(size,)`, or the unique slices, of the shape of `x` with `size` along `axis`. With
        any of the options `return_…`, a tuple of these and the requested indices, inverse and counts: integers of the
        library's data type for indices. Indices count along the axis, or in the flattened array. The inverse has the
        shape of `x` if `axis` is None, else `(x.shape[axis],)`. Without `size`, lazy arrays have results of unknown
        sizes.

    Raises:
        TypeError: `x` is not an array, or an argument is of another type than stated.
        ValueError: There is no such axis; `size` is omitted under tracing; `fill_value` is given without `size`.

    Takes the time of a sort; for slices, the time of a sort for each element of a slice.

    Source: `jax.numpy.unique`, with the standard's rules for NaN.

    >>> import numpy as np
    >>> values, counts = unique(np.asarray([3, 1, 3]), return_counts=True)
    >>> values, counts
    (array([1, 3]), array([1, 2]))
    >>> unique(np.asarray([3, 1, 3]), size=4, fill_value=0)
    array([1, 3, 0, 0])
    >>> unique(np.asarray([[2, 1], [1, 1], [2, 1]]), axis=0)
    array([[1, 1],
           [2, 1]])
    """
    xp = checks.namespace_of("unique", x=x)
    if checks.kind(xp, x.dtype) is None:
        raise TypeError(f"unique: x must have a data type of the standard, got {x.dtype}; convert it with `xp.astype`")
    checks.known_shape("unique", "x", x)
    axis = None if axis is None else checks.axis("unique", axis, x.ndim)
    for name, value in zip(
        ("return_index", "return_inverse", "return_counts"), (return_index, return_inverse, return_counts)
    ):
        checks.boolean("unique", name, value)
    if size is not None:
        size = checks.integer("unique", "size", size, minimum=0)
    elif fill_value is not None:
        raise ValueError("unique: fill_value is for missing elements; give size too")
    if fill_value is not None:
        if not isinstance(fill_value, (bool, int, float, complex)):
            raise TypeError(f"unique: fill_value must be a Python scalar, got {fill_value!r}")
        checks.castable("unique", "fill_value", xp, fill_value, x, "x")
    return unique.native(x)(
        x,
        axis=axis,
        return_index=return_index,
        return_inverse=return_inverse,
        return_counts=return_counts,
        size=size,
        fill_value=fill_value,
    )


def _real_valued(function: str, x: Array, axis: Any) -> tuple[int]:
    """Check the array and the axis of a function of one array; return the axis counted from the front."""
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, checks.REAL_VALUED)
    checks.known_shape(function, "x", x)
    return (checks.axis(function, axis, x.ndim),)


def _check_top_k(function: str, x: Array, k: Any, axis: Any, largest: Any) -> tuple[int, int]:
    (axis,) = _real_valued(function, x, axis)
    k = checks.integer(function, "k", k, minimum=0)
    if k > x.shape[axis]:
        raise ValueError(f"{function}: k={k} is more than the {x.shape[axis]} values along axis {axis}")
    checks.boolean(function, "largest", largest)
    return k, axis


def _check_searchsorted(function: str, x1: Array, x2: Array, sorter: Array | None, side: Any) -> tuple[DType | None]:
    """Check the arguments; return the data type to compare them in, or None if they already have it."""
    arrays = {"x1": x1, "x2": x2} if sorter is None else {"x1": x1, "x2": x2, "sorter": sorter}
    xp = checks.together(function, **arrays)
    checks.dtype(function, "x1", xp, x1, checks.REAL_VALUED)
    checks.dtype(function, "x2", xp, x2, checks.REAL_VALUED)
    dtype = comparable_dtype(function, xp, x1=x1, x2=x2)
    checks.choice(function, "side", side, ("left", "right"))
    if x1.ndim == 0:
        raise ValueError(f"{function}: x1 must have at least one axis, got an array of one value")
    if x1.ndim > 1:
        _same_leading_axes(x1, x2)
    if sorter is not None:
        checks.dtype(function, "sorter", xp, sorter, checks.INTEGERS)
        if tuple(sorter.shape) != tuple(x1.shape):
            raise ValueError(
                f"{function}: sorter must have the shape {tuple(x1.shape)} of x1, got {tuple(sorter.shape)}"
            )
    return (dtype,)


def _check_position(function: str, x: Array, kth: Any, axis: Any) -> tuple[int, int]:
    (axis,) = _real_valued(function, x, axis)
    size = x.shape[axis]
    kth = checks.integer(function, "kth", kth)
    if not -size <= kth < size:
        takes = f"; takes {-size} to {size - 1}" if size else ""
        raise IndexError(f"{function}: kth={kth} is out of bounds for axis {axis} of size {size}{takes}")
    return kth % size, axis


def _same_leading_axes(x1: Array, x2: Array) -> None:
    """Check that the known leading axes of two arrays, all but the last, broadcast together."""
    first, second = checks.known_shape("searchsorted", "x1", x1), checks.known_shape("searchsorted", "x2", x2)
    pairs = zip(first[-2::-1], second[-2::-1])
    if not second or any(a != b and a != 1 and b != 1 for a, b in pairs):
        raise ValueError(
            f"searchsorted: the leading axes of x1 and x2 must broadcast together, got shapes {first} and {second}; "
            "if x1 has one axis, x2 may have any shape"
        )
