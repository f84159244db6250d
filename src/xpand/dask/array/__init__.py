"""The array API standard for Dask. No function computes an array, and known sizes stay known.

The functions call xpand's NumPy or CuPy namespace on each block. Sizes that depend on values (of `nonzero`, of
`unique_values`, of a mask as index) are unknown until they are computed. In `shape` they are NaN, as usual in Dask.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from array_api_compat.dask import array as _compat
from array_api_compat.dask.array import *
from numpy import float16

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
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ._elementwise import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atanh,
    clip,
    cosh,
    exp,
    expm1,
    floor_divide,
    log,
    log1p,
    remainder,
    sign,
    sinh,
    sqrt,
    tanh,
)
from ._info import __array_namespace_info__, astype, broadcast_shapes, can_cast, finfo, iinfo, result_type
from ._manipulation import (
    broadcast_arrays,
    concat,
    expand_dims,
    matrix_transpose,
    permute_dims,
    repeat,
    reshape,
    roll,
    tile,
    unstack,
)
from ._searching import argsort, nonzero, searchsorted, sort, take, take_along_axis, where
from ._sets import isin, unique_all, unique_counts, unique_inverse, unique_values
from ._statistics import count_nonzero, cumulative_prod, cumulative_sum, max, min, std, var
from .linalg import matmul, tensordot, vecdot

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


# Imported by name: after the star import, `from . import` would find array-api-compat's `fft` and `linalg`.
fft, linalg = import_module(".fft", __name__), import_module(".linalg", __name__)

__array_api_version__ = "2025.12"

__all__ = sorted({*_compat.__all__, "broadcast_shapes", "float16", "from_dlpack", "isdtype", "take_along_axis"})


def __dir__() -> list[str]:
    return __all__
