"""Factors of dense matrices on Dask: by blocks of the stack, with whole matrices."""

from typing import Any

import numpy as np

from xpand.extend import Array
from xpand_extensions.linear_solve import _factors as facades
from xpand_extensions.linear_solve._factors import Factors

from ..linalg import _over_stacks


def factor_lu(a: Array, /) -> Factors:
    return _factored(facades.factor_lu, "(i,i),(i)", a, [a.dtype, np.int64])


def factor_cholesky(a: Array, /) -> Factors:
    return _factored(facades.factor_cholesky, "(i,i)", a, [a.dtype])


def factor_qr(a: Array, /) -> Factors:
    return _factored(facades.factor_qr, "(i,i),(i,i)", a, [a.dtype, a.dtype])


def factor_triangular(a: Array, /, *, lower: bool = True) -> Factors:
    return _factored(facades.factor_triangular, "(i,i)", a, [a.dtype], lower=lower)


def _factored(function: Any, parts: str, a: Array, dtypes: list[Any], **options: Any) -> Factors:
    real = np.empty(0, dtype=a.dtype).real.dtype
    every = [np.dtype(dtype) for dtype in (*dtypes, real, np.int32)]
    return tuple(_over_stacks(function, f"(i,i)->{parts},(),()", [a], every, **options))
