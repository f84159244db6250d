"""The array API standard for PyTorch: `array_api_compat.torch` with corrections."""

from importlib import import_module

from array_api_compat.torch import *
from array_api_compat.torch import __all__ as _compat_all

from .._renamed import missing_from as _missing_from
from . import _switches as _switches
from ._binary import *
from ._creation import *
from ._dtypes import *
from ._info import __array_namespace_info__ as __array_namespace_info__
from ._manipulation import *
from ._products import *
from ._reductions import *
from ._searching import *
from ._unary import *

# Imported by name: after the star import, `from . import` would find array-api-compat's `fft` and `linalg`.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = ["__array_api_version__", "__array_namespace_info__", "fft", "linalg"]
__all__ += [name for name in _compat_all if name not in __all__]

__getattr__ = _missing_from(__name__)


def __dir__() -> list[str]:
    return __all__
