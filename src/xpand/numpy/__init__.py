"""The array API standard for NumPy, with all names of `array_api_compat.numpy`.

Most functions are NumPy's own, which conform to the standard since NumPy 2.1. The modules of this package correct the
others: special values, data types and arguments. array-api-compat's namespace is not imported, because it loads all
modules of NumPy, such as `f2py` and `testing`, which takes 0.1 s.
"""

from importlib import import_module
from typing import Any

import numpy as _numpy
from numpy import (
    __version__,
    ceil,
    floor,
    isdtype,
    matmul,
    matrix_transpose,
    nonzero,
    permute_dims,
    reshape,
    sign,
    tensordot,
    trunc,
    unstack,
    vecdot,
)

from .._common.names import name_functions
from .._common.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from ._copied import copy_names
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
from ._dtypes import __array_namespace_info__, astype, finfo, iinfo
from ._elementwise import clip, expm1, floor_divide, log1p, tanh
from ._joining import stack
from ._searching import (
    argsort,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    isin,
    repeat,
    searchsorted,
    sort,
    take,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    where,
)
from ._spread import std, var

copy_names(_numpy, globals())

# Imported by name: `from . import` would find NumPy's `fft` and `linalg`, which are copied here.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = sorted(
    {
        *(name for name in dir(_numpy) if not name.startswith("_")),
        *("UniqueAllResult", "UniqueCountsResult", "UniqueInverseResult"),
        *("__array_api_version__", "__array_namespace_info__", "__builtins__", "__version__"),
    }
)

_NAMES = frozenset(__all__)

name_functions(__name__, globals())


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        return getattr(_numpy, name)  # a module that NumPy loads at first use
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
