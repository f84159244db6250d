"""Convolutions on PyTorch, by its own functions for up to three spatial axes."""

from typing import Any, Final

import torch
from torch.nn import functional

import xpand.torch as xp
from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions.convolution._geometry import Geometry, by_dilation, convolver, transposer
from xpand_extensions.convolution._pieces import by_taps, dilated, flipped, takes_fft
from xpand_extensions.generic import convolution as generic

from ..numpy import convolution as host
from ._plain import is_on_host, on_host

_CONV: Final = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED: Final = {1: functional.conv_transpose1d, 2: functional.conv_transpose2d, 3: functional.conv_transpose3d}
_SMALL: Final = 4096
"""The length up to which NumPy is faster, since it needs no axes of channels."""
_FFT_COST: Final = 1.5
"""The cost of a Fourier transform, as in `_pieces`: PyTorch's kernels are slow for few channels and many taps."""


def _conv(what: Geometry, x: Array, kernel: Array) -> Array:
    signed = SIGNED.get(x.dtype)
    if signed is not None:
        return _conv(what, x.view(signed), kernel.view(signed)).view(x.dtype)
    if x.is_cuda and not _is_floating(x):
        return _by_channels(what, x, kernel)
    native = _CONV.get(len(what.strides))
    if native is None:
        return by_taps(what, x, kernel)
    if any(step > 1 for step in what.input_dilation):
        x = dilated(xp, x, what.input_dilation)
    apart = what.kernel_dilation
    if not _is_floating(x) and any(step > 1 for step in apart):
        # For integers, PyTorch has no dilation of kernels. Zeros between the taps are equivalent.
        kernel, apart = dilated(xp, kernel, apart), (1,) * len(apart)
    padding: Any = [low for low, _ in what.padding]
    if any(low != high or low < 0 for low, high in what.padding):
        x = functional.pad(x, _ends(what, 1))
        padding = 0
    return native(x, kernel, None, what.strides, padding, apart, what.groups)


def _conv_transpose(what: Geometry, x: Array, kernel: Array) -> Array:
    native = _TRANSPOSED.get(len(what.strides))
    if native is None or not _is_floating(x):
        return _by_dilation(what, x, kernel)
    # PyTorch removes the same padding at both ends, and less at the end by `output_padding`, below the stride.
    padding = [low for low, _ in what.padding]
    more = [low - high for low, high in what.padding]
    if all(low >= 0 and 0 <= extra < stride for low, extra, stride in zip(padding, more, what.strides)):
        return native(x, kernel, None, what.strides, padding, more, what.groups, what.kernel_dilation)
    whole = native(x, kernel, None, what.strides, 0, 0, what.groups, what.kernel_dilation)
    return functional.pad(whole, _ends(what, -1))


def _by_channels(what: Geometry, x: Array, kernel: Array) -> Array:
    """Convolve integers on a GPU, where PyTorch has no product of integer matrices: channel by channel."""
    into = kernel.shape[1]
    x = x.reshape(x.shape[0], what.groups, into, *x.shape[2:])
    parts = (by_taps(what, x[:, :, channel], kernel[:, channel : channel + 1]) for channel in range(into))
    total = next(parts)
    for part in parts:
        total = total + part
    return total


def _ends(what: Geometry, sign: int) -> list[int]:
    """Return the padding in PyTorch's order: the last axis first."""
    return [sign * end for pair in reversed(what.padding) for end in pair]


def _is_floating(x: Array) -> bool:
    return bool(x.is_floating_point() or x.is_complex())


_by_dilation = by_dilation(_conv)

conv = convolver(_conv)
conv_transpose = transposer(_conv_transpose)


def convolve(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    if x.ndim == 1 and x.numel() <= _SMALL and is_on_host(x, kernel):
        return on_host(host.convolve, x, kernel, mode=mode, axes=axes, method=method)
    method = "fft" if takes_fft(x, kernel, axes, method, _FFT_COST) else "direct"
    return generic.convolve(x, kernel, mode=mode, axes=axes, method=method)


def correlate(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    if kernel.is_complex():
        # Conjugate explicitly: vmap has no rule for PyTorch's lazy conjugates.
        kernel = torch.complex(kernel.real, -kernel.imag)
    return convolve(x, flipped(xp, kernel, axes), mode=mode, axes=axes, method=method)
