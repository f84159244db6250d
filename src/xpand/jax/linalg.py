"""`jax.numpy.linalg`, which conforms to the linear algebra extension of the standard."""

import jax.numpy.linalg as _native
from jax.numpy.linalg import *

__all__ = [name for name in dir(_native) if not name.startswith("_")]


def __dir__() -> list[str]:
    return __all__
