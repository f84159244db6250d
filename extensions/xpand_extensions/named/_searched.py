"""Functions along axes, comparisons, searches, counts and padding by name.

Source: Haliax's functions of the same names.
"""

from collections.abc import Mapping
from typing import Any, Literal

from xpand.extend import DType

from . import _axiswise as _axiswise, _others as _others
from ._array import NamedArray
from ._axis import Axis, AxisSelector
from ._calls import call

__all__ = [
    "allclose",
    "argsort",
    "array_equal",
    "array_equiv",
    "bincount",
    "clip",
    "cumprod",
    "cumsum",
    "isclose",
    "nancumprod",
    "nancumsum",
    "nonzero",
    "packbits",
    "pad",
    "searchsorted",
    "sort",
    "top_k",
    "trace",
    "tril",
    "triu",
    "unpackbits",
    "where",
]


def cumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute the sums of the elements up to each along an axis.

    >>> import numpy as np
    >>> cumsum(NamedArray(np.asarray([1, 2, 3]), "a"), "a")
    NamedArray({'a': 3}, array([1, 3, 6]))
    """
    return call.cumsum(a, axis, dtype=dtype)


def cumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute the products of the elements up to each along an axis."""
    return call.cumprod(a, axis, dtype=dtype)


def nancumsum(a: NamedArray, axis: AxisSelector, *, dtype: DType | None = None) -> NamedArray:
    """Compute the sums up to each element along an axis, in which NaN counts as 0."""
    return call.nancumsum(a, axis, dtype=dtype)


def nancumprod(a: NamedArray, axis: AxisSelector, dtype: DType | None = None) -> NamedArray:
    """Compute the products up to each element along an axis, in which NaN counts as 1."""
    return call.nancumprod(a, axis, dtype=dtype)


def sort(a: NamedArray, axis: AxisSelector) -> NamedArray:
    """Sort along an axis, in ascending order."""
    return call.sort(a, axis)


def argsort(a: NamedArray, axis: AxisSelector | None, *, stable: bool = False) -> Any:
    """Return the positions that sort an array along an axis.

    Args:
        a: A named array.
        axis: The axis; None: the elements are one line, and the result is an array without names.
        stable: Whether equal elements keep their order.
    """
    return call.argsort(a, axis, stable=stable)


def top_k(
    arr: NamedArray, axis: AxisSelector, k: int, new_axis: AxisSelector | None = None
) -> tuple[NamedArray, NamedArray]:
    """Return the `k` largest elements along an axis, the largest first, and their positions.

    Args:
        arr: A named array of real numbers.
        axis: The axis.
        k: How many.
        new_axis: The axis of size `k` that takes its place. By default, it has the same name.

    Raises:
        ValueError: There is no such axis, or `k` is not from 0 to its size.

    >>> import numpy as np
    >>> top_k(NamedArray(np.asarray([1, 3, 2]), "a"), "a", 2, "best")[1]
    NamedArray({'best': 2}, array([1, 2]))
    """
    return call.top_k(arr, axis, k, new_axis)


def packbits(a: NamedArray, axis: AxisSelector, *, bitorder: Literal["big", "little"] = "big") -> NamedArray:
    """Pack eight elements along an axis into the bits of one byte, which is 1 where an element isn't zero."""
    return call.packbits(a, axis, bitorder=bitorder)


def unpackbits(
    a: NamedArray, axis: AxisSelector, *, count: int | None = None, bitorder: Literal["big", "little"] = "big"
) -> NamedArray:
    """Unpack the bits of bytes along an axis, the first `count` or all of them."""
    return call.unpackbits(a, axis, count=count, bitorder=bitorder)


def trace(
    array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, offset: int = 0, dtype: DType | None = None
) -> NamedArray:
    """Sum the diagonal of two axes, or one `offset` elements to its right.

    Raises:
        ValueError: There is no such axis, or both are the same.
    """
    return call.trace(array, axis1, axis2, offset, dtype)


def tril(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements above the diagonal of two axes, or the one `k` elements to its right, to zero."""
    return call.tril(array, axis1, axis2, k=k)


def triu(array: NamedArray, axis1: AxisSelector, axis2: AxisSelector, k: int = 0) -> NamedArray:
    """Set the elements below the diagonal of two axes, or the one `k` elements to its right, to zero."""
    return call.triu(array, axis1, axis2, k=k)


def clip(array: Any, a_min: Any, a_max: Any) -> Any:
    """Limit values from below and above, by numbers or arrays that broadcast by name; None: no limit."""
    return call.clip(array, a_min, a_max)


def isclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Tell where two arrays are equal within tolerances: abs(a - b) <= atol + rtol * abs(b)."""
    return call.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)


def allclose(a: Any, b: Any, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    """Return whether two arrays that broadcast by name are equal within tolerances: an array without names or axes."""
    return call.allclose(a, b, rtol, atol, equal_nan)


def array_equal(a: Any, b: Any) -> Any:
    """Return whether two arrays have the same axes, in any order, and equal elements. May be traced or lazy.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1, 2], [3, 4]]), ("a", "b"))
    >>> array_equal(x, x.rearrange(("b", "a")))
    True
    """
    return call.array_equal(a, b)


def array_equiv(a: Any, b: Any) -> Any:
    """Return whether two arrays broadcast by name to equal elements: a boolean, or a traced or lazy one."""
    return call.array_equiv(a, b)


def where(
    condition: Any, x: Any = None, y: Any = None, fill_value: int | None = None, new_axis: Axis | None = None
) -> Any:
    """Choose between the elements of two arrays, which broadcast by name; or return the positions of true elements.

    Args:
        condition: Booleans.
        x: The elements where the condition is true.
        y: The elements where it is false. Without both, the positions are returned, as by `nonzero`.
        fill_value: The position for each that is missing.
        new_axis: The axis of the positions.

    Raises:
        ValueError: One of `x` and `y` alone, or neither without `fill_value` and `new_axis`.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([-1, 2]), "a")
    >>> where(x > 0, x, 0)
    NamedArray({'a': 2}, array([0, 2]))
    """
    return call.where(condition, x, y, fill_value, new_axis)


def nonzero(array: NamedArray, *, size: Axis, fill_value: int = 0) -> tuple[NamedArray, ...]:
    """Return the positions of elements that are not zero, an array for each axis.

    Args:
        array: A named array.
        size: The axis of the results: the first positions, or all and then `fill_value` for each that is missing.
        fill_value: An integer.
    """
    return call.nonzero(array, size=size, fill_value=fill_value)


def pad(
    array: NamedArray,
    pad_width: Mapping[Any, tuple[int, int]],
    *,
    mode: str = "constant",
    constant_values: Any = 0,
    **kwargs: Any,
) -> NamedArray:
    """Extend an array at the ends of axes.

    Args:
        array: A named array.
        pad_width: For each axis to extend, the numbers of elements before and after.
        mode: The kind of elements, as for `padding.pad`.
        constant_values: The new elements, for the mode "constant".
        **kwargs: Further arguments of `padding.pad`.

    Raises:
        ValueError: There is no such axis.

    >>> import numpy as np
    >>> pad(NamedArray(np.asarray([1, 2]), "a"), {"a": (1, 0)})
    NamedArray({'a': 3}, array([0, 1, 2]))
    """
    return call.pad(array, pad_width, mode=mode, constant_values=constant_values, **kwargs)


def searchsorted(
    a: NamedArray, v: Any, *, side: Literal["left", "right"] = "left", sorter: Any = None, method: str = "scan"
) -> NamedArray:
    """Return the positions at which values are to be inserted into sorted ones to keep their order.

    Args:
        a: Sorted values, of one axis.
        v: The values, whose axes the result has.
        side: Whether the first ("left") or last ("right") position is returned where values are equal.
        sorter: The positions that sort `a`.
        method: JAX's name of an algorithm, for code that passes one. Each library uses its own.

    Raises:
        ValueError: `a` has several axes.
    """
    return call.searchsorted(a, v, side=side, sorter=sorter, method=method)


def bincount(x: NamedArray, Counts: Axis, *, weights: Any = None, minlength: int = 0) -> NamedArray:
    """Count how often each integer occurs among all elements, or add up the weights of its occurrences.

    Args:
        x: Integers from 0 to below the size of `Counts`. Others raise an `IndexError` where they are known, and don't
            count otherwise.
        Counts: The axis of the result.
        weights: The weights, which broadcast to `x` by name.
        minlength: Must not exceed the size of `Counts`, which is the length.
    """
    return call.bincount(x, Counts, weights=weights, minlength=minlength)
