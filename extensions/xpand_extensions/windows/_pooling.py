"""Pooling: windows over those axes of images that follow batch and channel."""

from typing import Any

from xpand.extend import Array, Kind, checks

from ._arguments import Padding, Sizes, check_array, check_windows
from ._reductions import window_max, window_mean, window_min


def max_pool(
    x: Array,
    /,
    window_shape: Sizes,
    *,
    strides: Sizes | None = None,
    padding: Padding = "valid",
    window_dilation: Sizes = 1,
) -> Array:
    """Take the maximum of each window of images.

    Args:
        x: Images of shape `(batch, channel, *spatial)`, of a boolean or real data type.
        window_shape: The size of the windows along each spatial axis; an integer: the same for all.
        strides: How far one window is from the next, along each spatial axis. None: `window_shape`, so that they touch.
        padding: How far windows reach over the ends of the images: "valid", "same", an integer, or a pair (low, high)
            for each spatial axis. Elements outside are never the maximum.
        window_dilation: How far one element of a window is from the next, along each spatial axis.

    Returns:
        Images of the same data type, with the number of windows in place of each spatial axis.

    Raises:
        TypeError: `x` is no array or of another data type; a size is no integer.
        ValueError: `x` has no spatial axis, or as `window_max`.

    Source: PyTorch's `max_pool2d` and its variants.

    >>> import numpy as np
    >>> max_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[3., 5.]]])
    """
    window, options = _check("max_pool", x, checks.ORDERED, window_shape, strides, padding, window_dilation)
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
    """Take the minimum of each window of images. Arguments, result and errors are those of `max_pool`.

    >>> import numpy as np
    >>> min_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[1., 2.]]])
    """
    window, options = _check("min_pool", x, checks.ORDERED, window_shape, strides, padding, window_dilation)
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
    """Average each window of images.

    Arguments, result and errors are those of `max_pool`, except that data types are floating-point, real or complex;
    `count_include_pad` is that of `window_mean`.

    >>> import numpy as np
    >>> avg_pool(np.asarray([[[1.0, 3.0, 2.0, 5.0]]]), 2)
    array([[[2. , 3.5]]])
    """
    window, options = _check("avg_pool", x, checks.FLOATING, window_shape, strides, padding, window_dilation)
    checks.boolean("avg_pool", "count_include_pad", count_include_pad)
    return window_mean.native(x)(x, window, **options, count_include_pad=count_include_pad)


def _check(
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
            f"{tuple(x.shape)}; add those that it hasn't with `xp.expand_dims`, or use the window functions"
        )
    steps = window_shape if strides is None else strides
    return check_windows(function, None, x, window_shape, tuple(range(2, x.ndim)), steps, padding, window_dilation)
