"""JAX as the array API standard has it: `jax.numpy`, its gaps closed, with `linalg` and `fft`.

Every public name of `jax.numpy` is here. What differs from it is defined in the modules of this package; each function
says which clause of the standard asks for it.
"""

import importlib

import jax.numpy as _native
from jax.numpy import *

from xpand.jax._division import *
from xpand.jax._dtypes import *
from xpand.jax._elementwise import *
from xpand.jax._info import *
from xpand.jax._manipulation import *  # type: ignore[assignment]  # tuples, where JAX declares lists
from xpand.jax._searching import *
from xpand.jax._statistics import *
from xpand.jax._utility import *

# Not `from xpand.jax import …`: that would find the modules of the same name which the star import brought.
fft = importlib.import_module("xpand.jax.fft")
linalg = importlib.import_module("xpand.jax.linalg")

__array_api_version__ = "2025.12"

__all__ = [name for name in dir(_native) if not name.startswith("_")]
__all__ += ["__array_api_version__", "__array_namespace_info__"]


def __dir__() -> list[str]:
    return __all__
