"""Convolutions of batches with channels, as in machine learning, and of plain arrays, as in signal processing.

`convolve` reverses the kernel; `conv` and `conv_transpose` do not (in mathematics, a cross-correlation). Sums are
computed in the data type of the result.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from xpand.extend import Array, DType, checks

from .._dispatch import pluggable
from .._dtypes import as_dtype
from .._elsewhere import arguments_elsewhere, elsewhere
from ._geometry import PADDINGS, ConvolveMode, Method, Padding, span

__all__ = ["ConvolveMode", "Method", "Padding", "conv", "conv_transpose", "convolve", "correlate"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

_METHODS: Final = ("auto", "direct", "fft")


@arguments_elsewhere()
@pluggable
def conv(
    x: Array,
    kernel: Array,
    /,
    *,
    strides: int | Sequence[int] = 1,
    padding: Padding = "valid",
    input_dilation: int | Sequence[int] = 1,
    kernel_dilation: int | Sequence[int] = 1,
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> Array:
    """Convolve a batch of inputs with a kernel, over any number of spatial axes.

    Element `(b, o, *p)` of the result is the sum, over channels `c` and taps `t`, of `kernel[o, c, *t]` times
    `x[b, c, *(p * strides + t * kernel_dilation - low)]`: the kernel is not reversed.

    Args:
        x: The inputs, of shape `(batch, in, *spatial)` and any numeric data type.
        kernel: An array of shape `(out, in / feature_groups, *taps)`, with as many axes as `x`; or to give each lane of
            the batch its own kernel, `(batch, out, in / feature_groups, *taps)`, where the first size may be 1.
        strides: The distance between neighbouring positions of the kernel: one number, or one for each spatial axis.
            The same holds for `input_dilation` and `kernel_dilation`.
        padding: A pair `(low, high)` for each spatial axis: the numbers of zeros before and after it, where negative
            numbers cut points off. "valid": no zeros. "same": as many as give `ceil(n / stride)` points for an input of
            n points, with an odd zero at the end. "full": one fewer than the kernel covers, at both ends.
        input_dilation: The distance of neighbouring points of the input, after zeros are inserted between them. Padding
            comes after this.
        kernel_dilation: The distance of neighbouring taps of the kernel on the input.
        feature_groups: The number of groups of channels; each is convolved with its part of the kernel's outputs.
        batch_groups: The number of groups of the batch; each is convolved with its part of the kernel's outputs, and
            the results become channels.

    Returns:
        An array of shape `(batch / batch_groups, out, *points)`, of the promoted data type. An axis has no points if
        the kernel covers more than the padded input.

    Raises:
        TypeError: Arguments that aren't arrays of one library, data types that don't promote or aren't numeric, an
            option of the wrong type.
        ValueError: Shapes that don't fit, groups that don't divide their axes, strides or dilations below 1, groups of
            both kinds, or arrays on two devices.

    Source: `conv_general_dilated` of XLA.

    >>> import numpy as np
    >>> x = np.asarray([[[1.0, 2.0, 4.0, 8.0]]])
    >>> kernel = np.asarray([[[10.0, 1.0]]])
    >>> conv(x, kernel)
    array([[[12., 24., 48.]]])
    >>> conv(x, kernel, strides=2, padding="same").shape
    (1, 1, 2)
    """
    given = strides, padding, input_dilation, kernel_dilation, feature_groups, batch_groups
    implementation, dtype, options = conv.planned(_check_conv, (x, kernel), *given)
    x, kernel = as_dtype(dtype, x, kernel)
    return implementation(x, kernel, **options)


@arguments_elsewhere()
@pluggable
def conv_transpose(
    x: Array,
    kernel: Array,
    /,
    *,
    strides: int | Sequence[int] = 1,
    padding: Padding = "valid",
    output_padding: int | Sequence[int] = 0,
    kernel_dilation: int | Sequence[int] = 1,
    feature_groups: int = 1,
) -> Array:
    """Apply the transpose of a convolution: multiply each input by the kernel, and sum overlapping products.

    The sum of `conv(u, kernel, …) * v` equals that of `u * conv_transpose(v, kernel, …)`, with the same kernel and
    options, for all `u` and `v` of fitting shapes. Nothing is conjugated.

    Args:
        x: The output of the convolution: `(batch, out, *spatial)`, of any numeric data type.
        kernel: The kernel of the convolution, `(out, in / feature_groups, *taps)`, or one for each lane of the batch.
        strides: As in `conv`.
        padding: The padding of the convolution. The result has as many points as the smallest input of the convolution
            that gives the size of `x`; for "same", the largest, which is the size of `x` times the strides.
        output_padding: The number of additional points at the end of each spatial axis of the result, below the
            strides. They are needed because with strides, inputs of several sizes give outputs of the same size.
        kernel_dilation: As in `conv`.
        feature_groups: As in `conv`.

    Returns:
        An array of shape `(batch, in, *points)`, of the promoted data type.

    Raises:
        TypeError: As `conv`.
        ValueError: As `conv`, or an `output_padding` not below the strides.

    Source: the gradient of a convolution with respect to its input, as in `torch.nn.functional.conv_transpose2d`.

    >>> import numpy as np
    >>> kernel = np.asarray([[[10.0, 1.0]]])
    >>> conv_transpose(np.asarray([[[1.0, 2.0]]]), kernel, strides=2)
    array([[[10.,  1., 20.,  2.]]])
    """
    given = strides, padding, output_padding, kernel_dilation, feature_groups
    implementation, dtype, options = conv_transpose.planned(_check_conv_transpose, (x, kernel), *given)
    x, kernel = as_dtype(dtype, x, kernel)
    return implementation(x, kernel, **options)


@arguments_elsewhere()
@pluggable
def convolve(
    x: Array,
    kernel: Array,
    /,
    *,
    mode: ConvolveMode = "full",
    axes: int | Sequence[int] | None = None,
    method: Method = "auto",
) -> Array:
    """Convolve two arrays with the same number of axes.

    Args:
        x: An array of any numeric data type.
        kernel: An array with as many axes. Either array may be the larger one.
        mode: "full": `n + k - 1` elements along each axis; "same": as many as in `x`, from the middle; "valid": the
            `n - k + 1` elements that need no zeros around the larger array.
        axes: The axes to convolve over; None: all. The other axes broadcast.
        method: "direct": sums of products, in time `n * k`. "fft": Fourier transforms, in time `(n + k) log(n + k)`,
            for floating-point data types; errors are relative to the largest element, and one nonfinite element makes
            all elements nonfinite. "auto": the method that is faster for the sizes; for integers always "direct".

    Returns:
        An array of the promoted data type; zeros if an axis of either array is empty.

    Raises:
        TypeError: Arguments that aren't arrays of one library, data types that don't promote or aren't numeric.
        ValueError: Shapes that don't fit, an axis named twice, no array that is the larger one along all axes (for
            "valid"), or arrays on two devices.

    Source: `scipy.signal.convolve`.

    >>> import numpy as np
    >>> convolve(np.asarray([1.0, 2.0, 4.0]), np.asarray([1.0, 1.0]))
    array([1., 3., 6., 4.])
    >>> convolve(np.asarray([1.0, 2.0, 4.0]), np.asarray([1.0, 1.0]), mode="same")
    array([1., 3., 6.])
    """
    implementation, dtype, axes = convolve.planned(_check_signals, (x, kernel), mode, axes, method)
    x, kernel = as_dtype(dtype, x, kernel)
    return implementation(x, kernel, mode=mode, axes=axes, method=method)


@arguments_elsewhere()
@pluggable
def correlate(
    x: Array,
    kernel: Array,
    /,
    *,
    mode: ConvolveMode = "full",
    axes: int | Sequence[int] | None = None,
    method: Method = "auto",
) -> Array:
    """Correlate two arrays: convolve the first with the reversed conjugate of the second.

    Arguments, result and errors are those of `convolve`.

    Source: `scipy.signal.correlate`.

    >>> import numpy as np
    >>> correlate(np.asarray([1.0, 2.0, 4.0]), np.asarray([10.0, 1.0]), mode="valid")
    array([12., 24.])
    """
    implementation, dtype, axes = correlate.planned(_check_signals, (x, kernel), mode, axes, method)
    x, kernel = as_dtype(dtype, x, kernel)
    return implementation(x, kernel, mode=mode, axes=axes, method=method)


def _check_conv(
    function: str,
    x: Array,
    kernel: Array,
    strides: Any,
    padding: Any,
    input_dilation: Any,
    kernel_dilation: Any,
    feature_groups: Any,
    batch_groups: Any,
) -> tuple[DType | None, dict[str, Any]]:
    """Check the arguments of `conv`; return the data type to convert to, and the complete options."""
    dtype, n = _check_arrays(function, x, kernel)
    groups = checks.integer(function, "feature_groups", feature_groups, minimum=1)
    batch_groups = checks.integer(function, "batch_groups", batch_groups, minimum=1)
    out, into, *taps = kernel.shape[kernel.ndim - n - 2 :]
    if groups > 1 and batch_groups > 1:
        raise ValueError(f"{function}: takes groups of features or of the batch, got {groups} and {batch_groups}")
    if x.shape[1] != into * groups:
        raise ValueError(
            f"{function}: kernel of shape {tuple(kernel.shape)} takes {into} channels in each of "
            f"feature_groups={groups}, got x of shape {tuple(x.shape)} with {x.shape[1]} channels"
        )
    if groups > 1:
        _divides(function, "feature_groups", groups, out, "the kernel's outputs")
    if batch_groups > 1:
        _divides(function, "batch_groups", batch_groups, out, "the kernel's outputs")
        _divides(function, "batch_groups", batch_groups, x.shape[0], "the batch")
        if kernel.ndim > n + 2:
            raise ValueError(
                f"{function}: batch_groups={batch_groups} takes one kernel for all, got one for each of the batch"
            )
    strides = checks.integers(function, "strides", strides, n, "spatial axes", minimum=1)
    input_dilation = checks.integers(function, "input_dilation", input_dilation, n, "spatial axes", minimum=1)
    kernel_dilation = checks.integers(function, "kernel_dilation", kernel_dilation, n, "spatial axes", minimum=1)
    pairs = _padding(function, padding, taps, kernel_dilation)
    if pairs is None:
        pairs = _same(x.shape[2:], taps, strides, input_dilation, kernel_dilation)
    return dtype, {
        "strides": strides,
        "padding": pairs,
        "input_dilation": input_dilation,
        "kernel_dilation": kernel_dilation,
        "feature_groups": groups,
        "batch_groups": batch_groups,
    }


def _check_conv_transpose(
    function: str,
    x: Array,
    kernel: Array,
    strides: Any,
    padding: Any,
    output_padding: Any,
    kernel_dilation: Any,
    feature_groups: Any,
) -> tuple[DType | None, dict[str, Any]]:
    """Check the arguments of `conv_transpose`; return the data type to convert to, and the complete options."""
    dtype, n = _check_arrays(function, x, kernel)
    groups = checks.integer(function, "feature_groups", feature_groups, minimum=1)
    out, _, *taps = kernel.shape[kernel.ndim - n - 2 :]
    if x.shape[1] != out:
        raise ValueError(
            f"{function}: kernel of shape {tuple(kernel.shape)} belongs to {out} outputs of a convolution, got x "
            f"of shape {tuple(x.shape)} with {x.shape[1]} channels"
        )
    _divides(function, "feature_groups", groups, out, "the kernel's outputs")
    strides = checks.integers(function, "strides", strides, n, "spatial axes", minimum=1)
    more = checks.integers(function, "output_padding", output_padding, n, "spatial axes", minimum=0)
    kernel_dilation = checks.integers(function, "kernel_dilation", kernel_dilation, n, "spatial axes", minimum=1)
    if any(extra >= stride for extra, stride in zip(more, strides)):
        raise ValueError(f"{function}: output_padding must be below the strides {strides}, got {more}")
    pairs = _padding(function, padding, taps, kernel_dilation)
    if pairs is None:
        pairs = tuple([_split(span(k, d) - stride) for k, d, stride in zip(taps, kernel_dilation, strides)])
    return dtype, {
        "strides": strides,
        "padding": tuple([(low, high - extra) for (low, high), extra in zip(pairs, more)]),
        "output_padding": more,
        "kernel_dilation": kernel_dilation,
        "feature_groups": groups,
    }


def _check_arrays(function: str, x: Array, kernel: Array) -> tuple[DType | None, int]:
    """Check the arrays of `conv` or its transpose; return the data type to convert to, and the spatial ndim."""
    xp = checks.together(function, checks.NUMERIC, x=x, kernel=kernel)
    dtype = None if x.dtype == kernel.dtype else checks.common_dtype(function, xp, x=x, kernel=kernel)
    shape = checks.known_shape(function, "x", x)
    taps = checks.known_shape(function, "kernel", kernel)
    n = len(shape) - 2
    if n < 0:
        raise ValueError(f"{function}: x must have the axes (batch, channels, *spatial), got the shape {shape}")
    if len(taps) not in (n + 2, n + 3):
        raise ValueError(
            f"{function}: kernel must have {n + 2} axes (out, in, *taps), as x has, or one more in front for a kernel "
            f"for each batch element; got the shapes {taps} and {shape}"
        )
    if len(taps) == n + 3 and taps[0] not in (1, shape[0]):
        raise ValueError(
            f"{function}: kernel must have one entry, or one for each of the {shape[0]} batch elements, along "
            f"its first axis; got the shape {taps}"
        )
    if 0 in taps[len(taps) - n :]:
        raise ValueError(f"{function}: kernel must have taps along each spatial axis, got the shape {taps}")
    return dtype, n


def _check_signals(
    function: str, x: Array, kernel: Array, mode: Any, axes: Any, method: Any
) -> tuple[DType | None, tuple[int, ...]]:
    """Check the arguments of `convolve` and `correlate`; return the data type to convert to, and the axes."""
    xp = checks.together(function, checks.NUMERIC, x=x, kernel=kernel)
    dtype = None if x.dtype == kernel.dtype else checks.common_dtype(function, xp, x=x, kernel=kernel)
    shape = checks.known_shape(function, "x", x)
    taps = checks.known_shape(function, "kernel", kernel)
    checks.choice(function, "mode", mode, PADDINGS)
    checks.choice(function, "method", method, _METHODS)
    if len(shape) != len(taps):
        raise ValueError(f"{function}: x and kernel must have as many axes, got the shapes {shape} and {taps}")
    if method == "fft" and checks.kind(xp, x.dtype) in checks.INTEGERS:
        raise TypeError(
            f"{function}: method='fft' takes floating-point data types, got {x.dtype}; take 'direct', or convert both"
        )
    axes = tuple(range(len(shape))) if axes is None else tuple(sorted(checks.axes(function, axes, len(shape))))
    if len(axes) < len(shape):
        for axis, (n, k) in enumerate(zip(shape, taps)):
            if axis not in axes and n != k and 1 not in (n, k):
                raise ValueError(f"{function}: axis {axis} is not convolved over, and {n} and {k} don't broadcast")
    if mode == "valid" and any(shape[a] < taps[a] for a in axes) and any(shape[a] > taps[a] for a in axes):
        raise ValueError(
            f"{function}: mode='valid' takes arrays of which one is the larger along all axes, got the shapes {shape} "
            f"and {taps}"
        )
    return dtype, axes


def _divides(function: str, name: str, groups: int, number: int, of: str) -> None:
    if number % groups:
        raise ValueError(f"{function}: {name}={groups} must divide {of}, which are {number}")


def _padding(
    function: str, padding: Any, taps: Sequence[int], dilation: Sequence[int]
) -> tuple[tuple[int, int], ...] | None:
    """Check padding; return a pair for each spatial axis, or None for "same", which depends on other arguments."""
    n = len(taps)
    if isinstance(padding, str) or not isinstance(padding, Sequence):
        checks.choice(function, "padding", padding, PADDINGS)
        if padding == "valid":
            return ((0, 0),) * n
        if padding == "same":
            return None
        return tuple([(span(k, d) - 1, span(k, d) - 1) for k, d in zip(taps, dilation)])
    if len(padding) != n or any(not isinstance(pair, Sequence) or len(pair) != 2 for pair in padding):
        raise ValueError(
            f"{function}: padding must be {', '.join(map(repr, PADDINGS))} or a pair (low, high) for each of "
            f"{n} spatial axes, got {padding!r}"
        )
    low_high = [[checks.integer(function, "padding", entry) for entry in pair] for pair in padding]
    return tuple([(low, high) for low, high in low_high])


def _same(
    spatial: Sequence[int],
    taps: Sequence[int],
    strides: Sequence[int],
    input_dilation: Sequence[int],
    kernel_dilation: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Return the padding "same": the result has `ceil(n / stride)` points along each axis."""
    found = []
    for n, k, stride, apart, d in zip(spatial, taps, strides, input_dilation, kernel_dilation):
        size = span(n, apart)
        found.append(_split(max((-(-size // stride) - 1) * stride + span(k, d) - size, 0)))
    return tuple(found)


def _split(total: int) -> tuple[int, int]:
    """Split padding between both ends; the high end gets an odd point, and all of negative padding."""
    low = max(total, 0) // 2
    return low, total - low
