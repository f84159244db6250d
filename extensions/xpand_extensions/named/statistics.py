"""Quantiles, running extremes and moving windows of named arrays.

>>> import numpy as np
>>> from xpand import named as hax
>>> x = hax.named(np.asarray([[1.0, 5.0, 3.0], [2.0, 4.0, 8.0]]), ("place", "time"))
>>> hax.statistics.quantile(x, 0.5, "time")
NamedArray({'place': 2}, array([3., 4.]))
>>> hax.statistics.window_max(x, {"time": 2})
NamedArray({'place': 2, 'time': 2}, array([[5., 5.],
       [4., 8.]]))
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xpand.extend import describe

from .. import statistics as _statistics, windows as _windows
from . import _axis
from ._array import NamedArray, interned, make
from ._axis import Axis, AxisSelection, AxisSelector
from ._by_name import reduced
from ._plans import along, check_named, position

__all__ = [
    "cumulative_max",
    "cumulative_min",
    "logcumsumexp",
    "median",
    "nanmedian",
    "nanquantile",
    "quantile",
    "window_max",
    "window_mean",
    "window_min",
    "window_prod",
    "window_sum",
]
__dir__ = __all__.copy


def quantile(
    x: NamedArray,
    q: float | Sequence[float],
    axis: AxisSelection | None = None,
    *,
    new: AxisSelector = "quantile",
    **options: Any,
) -> NamedArray:
    """Compute quantiles over axes.

    Args:
        x: Real numbers.
        q: A number from 0 to 1, or several.
        axis: The axes. By default, all axes.
        new: The axis of the quantiles if there are several. It is the first axis of the result.
        **options: Options of `xpand.statistics.quantile`, such as `method`.

    Raises:
        ValueError: The array lacks an axis.
    """
    return _quantiles(_statistics.quantile, x, q, axis, new, options)


def nanquantile(
    x: NamedArray,
    q: float | Sequence[float],
    axis: AxisSelection | None = None,
    *,
    new: AxisSelector = "quantile",
    **options: Any,
) -> NamedArray:
    """Compute quantiles of the elements that are not NaN, like `quantile`."""
    return _quantiles(_statistics.nanquantile, x, q, axis, new, options)


def _quantiles(
    positional: Callable[..., Any],
    x: NamedArray,
    q: Any,
    axis: AxisSelection | None,
    new: AxisSelector,
    options: Mapping[str, Any],
) -> NamedArray:
    found = reduced(positional, x, axis, q, **options)
    if len(found.array.shape) == len(found.names):
        return found
    name, size = _axis.selector(positional.__name__, new)
    if size not in (None, found.array.shape[0]):
        raise ValueError(
            f"{positional.__name__}: new axis {name!r} has size {size}, but there are {found.array.shape[0]} quantiles"
        )
    names = (name, *found.names)
    _axis.different(positional.__name__, names)
    return make(found.array, interned(names))


def median(x: NamedArray, axis: AxisSelection | None = None) -> NamedArray:
    """Compute the median over axes, by default over all axes."""
    return reduced(_statistics.median, x, axis)


def nanmedian(x: NamedArray, axis: AxisSelection | None = None) -> NamedArray:
    """Compute the median of the elements that are not NaN over axes, by default over all axes."""
    return reduced(_statistics.nanmedian, x, axis)


def cumulative_max(x: NamedArray, axis: AxisSelector) -> NamedArray:
    """Compute cumulative maxima along an axis."""
    return along("cumulative_max", _statistics.cumulative_max, x, axis)


def cumulative_min(x: NamedArray, axis: AxisSelector) -> NamedArray:
    """Compute cumulative minima along an axis."""
    return along("cumulative_min", _statistics.cumulative_min, x, axis)


def logcumsumexp(x: NamedArray, axis: AxisSelector) -> NamedArray:
    """Compute cumulative logarithms of sums of exponentials along an axis."""
    return along("logcumsumexp", _statistics.logcumsumexp, x, axis)


def window_sum(x: NamedArray, window: Mapping[str, int] | Axis, **options: Any) -> NamedArray:
    """Sum over windows that move along axes.

    Args:
        x: Numbers.
        window: The size of the window along each axis: a dictionary, or an `Axis`.
        **options: Options of `xpand.windows.window_sum`: `strides`, `padding` and others.

    Raises:
        ValueError: The array lacks an axis.
    """
    return _windowed(_windows.window_sum, x, window, options)


def window_prod(x: NamedArray, window: Mapping[str, int] | Axis, **options: Any) -> NamedArray:
    """Compute products over windows that move along axes, like `window_sum`."""
    return _windowed(_windows.window_prod, x, window, options)


def window_mean(x: NamedArray, window: Mapping[str, int] | Axis, **options: Any) -> NamedArray:
    """Compute means over windows that move along axes, like `window_sum`."""
    return _windowed(_windows.window_mean, x, window, options)


def window_max(x: NamedArray, window: Mapping[str, int] | Axis, **options: Any) -> NamedArray:
    """Compute maxima over windows that move along axes, like `window_sum`."""
    return _windowed(_windows.window_max, x, window, options)


def window_min(x: NamedArray, window: Mapping[str, int] | Axis, **options: Any) -> NamedArray:
    """Compute minima over windows that move along axes, like `window_sum`."""
    return _windowed(_windows.window_min, x, window, options)


def _windowed(positional: Callable[..., Any], x: NamedArray, window: Any, options: Mapping[str, Any]) -> NamedArray:
    function = positional.__name__
    check_named(function, "x", x)
    if not isinstance(window, (Mapping, Axis)):
        raise TypeError(
            f"{function}: window must be a dictionary from names to sizes, or an Axis, got {describe(window)}"
        )
    sizes = _axis.specified(function, window)
    axes = tuple([position(function, x, axis.name) for axis in sizes])
    return make(positional(x.array, tuple([axis.size for axis in sizes]), axis=axes, **options), x.names)
