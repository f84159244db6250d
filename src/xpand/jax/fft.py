"""`jax.numpy.fft`, which conforms to the standard's `fft` extension."""

import jax.numpy.fft as _native
from jax.numpy.fft import *

from .._common.names import name_functions as _name_functions
from ._creation import creating

__all__ = [name for name in dir(_native) if not name.startswith("_")]

fftfreq = creating("fft.fftfreq", _native.fftfreq)
rfftfreq = creating("fft.rfftfreq", _native.rfftfreq)

_name_functions(__name__, globals())


def __dir__() -> list[str]:
    return __all__
