"""Fourier transforms, with a correct `s` in n dimensions, and sample frequencies on their device."""

from collections.abc import Callable, Sequence
from typing import Any

import cupy as cp
from array_api_compat.cupy import fft as _compat
from array_api_compat.cupy.fft import *

from ..typing import Array, Device, DType
from ._creation import on, real

# CuPy's one-dimensional transforms keep single precision, so they need no correction.
fft, ifft, rfft, irfft, hfft, ihfft = (cp.fft.fft, cp.fft.ifft, cp.fft.rfft, cp.fft.irfft, cp.fft.hfft, cp.fft.ihfft)
fftshift, ifftshift = cp.fft.fftshift, cp.fft.ifftshift


def _transform(native: Callable[..., Array]) -> Callable[..., Array]:
    """Correct the argument `s` of a transform over several axes."""

    def transform(
        x: Array, /, *, s: Sequence[int] | None = None, axes: Sequence[int] | None = None, norm: Any = None
    ) -> Array:
        # If `s` equals x.shape, CuPy ignores it, even if it is for other axes. A list never equals a shape. See
        # https://github.com/data-apis/array-api-compat/pull/78#issuecomment-1984527870
        return native(x, s=None if s is None else list(s), axes=axes, norm=norm)

    transform.__name__ = transform.__qualname__ = native.__name__
    transform.__doc__ = f"Compute CuPy's `{native.__name__}`, by default over the last `len(s)` axes."
    return transform


fftn, ifftn, rfftn, irfftn = map(_transform, (cp.fft.fftn, cp.fft.ifftn, cp.fft.rfftn, cp.fft.irfftn))


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Return the `n` sample frequencies of `fft` for samples `d` apart, nonnegative ones first."""
    with on(device):
        result = cp.fft.fftfreq(n, d)
        return result.astype(real(dtype), copy=False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """Return the `n // 2 + 1` sample frequencies of `rfft` for `n` samples `d` apart."""
    with on(device):
        result = cp.fft.rfftfreq(n, d)
        return result.astype(real(dtype), copy=False)


__all__ = sorted(set(_compat.__all__))


def __dir__() -> list[str]:
    return __all__
