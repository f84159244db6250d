"""Reductions that ignore NaN."""

from xpand.extend import Array, Axis, checks

from .._dispatch import pluggable
from ._arguments import number, reduced


@pluggable
def nansum(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the sum, ignoring NaN.

    Args:
        x: An array of a numeric data type.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array without the axes, of the data type that the standard's `sum` returns. 0 if all elements are NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an axis twice.

    Source: `numpy.nansum`.

    >>> import numpy as np
    >>> nansum(np.asarray([[1.0, np.nan], [np.nan, np.nan]]), axis=1)
    array([1., 0.])
    """
    axes = reduced("nansum", checks.NUMERIC, x, axis, keepdims)
    return nansum.native(x)(x, axis=axes, keepdims=keepdims)


@pluggable
def nanprod(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the product, ignoring NaN.

    Arguments, result and errors are those of `nansum`. 1 if all elements are NaN.

    >>> import numpy as np
    >>> nanprod(np.asarray([[3.0, np.nan], [np.nan, np.nan]]), axis=1)
    array([3., 1.])
    """
    axes = reduced("nanprod", checks.NUMERIC, x, axis, keepdims)
    return nanprod.native(x)(x, axis=axes, keepdims=keepdims)


@pluggable
def nanmin(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the minimum, ignoring NaN.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN, without a warning, if all elements are NaN or there are
        no elements.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, an axis twice, or no elements of an integer data type, which has no NaN.

    Source: `numpy.nanmin`.

    >>> import numpy as np
    >>> nanmin(np.asarray([[3.0, np.nan, 2.0], [np.nan, np.nan, np.nan]]), axis=1)
    array([ 2., nan])
    """
    axes = _nonempty("nanmin", x, reduced("nanmin", checks.REAL_VALUED, x, axis, keepdims))
    return nanmin.native(x)(x, axis=axes, keepdims=keepdims)


@pluggable
def nanmax(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the maximum, ignoring NaN.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN, without a warning, if all elements are NaN or there are
        no elements.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, an axis twice, or no elements of an integer data type, which has no NaN.

    Source: `numpy.nanmax`.

    >>> import numpy as np
    >>> nanmax(np.asarray([[3.0, np.nan, 2.0], [np.nan, np.nan, np.nan]]), axis=1)
    array([ 3., nan])
    """
    axes = _nonempty("nanmax", x, reduced("nanmax", checks.REAL_VALUED, x, axis, keepdims))
    return nanmax.native(x)(x, axis=axes, keepdims=keepdims)


@pluggable
def nanmean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the mean, ignoring NaN.

    Args:
        x: An array of a floating-point data type, real or complex.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN, without a warning, if all elements are NaN or there are
        no elements.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an axis twice.

    Source: `numpy.nanmean`.

    >>> import numpy as np
    >>> nanmean(np.asarray([[3.0, np.nan, 2.0], [np.nan, np.nan, np.nan]]), axis=1)
    array([2.5, nan])
    """
    axes = reduced("nanmean", checks.FLOATING, x, axis, keepdims)
    return nanmean.native(x)(x, axis=axes, keepdims=keepdims)


@pluggable
def nanvar(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the variance, ignoring NaN.

    Args:
        x: An array of a real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        correction: The number subtracted from the number of elements in the divisor: 0 for the variance of a
            population, 1 for an unbiased estimate from a sample.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN, without a warning, if no more than `correction`
        elements are not NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an axis twice.

    Source: `numpy.nanvar`.

    >>> import numpy as np
    >>> nanvar(np.asarray([[3.0, np.nan, 1.0], [np.nan, np.nan, 5.0]]), axis=1, correction=1)
    array([ 2., nan])
    """
    axes = reduced("nanvar", checks.REAL, x, axis, keepdims)
    return nanvar.native(x)(x, axis=axes, correction=number("nanvar", "correction", correction), keepdims=keepdims)


@pluggable
def nanstd(x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Compute the standard deviation, ignoring NaN.

    It is the square root of `nanvar`, with the same arguments and errors. Derivatives are 0 if the result is 0.

    >>> import numpy as np
    >>> nanstd(np.asarray([[3.0, np.nan, 1.0], [np.nan, np.nan, 5.0]]), axis=1)
    array([1., 0.])
    """
    axes = reduced("nanstd", checks.REAL, x, axis, keepdims)
    return nanstd.native(x)(x, axis=axes, correction=number("nanstd", "correction", correction), keepdims=keepdims)


@pluggable
def nanargmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the first smallest element, ignoring NaN.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis to search along. By default, the array is flattened first.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        Indices, of the library's default integer data type. -1 if all elements are NaN or there are no
        elements: no error is raised, since values are not read.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis.

    Source: `numpy.nanargmin`, and `jax.numpy.nanargmin` for slices of NaN.

    >>> import numpy as np
    >>> nanargmin(np.asarray([[np.nan, 3.0, 2.0], [np.nan, np.nan, np.nan]]), axis=1)
    array([ 2, -1])
    """
    reduced("nanargmin", checks.REAL_VALUED, x, None, keepdims)
    axis = None if axis is None else checks.axis("nanargmin", axis, x.ndim)
    return nanargmin.native(x)(x, axis=axis, keepdims=keepdims)


@pluggable
def nanargmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the first largest element, ignoring NaN.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis to search along. By default, the array is flattened first.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        Indices, of the library's default integer data type. -1 if all elements are NaN or there are no
        elements: no error is raised, since values are not read.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis.

    Source: `numpy.nanargmax`, and `jax.numpy.nanargmax` for slices of NaN.

    >>> import numpy as np
    >>> nanargmax(np.asarray([[np.nan, 3.0, 2.0], [np.nan, np.nan, np.nan]]), axis=1)
    array([ 1, -1])
    """
    reduced("nanargmax", checks.REAL_VALUED, x, None, keepdims)
    axis = None if axis is None else checks.axis("nanargmax", axis, x.ndim)
    return nanargmax.native(x)(x, axis=axis, keepdims=keepdims)


def _nonempty(function: str, x: Array, axes: tuple[int, ...]) -> tuple[int, ...]:
    """Check that there are elements, if the data type has no NaN for an empty result."""
    if 0 in [x.shape[axis] for axis in axes]:
        xp = checks.namespace_of(function, x=x)
        if checks.kind(xp, x.dtype) != "real":
            raise ValueError(
                f"{function}: x has no elements along the axes {axes}, and {x.dtype} has no NaN for an empty "
                f"result, got the shape {tuple(x.shape)}; pass at least one element"
            )
    return axes
