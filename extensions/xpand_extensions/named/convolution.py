"""Convolutions of named arrays. Axes that only one array has broadcast, as in arithmetic.

Options, accuracy and errors are those of the functions of the same names in `xpand.convolution`.

>>> import numpy as np
>>> from xpand import named as hax
>>> x = hax.named(np.asarray([[1.0, 2.0, 4.0], [0.0, 1.0, 0.0]]), ("place", "time"))
>>> hax.convolution.convolve(x, hax.named(np.asarray([1.0, 1.0]), "time"), "time", mode="valid")
NamedArray({'place': 2, 'time': 2}, array([[3., 6.],
       [1., 1.]]))
"""

from collections.abc import Callable
from typing import Any

from .. import convolution as _convolution
from . import _axis
from ._array import NamedArray, make
from ._axis import AxisSelection, AxisSelector
from ._plans import check_named, different_sizes, rest_of, selected, step, stepped, union
from ._shapes import grouped, ungrouped

__all__ = ["conv", "conv_transpose", "convolve", "correlate"]
__dir__ = __all__.copy


def convolve(x: NamedArray, kernel: NamedArray, axis: AxisSelection, **options: Any) -> NamedArray:
    """Convolve two arrays along axes that both have: see `xpand.convolution.convolve`.

    Args:
        x: An array of any numeric data type.
        kernel: The kernel, an array of any numeric data type.
        axis: The axes to convolve over.
        **options: `mode` and `method`.

    Raises:
        ValueError: An array lacks an axis, or the arrays share another axis with different sizes.
    """
    return _along(_convolution.convolve, x, kernel, axis, options)


def correlate(x: NamedArray, kernel: NamedArray, axis: AxisSelection, **options: Any) -> NamedArray:
    """Correlate two arrays along axes that both have. Arguments and errors are those of `convolve`."""
    return _along(_convolution.correlate, x, kernel, axis, options)


def conv(
    x: NamedArray, kernel: NamedArray, axis: AxisSelection, channels: tuple[AxisSelector, AxisSelector], **options: Any
) -> NamedArray:
    """Convolve inputs of several channels with a kernel that is not reversed: see `xpand.convolution.conv`.

    Args:
        x: The inputs, with the spatial axes and the input channels. All other axes are mapped over.
        kernel: The kernel, with the spatial axes and both channel axes.
        axis: The spatial axes, in the order of options with an entry for each axis.
        channels: The axis of the input channels and that of the output channels.
        **options: `strides`, `padding`, `input_dilation`, `kernel_dilation` and `feature_groups`.

    Returns:
        An array with the other axes of `x`, then the output channels and the spatial axes.

    Raises:
        ValueError: An array lacks an axis, or the kernel has other axes.

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> x = hax.named(np.ones((4, 8, 3)), ("batch", "time", "in"))
    >>> conv(x, hax.named(np.ones((5, 3, 2)), ("out", "in", "time")), "time", ("in", "out")).shape
    {'batch': 4, 'out': 5, 'time': 7}
    """
    return _channels(_convolution.conv, x, kernel, axis, channels, options)


def conv_transpose(
    x: NamedArray, kernel: NamedArray, axis: AxisSelection, channels: tuple[AxisSelector, AxisSelector], **options: Any
) -> NamedArray:
    """Apply the transpose of `conv`: see `xpand.convolution.conv_transpose`.

    Arguments and errors are those of `conv`. `channels` names the channel axis of `x` first, which are the output
    channels of the convolution.
    """
    return _channels(_convolution.conv_transpose, x, kernel, axis, channels, options)


def _along(
    positional: Callable[..., Any], x: NamedArray, kernel: NamedArray, axis: AxisSelection, options: dict[str, Any]
) -> NamedArray:
    name = positional.__name__
    check_named(name, "x", x)
    check_named(name, "kernel", kernel)
    over = selected(name, x, axis)
    selected(name, kernel, over)
    for each in rest_of(x.names, over):
        if each in kernel.names and x.shape[each] != kernel.shape[each]:
            raise different_sizes(name, x, kernel, each)
    names = union((x.names, kernel.names))
    ways = [(each.array, step(each.names, names, pad=True)) for each in (x, kernel)]
    arrays = [array if way is None else stepped(array, way) for array, way in ways]
    return make(positional(*arrays, axes=tuple([names.index(each) for each in over]), **options), names)


def _channels(
    positional: Callable[..., Any],
    x: NamedArray,
    kernel: NamedArray,
    axis: AxisSelection,
    channels: tuple[AxisSelector, AxisSelector],
    options: dict[str, Any],
) -> NamedArray:
    name = positional.__name__
    check_named(name, "x", x)
    check_named(name, "kernel", kernel)
    if len(_axis.pairs(name, channels)) != 2:
        raise ValueError(f"{name}: channels must be the axes of the channels of x and of the result, got {channels!r}")
    ours, theirs = [each for each, _ in _axis.pairs(name, channels)]
    spatial = selected(name, x, axis)
    selected(name, x, ours)
    selected(name, kernel, (ours, theirs, *spatial))
    if extra := rest_of(kernel.names, (ours, theirs, *spatial)):
        raise ValueError(f"{name}: kernel has the axes {extra} in addition to its channels and the spatial axes")
    batch = rest_of(x.names, (ours, *spatial))
    # The kernel has the outputs of the convolution first, which are the inputs of the transpose.
    order = (ours, theirs) if positional is _convolution.conv_transpose else (theirs, ours)
    singles = [(each,) for each in spatial]
    arrays = grouped(x, [batch, (ours,), *singles]), grouped(kernel, [(order[0],), (order[1],), *singles])
    return ungrouped(positional(*arrays, **options), [batch, (theirs,), *singles], x.shape)
