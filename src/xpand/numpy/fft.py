"""Fourier transforms. Only the sample frequencies are corrected: they need a `dtype`."""

import sys
from collections.abc import Callable
from typing import Any

from numpy import fft as _numpy_fft
from numpy.fft import (
    fft,
    fftfreq as _fftfreq,
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
    rfftfreq as _rfftfreq,
    rfftn,
)

from .._precision import PRECISION, dtype_for
from ..typing import Device, DType, LibraryArray as Array
from ._copied import copy_names
from ._dtypes import check_device

_XP: Any = sys.modules[__package__]


def _frequencies(native: Callable[..., Array]) -> Callable[..., Array]:
    name = native.__name__

    def frequencies(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Array:
        if device is not None:
            check_device(name, device)
        if PRECISION.active and dtype is None:
            dtype = dtype_for(_XP, "real floating")
        result = native(n, d)
        return result if dtype is None else result.astype(dtype, copy=False)

    frequencies.__name__ = frequencies.__qualname__ = name
    frequencies.__doc__ = f"Return the sample frequencies of NumPy's `{name}`, in a given data type."
    return frequencies


fftfreq = _frequencies(_fftfreq)
rfftfreq = _frequencies(_rfftfreq)

copy_names(_numpy_fft, globals())
__all__ = sorted(["__builtins__", *(name for name in dir(_numpy_fft) if not name.startswith("_"))])


def __dir__() -> list[str]:
    return __all__
