"""Windows that slide over an array: views, sums, products, minima, maxima, means and pooling.

All functions describe windows in the same way. A window has `window_shape` elements, with one size for each windowed
axis. `strides` are the distances between neighbouring windows, `window_dilation` those between neighbouring elements of
a window. `padding` lets windows extend beyond the ends of the array: "valid": not at all; "same": evenly at both ends
(an odd element at the high end), so that with a stride of 1 there are as many windows as elements; an integer: that far
at both ends; or a pair (low, high) for each windowed axis. Elements outside of the array don't count: they are 0 in
sums, 1 in products, and the largest or smallest value in minima or maxima.

An axis of n elements has `(n + low + high - span) // stride + 1` windows, where `span = (size - 1) * dilation + 1` is
the number of elements that a window covers. If that number is below 1, there are no windows, and the result is empty.

The time is that of O(log(size)) passes over the array for each windowed axis. Sums are never differences of cumulative
sums: they are as exact as pairwise summation, and NaN and infinities affect only their windows.
"""

from typing import Any

from xpand.extend import Array

from .._dispatch import pluggable
from ._arguments import Padding, Sizes, check_windows
from ._general import window_reduce, window_scatter_max, window_scatter_min
from ._reductions import avg_pool, max_pool, min_pool, window_max, window_mean, window_min, window_prod, window_sum

__all__ = [
    "Padding",
    "Sizes",
    "avg_pool",
    "max_pool",
    "min_pool",
    "sliding_window_view",
    "window_max",
    "window_mean",
    "window_min",
    "window_prod",
    "window_reduce",
    "window_scatter_max",
    "window_scatter_min",
    "window_sum",
]
__dir__ = __all__.copy


@pluggable
def sliding_window_view(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    axis: int | tuple[int, ...] | None = None,
    strides: Sizes = 1,
    window_dilation: Sizes = 1,
) -> Array:
    """Return all windows of an array as new axes, as `numpy.lib.stride_tricks.sliding_window_view`.

    Args:
        x: An array of any shape and data type.
        window_shape: The size of the windows along each windowed axis; an integer: the same for all axes.
        axis: The windowed axis or axes. None: all.
        strides: The distance between neighbouring windows, along each windowed axis.
        window_dilation: The distance between neighbouring elements of a window, along each windowed axis.

    Returns:
        An array of the shape of `x`, with the number of windows along each windowed axis, followed by `window_shape`.
        On NumPy it is a read-only view, on PyTorch a view. On other libraries it is a copy, with `prod(window_shape)`
        times as many elements as `x`; the window reductions need no such copy.

    Raises:
        TypeError: `x` is not an array, or a size is not an integer.
        ValueError: A size, stride or dilation below 1, more or fewer of these than windowed axes, an axis that `x` does
            not have, or an axis named twice.

    Source: `numpy.lib.stride_tricks.sliding_window_view`, which raises an error if no window fits.

    >>> import numpy as np
    >>> sliding_window_view(np.asarray([1.0, 2.0, 3.0, 4.0]), 2)
    array([[1., 2.],
           [2., 3.],
           [3., 4.]])
    """
    given = window_shape, axis, strides, window_dilation
    implementation, window, options = sliding_window_view.planned(_check_view, (x,), *given)
    return implementation(x, window, **options)


def _check_view(
    function: str, x: Array, window_shape: Any, axis: Any, strides: Any, window_dilation: Any
) -> tuple[tuple[int, ...], dict[str, Any]]:
    window, options = check_windows(function, None, x, window_shape, axis, strides, "valid", window_dilation)
    del options["padding"]
    return window, options
