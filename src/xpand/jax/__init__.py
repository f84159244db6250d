"""The array API standard for JAX: all public names of `jax.numpy`, with corrections."""

from importlib import import_module

import jax.numpy as _native
from jax.numpy import *

from .._common.names import name_functions as _name_functions
from .._renamed import missing_from as _missing_from
from . import _switches as _switches
from ._creation import *  # type: ignore[no-redef]
from ._dtypes import *
from ._elementwise import *
from ._manipulation import *  # type: ignore[assignment]  # tuples, where JAX declares lists
from ._numbers import *  # type: ignore[no-redef]
from ._reductions import *

# Imported by name: after the star import, `from . import` would find JAX's `fft` and `linalg`.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = [name for name in dir(_native) if not name.startswith("_")]
__all__ += ["__array_api_version__", "__array_namespace_info__"]

_name_functions(__name__, globals())

__getattr__ = _missing_from(__name__)


def __dir__() -> list[str]:
    return __all__
