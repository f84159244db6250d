"""Reductions over axes by name.

`axis` is an axis, several, or None for all; the result has the axes that remain. `where`, a named array of booleans
that broadcasts to the array, tells which elements count; where there are none, the result is that of an empty array: 0
for a sum, NaN for a mean, and the lowest or highest value of the data type for a maximum or minimum. `ddof` is
subtracted from the number of elements in the divisor of a variance. A missing axis, or one of another size, raises a
`ValueError`. Source: Haliax's functions of the same names.
"""

from xpand.extend import DType

from . import _reductions as _reductions  # fills the table
from ._array import NamedArray
from ._axis import AxisSelection, AxisSelector
from ._calls import call

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "nanargmax",
    "nanargmin",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nanstd",
    "nansum",
    "nanvar",
    "prod",
    "ptp",
    "std",
    "sum",
    "var",
]


def all(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return whether all elements are true."""
    return call.all(array, axis, where=where)


def any(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return whether any element is true."""
    return call.any(array, axis, where=where)


def max(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the largest element; NaN if there is one."""
    return call.max(array, axis, where=where)


def min(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the smallest element; NaN if there is one."""
    return call.min(array, axis, where=where)


def ptp(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the range of the elements, the largest minus the smallest."""
    return call.ptp(array, axis, where=where)


def mean(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the mean."""
    return call.mean(array, axis, where=where, dtype=dtype)


def prod(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the product."""
    return call.prod(array, axis, where=where, dtype=dtype)


def std(
    array: NamedArray,
    axis: AxisSelection | None = None,
    *,
    where: NamedArray | None = None,
    ddof: float = 0,
    dtype: DType | None = None,
) -> NamedArray:
    """Compute the standard deviation."""
    return call.std(array, axis, where=where, ddof=ddof, dtype=dtype)


def sum(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the sum.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"))
    >>> sum(x, "a"), sum(x, "a", where=x < 3.0)
    (NamedArray({'b': 2}, array([4., 6.])), NamedArray({'b': 2}, array([1., 2.])))
    """
    return call.sum(array, axis, where=where, dtype=dtype)


def var(
    array: NamedArray,
    axis: AxisSelection | None = None,
    *,
    where: NamedArray | None = None,
    ddof: float = 0,
    dtype: DType | None = None,
) -> NamedArray:
    """Compute the variance."""
    return call.var(array, axis, where=where, ddof=ddof, dtype=dtype)


def amax(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the largest element, as `max` does."""
    return call.amax(array, axis, where=where)


def amin(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the smallest element, as `min` does."""
    return call.amin(array, axis, where=where)


def nanmax(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the largest element of all that is not NaN."""
    return call.nanmax(array, axis, where=where)


def nanmin(array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None) -> NamedArray:
    """Return the smallest element of all that is not NaN."""
    return call.nanmin(array, axis, where=where)


def nanmean(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the mean of all that is not NaN."""
    return call.nanmean(array, axis, where=where, dtype=dtype)


def nanprod(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the product of all that is not NaN."""
    return call.nanprod(array, axis, where=where, dtype=dtype)


def nanstd(
    array: NamedArray,
    axis: AxisSelection | None = None,
    *,
    where: NamedArray | None = None,
    ddof: float = 0,
    dtype: DType | None = None,
) -> NamedArray:
    """Compute the standard deviation of all that is not NaN."""
    return call.nanstd(array, axis, where=where, ddof=ddof, dtype=dtype)


def nansum(
    array: NamedArray, axis: AxisSelection | None = None, *, where: NamedArray | None = None, dtype: DType | None = None
) -> NamedArray:
    """Compute the sum of all that is not NaN."""
    return call.nansum(array, axis, where=where, dtype=dtype)


def nanvar(
    array: NamedArray,
    axis: AxisSelection | None = None,
    *,
    where: NamedArray | None = None,
    ddof: float = 0,
    dtype: DType | None = None,
) -> NamedArray:
    """Compute the variance of all that is not NaN."""
    return call.nanvar(array, axis, where=where, ddof=ddof, dtype=dtype)


def argmax(array: NamedArray, axis: AxisSelector | None = None) -> NamedArray:
    """Return the position of the largest element along an axis, or of NaN if there is one.

    By default, count positions in the flattened array.
    """
    return call.argmax(array, axis)


def argmin(array: NamedArray, axis: AxisSelector | None = None) -> NamedArray:
    """Return the position of the smallest element along an axis, or of NaN if there is one.

    By default, count positions in the flattened array.
    """
    return call.argmin(array, axis)


def nanargmax(array: NamedArray, axis: AxisSelector | None = None) -> NamedArray:
    """Return the position of the largest element along an axis that is not NaN.

    By default, count positions in the flattened array.
    """
    return call.nanargmax(array, axis)


def nanargmin(array: NamedArray, axis: AxisSelector | None = None) -> NamedArray:
    """Return the position of the smallest element along an axis that is not NaN.

    By default, count positions in the flattened array.
    """
    return call.nanargmin(array, axis)
