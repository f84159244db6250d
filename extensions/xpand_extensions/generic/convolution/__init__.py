"""Convolutions with the standard alone: for each tap of the kernel, add a slice of the input."""

import math
from collections.abc import Sequence
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace
from xpand_extensions import convolution
from xpand_extensions._dtypes import widened
from xpand_extensions.convolution._geometry import by_dilation, convolver, part_of, transposer
from xpand_extensions.convolution._pieces import by_taps, fast_length, flipped, new_zeros, result_shape, takes_fft

conv = convolver(by_taps)
conv_transpose = transposer(by_dilation(by_taps))


def convolve(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    xp = array_namespace(x, kernel)
    parts = [part_of(mode, x.shape[axis], kernel.shape[axis]) for axis in axes]
    if 0 in x.shape or 0 in kernel.shape or any(length == 0 for _, length in parts):
        return new_zeros(xp, x, result_shape(x, kernel, axes, parts))
    if takes_fft(x, kernel, axes, method):
        return _by_fft(x, kernel, axes, parts)
    return _directly(xp, x, kernel, axes, parts)


def correlate(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    xp = array_namespace(kernel)
    reverse = flipped(xp, xp.conj(kernel) if xp.isdtype(kernel.dtype, "complex floating") else kernel, axes)
    return convolution.convolve.native(x, kernel)(x, reverse, mode=mode, axes=axes, method=method)


@widened
def _by_fft(x: Array, kernel: Array, /, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> Array:
    """Multiply the Fourier transforms of both arrays, padded so that the ends don't overlap."""
    xp = array_namespace(x, kernel)
    lengths = [fast_length(x.shape[axis] + kernel.shape[axis] - 1) for axis in axes]
    if xp.isdtype(x.dtype, "complex floating"):
        forward, back = xp.fft.fftn, xp.fft.ifftn
    else:
        forward, back = xp.fft.rfftn, xp.fft.irfftn
    product = forward(x, s=lengths, axes=axes) * forward(kernel, s=lengths, axes=axes)
    key = [slice(None)] * x.ndim
    for axis, (start, length) in zip(axes, parts):
        key[axis] = slice(start, start + length)
    return back(product, s=lengths, axes=axes)[tuple(key)]


def _directly(xp: Namespace, x: Array, kernel: Array, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> Array:
    """Convolve with the smaller array as the kernel; axes that broadcast are a batch, channels or groups."""
    if math.prod([kernel.shape[axis] for axis in axes]) > math.prod([x.shape[axis] for axis in axes]):
        x, kernel = kernel, x
    n = len(axes)
    last = tuple(range(-n, 0))
    shape = result_shape(x, kernel, axes, parts)
    rest = tuple([shape[axis] for axis in range(len(shape)) if axis not in axes])
    x, kernel = (xp.moveaxis(array, tuple(axes), last) for array in (x, flipped(xp, kernel, axes)))
    padding = []
    for size, taps, (start, length) in zip(x.shape[x.ndim - n :], kernel.shape[x.ndim - n :], parts):
        low = taps - 1 - start
        padding.append((low, length + taps - 1 - size - low))
    count, taps_shape, size_shape = math.prod(rest), kernel.shape[x.ndim - n :], x.shape[x.ndim - n :]
    if math.prod(kernel.shape[: x.ndim - n]) == 1:
        groups, batch, kernels = 1, count, 1
    elif math.prod(x.shape[: x.ndim - n]) == 1:
        groups, batch, kernels = 1, 1, count
    else:
        groups, batch, kernels = count, 1, count
        x = xp.broadcast_to(x, (*rest, *size_shape))
        kernel = xp.broadcast_to(kernel, (*rest, *taps_shape))
    ones = (1,) * n
    result = convolution.conv.native(x, kernel)(
        xp.reshape(x, (batch, groups, *size_shape)),
        xp.reshape(kernel, (kernels, 1, *taps_shape)),
        strides=ones,
        padding=tuple(padding),
        input_dilation=ones,
        kernel_dilation=ones,
        feature_groups=groups,
    )
    return xp.moveaxis(xp.reshape(result, (*rest, *result.shape[2:])), last, tuple(axes))
