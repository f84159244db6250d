"""The array API standard for CuPy: `array_api_compat.cupy` with corrections.

It is written for CuPy 14, which promotes like NumPy 2.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from array_api_compat import cupy as _compat
from array_api_compat.cupy import *
from cupy import ceil, cumulative_prod, cumulative_sum, floor, isdtype, matmul, sign, tensordot, trunc

from .._common.names import name_functions
from .._common.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from . import _switches as _switches
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from ._dtypes import __array_namespace_info__, finfo, iinfo
from ._elementwise import acosh, clip, log, log1p, sqrt, tanh
from ._integers import *
from ._searching import (
    argsort,
    isin,
    repeat,
    searchsorted,
    sort,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


# Imported by name: after the star import, `from . import` would find array-api-compat's `fft` and `linalg`.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = sorted({*_compat.__all__, "from_dlpack", "isin", "repeat"})

name_functions(__name__, globals())


def __dir__() -> list[str]:
    return __all__
