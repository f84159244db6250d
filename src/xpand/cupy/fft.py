"""Fourier transforms, with the `s` of the n-dimensional ones heeded and the sample frequencies on their device."""

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp
from array_api_compat.cupy import fft as _compat
from array_api_compat.cupy.fft import *

from .._typing import Array, Device, DType
from ._creation import on, real

# CuPy keeps single precision, so that its one-dimensional transforms stand as they are.
fft, ifft, rfft, irfft, hfft, ihfft = (
    cp.fft.fft,
    cp.fft.ifft,
    cp.fft.rfft,
    cp.fft.irfft,
    cp.fft.hfft,
    cp.fft.ihfft,
)
fftshift, ifftshift = cp.fft.fftshift, cp.fft.ifftshift


def _sizes(s: Sequence[int] | None) -> list[int] | None:
    # CuPy takes a tuple equal to x.shape for "nothing to crop or pad", whatever axes its entries are for; a list never
    # equals a shape. See https://github.com/data-apis/array-api-compat/pull/78#issuecomment-1984527870
    return None if s is None else list(s)


def _transform(
    native: Callable[..., Array], x: Array, s: Sequence[int] | None, axes: Sequence[int] | None, norm: Any
) -> Array:
    return native(x, s=_sizes(s), axes=axes, norm=norm)


def fftn(x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None) -> Array:
    """The n-dimensional transform, over the last `len(s)` axes unless `axes` names others."""
    return _transform(cp.fft.fftn, x, s, axes, norm)


def ifftn(x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None) -> Array:
    """The inverse of `fftn`."""
    return _transform(cp.fft.ifftn, x, s, axes, norm)


def rfftn(x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None) -> Array:
    """The n-dimensional transform of real data, half of the last transformed axis."""
    return _transform(cp.fft.rfftn, x, s, axes, norm)


def irfftn(
    x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
) -> Array:
    """The inverse of `rfftn`; `s` has the size of its last axis, which the transform does not tell."""
    return _transform(cp.fft.irfftn, x, s, axes, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """The sample frequencies of `fft`: `n` of them for samples `d` apart, the positive ones first."""
    with on(device):
        result = cp.fft.fftfreq(n, d)
        return result.astype(real(dtype), copy=False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """The sample frequencies of `rfft`: `n // 2 + 1` of them for `n` samples `d` apart."""
    with on(device):
        result = cp.fft.rfftfreq(n, d)
        return result.astype(real(dtype), copy=False)


__all__ = sorted(set(_compat.__all__))


def __dir__() -> list[str]:
    return __all__
