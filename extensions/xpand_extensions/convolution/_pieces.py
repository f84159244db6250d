"""Building blocks of convolutions, written with the standard alone, also for plug-ins."""

import itertools
import math
from collections.abc import Sequence
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace, checks
from xpand_extensions.convolution._geometry import Geometry

# The cost of a transform per element and factor of 2 of the size, relative to a product of a direct convolution.
# Measured on a CPU, with 1e3 to 1e5 elements and 50 to 1000 taps. Along one axis: NumPy 3 to 15, PyTorch 0.2 to 4,
# JAX 0.7 to 3. Along two axes, for images that fit into the cache: NumPy 0.3 to 0.9, PyTorch 0.1 to 1, JAX 0.2 to 0.6.
_FFT_COST: Final = 5.0
_FFT_COST_OF_MORE_AXES: Final = 2.0


def by_taps(what: Geometry, x: Array, kernel: Array) -> Array:
    """Convolve as a sum over taps, which copies only a slice of the input at a time."""
    xp = array_namespace(x, kernel)
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
    """Return the slices of the padded input that a tap multiplies."""
    starts = [t * dilation for t, dilation in zip(tap, what.kernel_dilation)]
    return tuple(
        [
            slice(start, start + (size - 1) * stride + 1, stride)
            for start, size, stride in zip(starts, sizes, what.strides)
        ]
    )


def _contracted(xp: Namespace, weights: Array, x: Array) -> Array:
    """Multiply weights, `(groups, out, in)`, by `x`, `(batch, groups, in, *points)`, and sum over the channels."""
    batch, groups, into, *points = x.shape
    if into == 1:
        return xp.reshape(weights, (groups, -1, *(1 for _ in points))) * x
    return xp.matmul(weights, xp.reshape(x, (batch, groups, into, math.prod(points))))


def dilated(xp: Namespace, x: Array, dilation: Sequence[int]) -> Array:
    """Insert zeros between the points of each spatial axis."""
    for axis, step in enumerate(dilation, start=2):
        if step == 1:
            continue
        shape = list(x.shape)
        size = shape[axis]
        gaps = new_zeros(xp, x, (*shape[: axis + 1], step - 1, *shape[axis + 1 :]))
        x = xp.concat([xp.expand_dims(x, axis=axis + 1), gaps], axis=axis + 1)
        shape[axis] = size * step
        x = xp.reshape(x, tuple(shape))[(..., slice((size - 1) * step + 1), *(slice(None) for _ in shape[axis + 1 :]))]
    return x


def padded(xp: Namespace, x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    """Add zeros before and after each spatial axis; negative padding cuts points off."""
    first = x.ndim - len(padding)
    cut = [slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(x.shape[first:], padding)]
    x = x[(..., *cut)]
    for axis, (low, high) in enumerate(padding, start=first):
        parts = [x]
        for extra, at_front in ((low, True), (high, False)):
            if extra > 0:
                zeros = new_zeros(xp, x, (*x.shape[:axis], extra, *x.shape[axis + 1 :]))
                parts = [zeros, *parts] if at_front else [*parts, zeros]
        x = xp.concat(parts, axis=axis) if len(parts) > 1 else x
    return x


def new_zeros(xp: Namespace, x: Array, shape: tuple[int, ...]) -> Array:
    return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))


def takes_fft(x: Array, kernel: Array, axes: Sequence[int], method: str, cost: float = _FFT_COST) -> bool:
    """Return whether to use Fourier transforms: if requested, or if they are estimated to be faster than sums.

    `cost` is the cost of a transform along one axis.
    """
    if method == "direct" or not axes:
        return False
    if method == "fft":
        return True
    xp = array_namespace(x)
    if not hasattr(xp, "fft") or not hasattr(xp, "complex64"):  # ndonnx has neither
        return False
    # MLX has no complex128.
    if x.dtype not in (xp.float32, xp.float64, xp.complex64, getattr(xp, "complex128", None)):
        return False
    sizes, taps = [x.shape[axis] for axis in axes], [kernel.shape[axis] for axis in axes]
    full = math.prod([n + k - 1 for n, k in zip(sizes, taps)])
    direct = math.prod([max(n, k) for n, k in zip(sizes, taps)]) * math.prod([min(n, k) for n, k in zip(sizes, taps)])
    if not direct:
        return False
    if len(axes) > 1:
        cost = min(cost, _FFT_COST_OF_MORE_AXES)
    return bool(direct > cost * 3 * full * math.log2(full + 1))


def fast_length(size: int) -> int:
    """Return the smallest number from `size` on without a prime factor above 5: transforms of that size are fast."""
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


def flipped(xp: Namespace, kernel: Array, axes: Sequence[int]) -> Array:
    return xp.flip(kernel, axis=tuple(axes)) if axes else kernel


def result_shape(x: Array, kernel: Array, axes: Sequence[int], parts: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return the shape of a convolution: `parts` along `axes`; the other axes broadcast."""
    shape = [k if n == 1 else n for n, k in zip(x.shape, kernel.shape)]
    for axis, (_, length) in zip(axes, parts):
        shape[axis] = length
    return tuple(shape)
