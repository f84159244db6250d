"""The standard's `fft` extension for PyTorch, with everything else of `torch.fft`."""

import sys
from typing import Any

import torch
from array_api_compat.torch.fft import *
from array_api_compat.torch.fft import __all__ as _compat_all

from .._precision import PRECISION, dtype_for
from .._typing import Array, Device, DType

_XP: Any = sys.modules[__package__]


def fftfreq(
    n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """The sample frequencies of `fft`: `n` of them for samples `d` apart, the positive ones first."""
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating", device)
    return torch.fft.fftfreq(n, d, dtype=dtype, device=device, **kwargs)


def rfftfreq(
    n: int, /, d: float = 1.0, *, dtype: DType | None = None, device: Device | None = None, **kwargs: Any
) -> Array:
    """The sample frequencies of `rfft`: `n // 2 + 1` of them for `n` samples `d` apart."""
    if PRECISION.active and dtype is None:
        dtype = dtype_for(_XP, "real floating", device)
    return torch.fft.rfftfreq(n, d, dtype=dtype, device=device, **kwargs)


__all__ = list(_compat_all)


def __dir__() -> list[str]:
    return __all__
