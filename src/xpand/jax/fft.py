"""`jax.numpy.fft`, which conforms to the Fourier transform extension of the standard."""

import jax.numpy.fft as _native
from jax.numpy.fft import *

__all__ = [name for name in dir(_native) if not name.startswith("_")]


def __dir__() -> list[str]:
    return __all__
