"""The array API standard for PyTorch: all of `array_api_compat.torch`, its gaps closed."""

from array_api_compat.torch import *
from array_api_compat.torch import __all__ as _compat_all

# By their full names: `from . import linalg` would find the submodule that the star import brought.
import xpand.torch.fft as fft
import xpand.torch.linalg as linalg
from xpand.torch._binary import *
from xpand.torch._creation import *
from xpand.torch._dtypes import *
from xpand.torch._info import __array_namespace_info__ as __array_namespace_info__
from xpand.torch._manipulation import *
from xpand.torch._products import *
from xpand.torch._reductions import *
from xpand.torch._searching import *
from xpand.torch._unary import *

__array_api_version__ = "2025.12"

__all__ = ["__array_api_version__", "__array_namespace_info__", "fft", "linalg"]
__all__ += [name for name in _compat_all if name not in __all__]


def __dir__() -> list[str]:
    return __all__
