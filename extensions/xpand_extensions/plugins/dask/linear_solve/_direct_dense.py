"""Factors of dense matrices on Dask: by blocks of the stack, with whole matrices."""

from typing import Any

import numpy as np

from xpand.dask.array._blocks import map_core
from xpand.extend import LibraryArray as Array
from xpand_extensions.linear_solve import _factors as facades
from xpand_extensions.linear_solve._factors import Factors


def factor_lu(a: Array, /) -> Factors:
    return _factored(facades.factor_lu, a, (a.shape[-2:], a.dtype), (a.shape[-1:], np.int64))


def factor_cholesky(a: Array, /) -> Factors:
    return _factored(facades.factor_cholesky, a, (a.shape[-2:], a.dtype))


def factor_qr(a: Array, /) -> Factors:
    return _factored(facades.factor_qr, a, (a.shape[-2:], a.dtype), (a.shape[-2:], a.dtype))


def factor_triangular(a: Array, /, *, lower: bool = True) -> Factors:
    return _factored(facades.factor_triangular, a, (a.shape[-2:], a.dtype), lower=lower)


def _factored(function: Any, a: Array, *parts: tuple[Any, Any], **options: Any) -> Factors:
    real = np.empty(0, dtype=a.dtype).real.dtype
    return map_core(function, [a], [2], [*parts, ((), real), ((), np.int32)], **options)
