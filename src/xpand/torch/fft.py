"""The standard's `fft` extension for PyTorch, with everything else of `torch.fft`."""

from array_api_compat.torch.fft import *
from array_api_compat.torch.fft import __all__ as _compat_all

__all__ = list(_compat_all)


def __dir__() -> list[str]:
    return __all__
