"""The array API namespace of NumPy: everything of `array_api_compat.numpy`, conforming and at NumPy's own speed.

Most functions are NumPy's own, which conform since 2.1. Those of the other modules here differ in a special value,
a data type or an argument, and say which.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from array_api_compat import numpy as _compat
from array_api_compat.numpy import *
from numpy import (
    ceil,
    floor,
    isdtype,
    matmul,
    matrix_transpose,
    nonzero,
    permute_dims,
    reshape,
    sign,
    std,
    tensordot,
    trunc,
    unstack,
    var,
    vecdot,
)

from .._common.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from ._dtypes import __array_namespace_info__, astype, finfo, iinfo
from ._elementwise import clip, expm1, floor_divide, tanh
from ._joining import stack
from ._searching import (
    argsort,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    sort,
    take_along_axis,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
)

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


# Bound by name: the star import has bound `fft` and `linalg` to array-api-compat's, which `from . import` would find.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = sorted(_compat.__all__)


def __dir__() -> list[str]:
    return __all__
