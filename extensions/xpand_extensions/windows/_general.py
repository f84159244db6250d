"""Reductions of windows by a user function, and sums scattered to the extremes of windows."""

from collections.abc import Callable
from typing import Any

from xpand.extend import Array, ArrayLike, Namespace, checks, describe

from .._dispatch import pluggable
from .._where import clean_tracebacks
from ._arguments import Padding, Sizes, check_array, check_windows, passes


@clean_tracebacks
@pluggable
def window_reduce(
    x: Array,
    /,
    function: Callable[[Array, Array], Array],
    initial: ArrayLike,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Reduce each window by an associative function.

    Args:
        x: An array of any shape and data type.
        function: Takes two arrays of the same shape and the data type of `x`, and returns such an array, elementwise.
            It must be associative, but need not commute: elements are combined in order, with any grouping.
        initial: A number or a 0-dimensional array that promotes to the data type of `x`: the start value of each
            window, and the value of elements outside of the array.
        window_shape: The size of the windows along each windowed axis; an integer: the same for all axes.
        axis: The windowed axis or axes. None: all.
        strides: The distance between neighbouring windows, along each windowed axis.
        padding: The extension of windows beyond the ends of the array: "valid", "same", an integer, or a pair (low,
            high) for each windowed axis.
        window_dilation: The distance between neighbouring elements of a window, along each windowed axis.

    Returns:
        An array of the shape and data type of `x`, with the number of windows along each windowed axis.

    Raises:
        TypeError: `x` is not an array, `function` can't be called or returns another data type, `initial` doesn't
            promote, or a size is not an integer.
        ValueError: `initial` is not a scalar, `function` returns another shape, or as `window_sum`.

    Calls `function` O(log(size)) times for each windowed axis, with arrays as large as `x`.

    Source: XLA's ReduceWindow, and `Nx.window_reduce`.

    >>> import numpy as np
    >>> window_reduce(np.asarray([1, 2, 4, 8]), np.bitwise_or, 0, 2)
    array([ 3,  6, 12])
    """
    check_array("window_reduce", x, None)
    if not callable(function):
        raise TypeError(
            f"window_reduce: function must be a function of two arrays, got {describe(function)}; the arguments are "
            "x, function, initial, window_shape"
        )
    _check_initial("window_reduce", initial, x=x)
    given = window_shape, axis, strides, padding, window_dilation
    window, options = check_windows("window_reduce", None, x, *given)
    return window_reduce.native(x, initial)(x, function, initial, window, **options)


@pluggable
def window_scatter_max(
    x: Array,
    source: Array,
    /,
    initial: ArrayLike,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
) -> Array:
    """Add each element of `source` at the position of the maximum of its window of `x`.

    Args:
        x: An array of any shape and a boolean or real data type. Of several equal maxima the first counts, as in
            `argmax`; NaN counts as larger than all numbers. Elements outside of the array never count.
        source: The values to add, one for each window: an array of the shape that `window_max` returns, of a numeric
            data type.
        initial: The start value of each element of the result: a number or a 0-dimensional array that promotes to the
            data type of `source`.
        window_shape: The size of the windows along each windowed axis; an integer: the same for all axes.
        axis: The windowed axis or axes. None: all.
        strides: The distance between neighbouring windows, along each windowed axis.
        padding: The extension of windows beyond the ends of the array: "valid", "same", an integer, or a pair (low,
            high) for each windowed axis.

    Returns:
        An array of the shape of `x` and the data type of `source`. A position that is the maximum of several windows
        gets the sum.

    Raises:
        TypeError: An argument is not an array, arrays of two libraries, data types or kinds that don't fit, or a size
            that is not an integer.
        ValueError: `source` has not one element for each window, `initial` is not a scalar, arrays on two devices, or
            as `window_sum`.

    Source: XLA's SelectAndScatter, and `Nx.window_scatter_max`.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 3.0, 2.0, 5.0], [4.0, 0.0, 7.0, 6.0]])
    >>> window_scatter_max(x, np.asarray([[10.0, 20.0]]), 0.0, 2, strides=2)
    array([[ 0.,  0.,  0.,  0.],
           [10.,  0., 20.,  0.]])
    """
    given = window_shape, axis, strides, padding
    window, options = _check_scatter("window_scatter_max", x, source, initial, *given)
    return window_scatter_max.native(x, source, initial)(x, source, initial, window, **options)


@pluggable
def window_scatter_min(
    x: Array,
    source: Array,
    /,
    initial: ArrayLike,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
) -> Array:
    """Add each element of `source` at the position of the minimum of its window of `x`.

    Arguments, result and errors are those of `window_scatter_max`. NaN counts as smaller than all numbers.

    >>> import numpy as np
    >>> x = np.asarray([1.0, 3.0, 0.0, 5.0])
    >>> window_scatter_min(x, np.asarray([10.0, 20.0, 30.0]), 0.0, 2)
    array([10.,  0., 50.,  0.])
    """
    given = window_shape, axis, strides, padding
    window, options = _check_scatter("window_scatter_min", x, source, initial, *given)
    return window_scatter_min.native(x, source, initial)(x, source, initial, window, **options)


def _check_initial(function: str, initial: ArrayLike, **arrays: Array) -> Namespace:
    """Check that a scalar promotes to the data type of the last of some arrays; return the namespace."""
    xp = checks.together(function, **arrays)
    name, like = list(arrays.items())[-1]
    checks.scalar(function, "initial", xp, initial, like, name)
    return xp


def _check_scatter(
    function: str,
    x: Array,
    source: Array,
    initial: ArrayLike,
    window_shape: Sizes,
    axis: int | tuple[int, ...] | None,
    strides: Sizes,
    padding: Padding,
) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Check the arguments of a scatter; return the sizes of the windows, and the complete options."""
    checks.dtype(function, "source", _check_initial(function, initial, x=x, source=source), source, checks.NUMERIC)
    window, options = check_windows(function, checks.ORDERED, x, window_shape, axis, strides, padding, 1)
    wanted = list(x.shape)
    for each in passes(window, **options):
        wanted[each.axis] = each.count(wanted[each.axis])
    if tuple(source.shape) != tuple(wanted):
        raise ValueError(
            f"{function}: source must have one element for each window, so the shape {tuple(wanted)} for x of shape "
            f"{tuple(x.shape)}, got {tuple(source.shape)}"
        )
    del options["window_dilation"]
    return window, options
