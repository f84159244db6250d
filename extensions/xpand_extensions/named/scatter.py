"""Segment reductions of named arrays.

The axis of the segments replaces the reduced axis. Empty segments, and indices out of bounds, are treated as in
`xpand.scatter`.

>>> import numpy as np
>>> from xpand import named as hax
>>> ages = hax.named(np.asarray([30.0, 50.0, 20.0]), "person")
>>> team = hax.named(np.asarray([0, 1, 0]), "person")
>>> hax.scatter.segment_mean(ages, team, hax.Axis("team", 2))
NamedArray({'team': 2}, array([25., 50.]))
"""

from collections.abc import Callable
from typing import Any

from xpand.extend import describe

from .. import scatter as _scatter
from . import _axis
from ._array import NamedArray
from ._axis import Axis, AxisSelector
from ._by_name import by_name
from ._plans import check_named, position

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum"]
__dir__ = __all__.copy


def segment_sum(
    values: NamedArray, segment_ids: NamedArray, segments: Axis, *, axis: AxisSelector | None = None, **options: Any
) -> NamedArray:
    """Sum the values of each segment.

    Args:
        values: The values to reduce, with the axis `axis`.
        segment_ids: The number of the segment of each position along the axis. The array may have further axes.
        segments: The axis of the segments in the result. Its size is the number of segments.
        axis: The axis to reduce. By default, the axis of `segment_ids`, if there is only one.
        **options: Options of `xpand.scatter.segment_sum`, such as `mode`.

    Raises:
        ValueError: `segment_ids` has several axes and `axis` is omitted, or an array lacks the axis.
    """
    return _segments(_scatter.segment_sum, values, segment_ids, segments, axis, options)


def segment_prod(
    values: NamedArray, segment_ids: NamedArray, segments: Axis, *, axis: AxisSelector | None = None, **options: Any
) -> NamedArray:
    """Compute the product of the values of each segment, like `segment_sum`."""
    return _segments(_scatter.segment_prod, values, segment_ids, segments, axis, options)


def segment_mean(
    values: NamedArray, segment_ids: NamedArray, segments: Axis, *, axis: AxisSelector | None = None, **options: Any
) -> NamedArray:
    """Compute the mean of the values of each segment, like `segment_sum`."""
    return _segments(_scatter.segment_mean, values, segment_ids, segments, axis, options)


def segment_max(
    values: NamedArray, segment_ids: NamedArray, segments: Axis, *, axis: AxisSelector | None = None, **options: Any
) -> NamedArray:
    """Compute the maximum of the values of each segment, like `segment_sum`."""
    return _segments(_scatter.segment_max, values, segment_ids, segments, axis, options)


def segment_min(
    values: NamedArray, segment_ids: NamedArray, segments: Axis, *, axis: AxisSelector | None = None, **options: Any
) -> NamedArray:
    """Compute the minimum of the values of each segment, like `segment_sum`."""
    return _segments(_scatter.segment_min, values, segment_ids, segments, axis, options)


def _segments(
    function: Callable[..., Any],
    values: NamedArray,
    segment_ids: NamedArray,
    segments: Axis,
    axis: AxisSelector | None,
    options: dict[str, Any],
) -> NamedArray:
    name = function.__name__
    check_named(name, "values", values)
    check_named(name, "segment_ids", segment_ids)
    if not isinstance(segments, Axis):
        raise TypeError(
            f"{name}: segments must be an Axis, whose size is the number of segments, got {describe(segments)}"
        )
    if axis is None:
        if len(segment_ids.names) != 1:
            raise ValueError(
                f"{name}: segment_ids has the axes {_axis.written(segment_ids.shape.items())}; choose one with axis="
            )
        axis = segment_ids.names[0]
    for each in (values, segment_ids):
        position(name, each, axis)
    core, _ = _axis.selector(name, axis)
    reduced = by_name(function, [(core,), (core,)], (segments.name,))
    return reduced(values, segment_ids, num_segments=segments.size, **options)
