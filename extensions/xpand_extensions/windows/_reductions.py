"""Sums, products, extremes and means of windows."""

from typing import Any, Final

from xpand.extend import Array, Kind, checks

from .._dispatch import pluggable
from ._arguments import Padding, Sizes, check_array, check_windows

_KINDS: Final = {
    "window_sum": checks.NUMERIC,
    "window_prod": checks.NUMERIC,
    "window_min": checks.ORDERED,
    "window_max": checks.ORDERED,
    "window_mean": checks.FLOATING,
}


def _check(function: str, x: Array, *given: Any) -> tuple[tuple[int, ...], dict[str, Any]]:
    return check_windows(function, _KINDS[function], x, *given)


@pluggable
def window_sum(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Sum the elements of each window.

    Args:
        x: An array of any shape and a numeric data type.
        window_shape: The size of the windows along each windowed axis; an integer: the same for all axes.
        axis: The windowed axis or axes. None: all.
        strides: The distance between neighbouring windows, along each windowed axis.
        padding: The extension of windows beyond the ends of the array: "valid", "same", an integer, or a pair (low,
            high) for each windowed axis.
        window_dilation: The distance between neighbouring elements of a window, along each windowed axis.

    Returns:
        An array of the shape and data type of `x`, with the number of windows along each windowed axis. NaN if an
        element of the window is NaN. Integers that overflow wrap around.

    Raises:
        TypeError: `x` is not an array or not numeric; a size is not an integer.
        ValueError: A size, stride or dilation below 1, or padding below 0; more or fewer of these than windowed axes;
            an axis that `x` does not have; an axis named twice.

    Source: XLA's ReduceWindow, as in `jax.lax.reduce_window`, and `Nx.window_sum`.

    >>> import numpy as np
    >>> window_sum(np.asarray([1.0, 2.0, 3.0, 4.0]), 3)
    array([6., 9.])
    >>> window_sum(np.asarray([1.0, 2.0, 3.0, 4.0]), 3, padding="same")
    array([3., 6., 9., 7.])
    >>> window_sum(np.asarray([[1, 2, 3], [4, 5, 6]]), 2, axis=1, window_dilation=2)
    array([[ 4],
           [10]])
    """
    given = window_shape, axis, strides, padding, window_dilation
    implementation, window, options = window_sum.planned(_check, (x,), *given)
    return implementation(x, window, **options)


@pluggable
def window_prod(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Multiply the elements of each window.

    Arguments, result and errors are those of `window_sum`. A window outside of the array has 1.

    >>> import numpy as np
    >>> window_prod(np.asarray([1.0, 2.0, 3.0, 4.0]), 3, padding="same")
    array([ 2.,  6., 24., 12.])
    """
    given = window_shape, axis, strides, padding, window_dilation
    implementation, window, options = window_prod.planned(_check, (x,), *given)
    return implementation(x, window, **options)


@pluggable
def window_min(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Compute the minimum of each window.

    Arguments, result and errors are those of `window_sum`, except that data types are boolean or real. A window outside
    of the array has the largest value of the data type: infinity, the largest integer, or True.

    >>> import numpy as np
    >>> window_min(np.asarray([3.0, 1.0, 4.0, 1.5]), 2)
    array([1. , 1. , 1.5])
    """
    given = window_shape, axis, strides, padding, window_dilation
    implementation, window, options = window_min.planned(_check, (x,), *given)
    return implementation(x, window, **options)


@pluggable
def window_max(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Compute the maximum of each window.

    Arguments, result and errors are those of `window_sum`, except that data types are boolean or real. A window outside
    of the array has the smallest value of the data type: -infinity, the smallest integer, or False.

    >>> import numpy as np
    >>> window_max(np.asarray([3.0, 1.0, 4.0, 1.5]), 2)
    array([3., 4., 4.])
    """
    given = window_shape, axis, strides, padding, window_dilation
    implementation, window, options = window_max.planned(_check, (x,), *given)
    return implementation(x, window, **options)


@pluggable
def window_mean(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
    count_include_pad: bool = True,
) -> Array:
    """Compute the mean of each window.

    Arguments, result and errors are those of `window_sum`, except that data types are floating-point, real or complex.

    Args:
        x: As in `window_sum`.
        window_shape: As in `window_sum`.
        axis: As in `window_sum`.
        strides: As in `window_sum`.
        padding: As in `window_sum`.
        window_dilation: As in `window_sum`.
        count_include_pad: Whether elements outside of the array count as zeros: then sums are divided by the size of
            the window. False: sums are divided by the number of elements in the array, and a window without elements
            has NaN.

    Source: `Nx.window_mean`, and `count_include_pad` of PyTorch's `avg_pool2d`.

    >>> import numpy as np
    >>> window_mean(np.asarray([3.0, 6.0, 9.0]), 3, padding="same")
    array([3., 6., 5.])
    >>> window_mean(np.asarray([3.0, 6.0, 9.0]), 3, padding="same", count_include_pad=False)
    array([4.5, 6. , 7.5])
    """
    given = window_shape, axis, strides, padding, window_dilation
    checks.boolean("window_mean", "count_include_pad", count_include_pad)
    implementation, window, options = window_mean.planned(_check, (x,), *given)
    return implementation(x, window, **options, count_include_pad=count_include_pad)


def max_pool(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    strides: Sizes | None = None,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Compute the maximum of each window of images.

    Args:
        x: Images of shape `(batch, channel, *spatial)`, of a boolean or real data type.
        window_shape: The size of the windows along each spatial axis; an integer: the same for all axes.
        strides: The distance between neighbouring windows, along each spatial axis. None: `window_shape`, for adjacent
            windows.
        padding: The extension of windows beyond the ends of the images: "valid", "same", an integer, or a pair (low,
            high) for each spatial axis. Elements outside are never the maximum.
        window_dilation: The distance between neighbouring elements of a window, along each spatial axis.

    Returns:
        Images of the same data type, with the number of windows along each spatial axis.

    Raises:
        TypeError: `x` is not an array, or has another data type; a size is not an integer.
        ValueError: `x` has no spatial axis, or as `window_max`.

    Source: PyTorch's `max_pool2d` and its variants.

    >>> import numpy as np
    >>> max_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[3., 5.]]])
    """
    window, options = _check_images("max_pool", x, checks.ORDERED, window_shape, strides, padding, window_dilation)
    return window_max.native(x)(x, window, **options)


def min_pool(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    strides: Sizes | None = None,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Compute the minimum of each window of images. Arguments, result and errors are those of `max_pool`.

    >>> import numpy as np
    >>> min_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[1., 2.]]])
    """
    window, options = _check_images("min_pool", x, checks.ORDERED, window_shape, strides, padding, window_dilation)
    return window_min.native(x)(x, window, **options)


def avg_pool(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    strides: Sizes | None = None,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
    count_include_pad: bool = True,
) -> Array:
    """Compute the mean of each window of images.

    Arguments, result and errors are those of `max_pool`, except that data types are floating-point, real or complex;
    `count_include_pad` is that of `window_mean`.

    >>> import numpy as np
    >>> avg_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[2. , 3.5]]])
    """
    window, options = _check_images("avg_pool", x, checks.FLOATING, window_shape, strides, padding, window_dilation)
    checks.boolean("avg_pool", "count_include_pad", count_include_pad)
    return window_mean.native(x)(x, window, **options, count_include_pad=count_include_pad)


def _check_images(
    function: str,
    x: Array,
    kinds: frozenset[Kind],
    window_shape: Sizes,
    strides: Sizes | None,
    padding: Padding,
    window_dilation: Sizes,
) -> tuple[tuple[int, ...], dict[str, Any]]:
    check_array(function, x, kinds)
    if x.ndim < 3:
        raise ValueError(
            f"{function}: x must have the axes batch, channel and one or more spatial ones, got the shape "
            f"{tuple(x.shape)}; add the missing axes with `xp.expand_dims`, or use the window functions"
        )
    steps = window_shape if strides is None else strides
    return check_windows(function, None, x, window_shape, tuple(range(2, x.ndim)), steps, padding, window_dilation)
