"""Selections by a mask. Their size is given, or depends on the values of the mask."""

from typing import Any

from xpand import array_namespace, is_concrete, library_name
from xpand.extend import Array, ArrayLike, checks

from .._dispatch import pluggable


@pluggable
def boolean_mask(
    x: Array, mask: Array, /, *, axis: int = 0, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Select the slices at which a mask is True.

    Args:
        x: An array of any data type.
        mask: Booleans of shape `x.shape[axis : axis + mask.ndim]`, for one or more axes of `x`.
        axis: The first axis of `x` that the mask covers.
        size: The number of slices to return: surplus slices are omitted, missing ones filled with `fill_value`. By
            default: all. Required if the values of the mask aren't known: under jit and vmap.
        fill_value: A Python scalar or an array of shape `()`. By default: zero.

    Returns:
        An array of shape `(*x.shape[:axis], size, *x.shape[axis + mask.ndim :])`, in the order of the mask. For a lazy
        array without `size`, the size is unknown.

    Raises:
        TypeError: An argument of the wrong type or data type, arrays of two libraries, or a fill value that doesn't
            promote to the data type of `x`.
        ValueError: A mask that doesn't fit, no such axis, a negative size, no size although it is required, or arrays
            on two devices.

    Source: `tf.boolean_mask`; `size` and `fill_value` are those of `jax.numpy.nonzero`.

    >>> import numpy as np
    >>> x, mask = np.asarray([1.0, 2.0, 4.0]), np.asarray([True, False, True])
    >>> boolean_mask(x, mask)
    array([1., 4.])
    >>> boolean_mask(x, mask, size=4)
    array([1., 4., 0., 0.])
    """
    implementation, axis, size = boolean_mask.planned(_check_mask, (x, mask, fill_value), axis, size)
    _check_counted("boolean_mask", "mask", mask, size)
    return implementation(x, mask, axis=axis, size=size, fill_value=fill_value)


@pluggable
def nonzero(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero.

    Args:
        x: An array of one or more axes, of any data type. NaN is not zero; False is.
        size: The number of elements to return: surplus elements are omitted, missing ones filled with `fill_value`. By
            default: all. Required if the values of the array aren't known: under jit and vmap.
        fill_value: An integer.

    Returns:
        An array for each axis, of shape `(size,)` and of the library's data type for indices: the indices of the
        elements along that axis, in row-major order. For a lazy array without `size`, the size is unknown.

    Raises:
        TypeError: An argument of the wrong type.
        ValueError: An array without axes, a negative size, or no size although it is required.

    Source: `nonzero` of the standard; `size` and `fill_value` are those of `jax.numpy.nonzero`.

    >>> import numpy as np
    >>> rows, columns = nonzero(np.asarray([[0, 3], [5, 0]]), size=3, fill_value=-1)
    >>> rows, columns
    (array([ 0,  1, -1]), array([ 1,  0, -1]))
    """
    implementation, size, fill_value = nonzero.planned(_check_nonzero, (x,), size, fill_value)
    _check_counted("nonzero", "x", x, size)
    return implementation(x, size=size, fill_value=fill_value)


@pluggable
def argwhere(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> Array:
    """Return the multi-indices of the elements that are not zero.

    Arguments and errors are those of `nonzero`.

    Returns:
        An array of shape `(size, x.ndim)` and of the library's data type for indices: the multi-index of each element,
        in row-major order, as `gather_nd` and `scatter_nd` take them.

    Source: `numpy.argwhere`.

    >>> import numpy as np
    >>> argwhere(np.asarray([[0, 3], [5, 0]])).tolist()
    [[0, 1], [1, 0]]
    """
    implementation, size, fill_value = argwhere.planned(_check_nonzero, (x,), size, fill_value)
    _check_counted("argwhere", "x", x, size)
    return implementation(x, size=size, fill_value=fill_value)


def _check_mask(function: str, x: Array, mask: Array, fill_value: Any, axis: Any, size: Any) -> tuple[int, int | None]:
    xp = checks.together(function, x=x, mask=mask)
    if checks.kind(xp, mask.dtype) != "bool":
        raise TypeError(f"{function}: mask must be boolean, got {mask.dtype}; write a comparison, such as `mask != 0`")
    if mask.ndim == 0:
        raise ValueError(f"{function}: mask must have one or more axes, got a 0-dimensional array")
    shape = checks.known_shape(function, "x", x)
    axis = checks.axis(function, axis, x.ndim)
    if shape[axis : axis + mask.ndim] != checks.known_shape(function, "mask", mask):
        raise ValueError(
            f"{function}: mask of shape {tuple(mask.shape)} must have the sizes that x has from axis {axis} on; its "
            f"shape is {shape}"
        )
    size = _check_size(function, size)
    if fill_value is not None:
        checks.scalar(function, "fill_value", xp, fill_value, x, "x")
    return axis, size


def _check_nonzero(function: str, x: Array, size: Any, fill_value: Any) -> tuple[int | None, int]:
    checks.namespace_of(function, x=x)
    if x.ndim == 0:
        raise ValueError(f"{function}: x must have one or more axes, got a 0-dimensional array; reshape it to (1,)")
    checks.known_shape(function, "x", x)
    return _check_size(function, size), checks.integer(function, "fill_value", fill_value)


def _check_size(function: str, size: Any) -> int | None:
    return None if size is None else checks.integer(function, "size", size, minimum=0)


def _check_counted(function: str, name: str, x: Array, size: int | None) -> None:
    """Check that the size of the result is given, or can be counted."""
    # Only Dask has arrays of unknown size.
    if size is None and not is_concrete(x) and library_name(array_namespace(x)) != "dask":
        raise ValueError(
            f"{function}: size must be given where the values of {name} aren't known (under jit or vmap), since it is "
            "the size of the result"
        )
