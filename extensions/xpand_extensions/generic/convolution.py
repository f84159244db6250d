"""Convolutions with the standard alone: a sum over the kernel's taps of slices of the input."""

import itertools
import math
from collections.abc import Sequence
from typing import Any

from xpand import _arguments, array_namespace
from xpand._typing import Array, Namespace
from xpand_extensions import convolution
from xpand_extensions._convolution import Geometry, by_dilation, convolver, part_of, transposer

# Measured for NumPy, PyTorch and JAX: a direct convolution takes about a third of a nanosecond for each product, one
# by transforms about four for each element and doubling of the size.
_FFT_COST = 12.0


def by_taps(what: Geometry, x: Array, kernel: Array) -> Array:
    """Sum over taps, so that no more than a slice of the input is copied at a time."""
    xp = array_namespace(x)
    taps = kernel.shape[2:]
    sizes = what.sizes(x.shape[2:], taps)
    x = padded(xp, dilated(xp, x, what.input_dilation), what.padding)
    groups, out, into = what.groups, kernel.shape[0] // what.groups, kernel.shape[1]
    kernel = xp.reshape(kernel, (groups, out, into, *taps))
    x = xp.reshape(x, (x.shape[0], groups, into, *x.shape[2:]))
    total: Any = None
    for tap in itertools.product(*map(range, taps)):
        part = _contracted(xp, kernel[(..., *tap)], x[(..., *reached(what, sizes, tap))])
        total = part if total is None else total + part
    return xp.reshape(total, (x.shape[0], groups * out, *sizes))


def reached(what: Geometry, sizes: Sequence[int], tap: Sequence[int]) -> tuple[slice, ...]:
    """Select the points of the padded input that a tap meets."""
    starts = [t * dilation for t, dilation in zip(tap, what.kernel_dilation)]
    return tuple(
        [
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, sizes, what.strides)
        ]
    )


def _contracted(xp: Namespace, weights: Array, x: Array) -> Array:
    """Sum weights of shape `(groups, out, in)` times `(batch, groups, in, *points)` over the channels."""
    batch, groups, into, *points = x.shape
    if into == 1:
        return xp.reshape(weights, (groups, -1, *(1 for _ in points))) * x
    return xp.matmul(weights, xp.reshape(x, (batch, groups, into, math.prod(points))))


def dilated(xp: Namespace, x: Array, dilation: Sequence[int]) -> Array:
    """Put zeros between the points of each spatial axis."""
    for axis, step in enumerate(dilation, start=2):
        if step == 1:
            continue
        shape = list(x.shape)
        size = shape[axis]
        gaps = _zeros(xp, x, (*shape[: axis + 1], step - 1, *shape[axis + 1 :]))
        x = xp.concat([xp.expand_dims(x, axis=axis + 1), gaps], axis=axis + 1)
        shape[axis] = size * step
        x = xp.reshape(x, tuple(shape))[(..., slice((size - 1) * step + 1), *(slice(None) for _ in shape[axis + 1 :]))]
    return x


def padded(xp: Namespace, x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    """Put zeros before and after each spatial axis, or cut points off."""
    first = x.ndim - len(padding)
    cut = [slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape[first:], padding)]
    x = x[(..., *cut)]
    for axis, (low, high) in enumerate(padding, start=first):
        parts = [x]
        for extra, at_front in ((low, True), (high, False)):
            if extra > 0:
                zeros = _zeros(xp, x, (*x.shape[:axis], extra, *x.shape[axis + 1 :]))
                parts = [zeros, *parts] if at_front else [*parts, zeros]
        x = xp.concat(parts, axis=axis) if len(parts) > 1 else x
    return x


def _zeros(xp: Namespace, x: Array, shape: tuple[int, ...]) -> Array:
    return xp.zeros(shape, dtype=x.dtype, device=_arguments.device_of(x))


conv = convolver(by_taps)
conv_transpose = transposer(by_dilation(by_taps))


def convolve(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    xp = array_namespace(x)
    parts = [part_of(mode, x.shape[axis], kernel.shape[axis]) for axis in axes]
    if 0 in x.shape or 0 in kernel.shape or any(length == 0 for _, length in parts):
        return _zeros(xp, x, _result_shape(x, kernel, axes, parts))
    if takes_fft(x, kernel, axes, method):
        return _by_fft(xp, x, kernel, axes, parts)
    return _directly(xp, x, kernel, axes, parts)


def correlate(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    return convolution.convolve.native(x)(x, _reversed(kernel, axes), mode=mode, axes=axes, method=method)


def _reversed(kernel: Array, axes: tuple[int, ...]) -> Array:
    xp = array_namespace(kernel)
    return flipped(xp, xp.conj(kernel) if xp.isdtype(kernel.dtype, "complex floating") else kernel, axes)


def _result_shape(x: Array, kernel: Array, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    shape = [k if n == 1 else n for n, k in zip(x.shape, kernel.shape)]
    for axis, (_, length) in zip(axes, parts):
        shape[axis] = length
    return tuple(shape)


def takes_fft(x: Array, kernel: Array, axes: Sequence[int], method: str) -> bool:
    """Tell whether to take Fourier transforms: where asked for, or where by the sizes they take less time than sums."""
    if method == "direct" or not axes:
        return False
    if method == "fft":
        return True
    xp = array_namespace(x)
    if x.dtype not in (xp.float32, xp.float64, xp.complex64, xp.complex128):
        return False
    sizes, taps = [x.shape[axis] for axis in axes], [kernel.shape[axis] for axis in axes]
    full = math.prod([n + k - 1 for n, k in zip(sizes, taps)])
    direct = math.prod([max(n, k) for n, k in zip(sizes, taps)]) * math.prod([min(n, k) for n, k in zip(sizes, taps)])
    return bool(direct > _FFT_COST * 3 * full * math.log2(full + 1))


def _by_fft(xp: Namespace, x: Array, kernel: Array, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> Array:
    """Multiply the Fourier transforms of both, long enough that no end meets the other."""
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


def fast_length(size: int) -> int:
    """Find the next number with no prime factor above 5, whose transform is fast."""
    best = 1 << (size - 1).bit_length()
    five = 1
    while five < best:
        odd = five
        while odd < best:
            needed = -(-size // odd)
            best = min(best, odd << (needed - 1).bit_length())
            odd *= 3
        five *= 5
    return best


def _directly(xp: Namespace, x: Array, kernel: Array, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> Array:
    """Lay the smaller array, reversed, on the larger one; axes that broadcast are a batch, channels or groups."""
    if math.prod([kernel.shape[axis] for axis in axes]) > math.prod([x.shape[axis] for axis in axes]):
        x, kernel = kernel, x
    n = len(axes)
    last = tuple(range(-n, 0))
    shape = _result_shape(x, kernel, axes, parts)
    rest = tuple([shape[axis] for axis in range(len(shape)) if axis not in axes])
    x, kernel = (xp.moveaxis(array, axes, last) for array in (x, flipped(xp, kernel, axes)))
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
    result = convolution.conv.native(x)(
        xp.reshape(x, (batch, groups, *size_shape)),
        xp.reshape(kernel, (kernels, 1, *taps_shape)),
        strides=ones,
        padding=tuple(padding),
        input_dilation=ones,
        kernel_dilation=ones,
        feature_groups=groups,
    )
    return xp.moveaxis(xp.reshape(result, (*rest, *result.shape[2:])), last, axes)


def flipped(xp: Namespace, kernel: Array, axes: Sequence[int]) -> Array:
    return xp.flip(kernel, axis=tuple(axes)) if axes else kernel
