"""Fourier transforms. NumPy keeps single precision since 2.0, so that only the sample frequencies need a `dtype`."""

import sys
from typing import Any

from array_api_compat.numpy import fft as _compat
from array_api_compat.numpy.fft import *
from numpy.fft import (
    fft,
    fftn,
    fftshift,
    hfft,
    ifft,
    ifftn,
    ifftshift,
    ihfft,
    irfft,
    irfftn,
    rfft,
    rfftn,
)
from numpy.fft import fftfreq as _fftfreq
from numpy.fft import rfftfreq as _rfftfreq

from .._precision import PRECISION, dtype_for
from .._typing import Array, Device, DType
from ._dtypes import check_device

_XP: Any = sys.modules[__package__]


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """The sample frequencies of `fft`: `n` of them for samples `d` apart, the positive ones first."""
    if device is not None:
        check_device("fftfreq", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating")
    result = _fftfreq(n, d)
    return result if dtype is None else result.astype(dtype, copy=False)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
    """The sample frequencies of `rfft`: `n // 2 + 1` of them for `n` samples `d` apart."""
    if device is not None:
        check_device("rfftfreq", device)
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating")
    result = _rfftfreq(n, d)
    return result if dtype is None else result.astype(dtype, copy=False)


__all__ = sorted(_compat.__all__)


def __dir__() -> list[str]:
    return __all__
