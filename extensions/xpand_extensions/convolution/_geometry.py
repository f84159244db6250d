"""Shared code of convolutions: a library's kernel only convolves with one kernel for the whole batch."""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, checks

Padding: TypeAlias = Literal["valid", "same", "full"] | Sequence[tuple[int, int]]
"""The numbers of zeros added at the two ends of each spatial axis; negative numbers cut points off."""

ConvolveMode: TypeAlias = Literal["full", "same", "valid"]
"""The part of a convolution that is the result."""

Method: TypeAlias = Literal["auto", "direct", "fft"]

PADDINGS: Final = ("valid", "same", "full")


class Geometry(NamedTuple):
    """The positions of a kernel on its input. Tuples have an entry for each spatial axis."""

    strides: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    input_dilation: tuple[int, ...]
    kernel_dilation: tuple[int, ...]
    groups: int = 1

    def spans(self, taps: Sequence[int]) -> list[int]:
        """Return the number of points that the kernel covers along each axis, including holes."""
        return [span(k, d) for k, d in zip(taps, self.kernel_dilation)]

    def sizes(self, spatial: Sequence[int], taps: Sequence[int]) -> tuple[int, ...]:
        """Return the spatial shape of the result."""
        reaches = [
            span(n, d) + low + high - covered
            for n, d, (low, high), covered in zip(spatial, self.input_dilation, self.padding, self.spans(taps))
        ]
        return tuple([reach // stride + 1 if reach >= 0 else 0 for reach, stride in zip(reaches, self.strides)])

    def cuts_all(self, spatial: Sequence[int]) -> bool:
        """Return whether negative padding leaves no point of the input along an axis, so that the result is zero."""
        for n, d, pair in zip(spatial, self.input_dilation, self.padding):
            if min(pair) < 0 and -min(pair) >= span(n, d):
                return True
        return False


Kernel: TypeAlias = Callable[[Geometry, Array, Array], Array]
"""Convolves `(batch, in, *spatial)` with `(out, in / groups, *spatial)`: nonempty arrays of one data type."""


def span(size: int, dilation: int) -> int:
    """Return the length that `size` points cover if they are `dilation` apart."""
    return (size - 1) * dilation + 1 if size else 0


def convolver(compute: Kernel) -> Callable[..., Array]:
    """Make a library's `conv` from its kernel.

    The facade has completed the options: each has an entry for each spatial axis.
    """

    def conv(
        x: Array,
        kernel: Array,
        /,
        *,
        strides: Any = 1,
        padding: Any = "valid",
        input_dilation: Any = 1,
        kernel_dilation: Any = 1,
        feature_groups: int = 1,
        batch_groups: int = 1,
    ) -> Array:
        what = Geometry(strides, padding, input_dilation, kernel_dilation, feature_groups)
        n = len(strides)
        sizes = what.sizes(x.shape[2:], kernel.shape[kernel.ndim - n :])
        channels = kernel.shape[kernel.ndim - n - 2]
        if 0 in x.shape or 0 in kernel.shape or 0 in sizes or what.cuts_all(x.shape[2:]):
            return _zeros(x, (x.shape[0] // batch_groups, channels, *sizes))
        if kernel.ndim > n + 2:
            return _with_kernels(compute, what, x, kernel)
        if batch_groups > 1:
            x = _batch_to_features(x, batch_groups)
            what = what._replace(groups=batch_groups)
        return compute(what, x, kernel)

    conv.__module__ = compute.__module__
    return conv


def transposer(compute: Kernel) -> Callable[..., Array]:
    """Make a library's `conv_transpose` from a kernel, which takes the geometry of the convolution to transpose.

    The facade has subtracted `output_padding` from the padding.
    """

    def conv_transpose(
        x: Array,
        kernel: Array,
        /,
        *,
        strides: Any = 1,
        padding: Any = "valid",
        output_padding: Any = 0,
        kernel_dilation: Any = 1,
        feature_groups: int = 1,
    ) -> Array:
        n = len(strides)
        what = Geometry(strides, padding, (1,) * n, kernel_dilation, feature_groups)
        sizes = transposed_sizes(what, x.shape[2:], kernel.shape[kernel.ndim - n :])
        channels = kernel.shape[kernel.ndim - n - 1] * feature_groups
        if 0 in x.shape or 0 in kernel.shape or 0 in sizes or _is_cut_off(what, x.shape[2:], kernel.shape[-n:]):
            return _zeros(x, (x.shape[0], channels, *sizes))
        if kernel.ndim > n + 2:
            return _with_kernels(compute, what, x, kernel)
        return compute(what, x, kernel)

    conv_transpose.__module__ = compute.__module__
    return conv_transpose


def transposed_sizes(what: Geometry, spatial: Sequence[int], taps: Sequence[int]) -> tuple[int, ...]:
    """Return the spatial shape of the result of a transposed convolution."""
    return tuple(
        [
            max((n - 1) * stride + covered - low - high, 0)
            for n, stride, covered, (low, high) in zip(spatial, what.strides, what.spans(taps), what.padding)
        ]
    )


def _is_cut_off(what: Geometry, spatial: Sequence[int], taps: Sequence[int]) -> bool:
    """Return whether padding removes the whole result of a transposed convolution."""
    axes = zip(spatial, what.strides, what.spans(taps), what.padding)
    return any(max(pair) >= (n - 1) * stride + covered for n, stride, covered, pair in axes)


def by_dilation(compute: Kernel) -> Kernel:
    """Make a kernel of transposed convolutions from a kernel of convolutions, by inserting zeros into the input."""

    def transposed(what: Geometry, x: Array, kernel: Array) -> Array:
        ends = [
            (covered - 1 - low, covered - 1 - high)
            for covered, (low, high) in zip(what.spans(kernel.shape[2:]), what.padding)
        ]
        ones = (1,) * len(ends)
        forward = Geometry(ones, tuple(ends), what.strides, what.kernel_dilation, what.groups)
        return compute(forward, x, _transposed_kernel(kernel, what.groups))

    return transposed


def _transposed_kernel(kernel: Array, groups: int) -> Array:
    """Reverse a kernel's taps, and exchange its input and output channels."""
    xp = array_namespace(kernel)
    out, into, *taps = kernel.shape
    kernel = xp.reshape(kernel, (groups, out // groups, into, *taps))
    kernel = xp.reshape(xp.moveaxis(kernel, 2, 1), (groups * into, out // groups, *taps))
    return xp.flip(kernel, axis=tuple(range(2, kernel.ndim))) if taps else kernel


def _with_kernels(compute: Kernel, what: Geometry, x: Array, kernel: Array) -> Array:
    """Convolve each lane with its own kernel: lanes become groups of channels of one lane."""
    xp = array_namespace(x, kernel)
    if kernel.shape[0] == 1:
        return compute(what, x, xp.reshape(kernel, kernel.shape[1:]))
    batch, channels, *spatial = x.shape
    x = xp.reshape(x, (1, batch * channels, *spatial))
    kernel = xp.reshape(kernel, (batch * kernel.shape[1], *kernel.shape[2:]))
    result = compute(what._replace(groups=batch * what.groups), x, kernel)
    return xp.reshape(result, (batch, result.shape[1] // batch, *result.shape[2:]))


def _batch_to_features(x: Array, groups: int) -> Array:
    """Convert groups of a batch to channels: from `(groups * batch, in, …)` to `(batch, groups * in, …)`."""
    xp = array_namespace(x)
    batch, channels, *spatial = x.shape
    x = xp.moveaxis(xp.reshape(x, (groups, batch // groups, channels, *spatial)), 0, 1)
    return xp.reshape(x, (batch // groups, groups * channels, *spatial))


def _zeros(x: Array, shape: tuple[int, ...]) -> Array:
    return array_namespace(x).zeros(shape, dtype=x.dtype, device=checks.device_of(x))


def part_of(mode: str, size: int, taps: int) -> tuple[int, int]:
    """Return the start and the length of the result in the full convolution of two sizes."""
    full = max(size + taps - 1, 0)
    if mode == "full":
        return 0, full
    if mode == "same":
        return max(full - size, 0) // 2, size
    return max(min(size, taps) - 1, 0), max(size, taps) - min(size, taps) + 1
