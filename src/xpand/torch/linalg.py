"""The standard's `linalg` extension for PyTorch, and all other functions of `torch.linalg`."""

from __future__ import annotations

from typing import Any

import torch
from array_api_compat.torch.linalg import *
from array_api_compat.torch.linalg import __all__ as _compat_all

from ..typing import Axis, DType, LibraryArray as Array
from . import _private as private
from ._binary import output, same_type
from ._determinants import det, slogdet
from ._products import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from ._reductions import sum as _sum
from ._spectra import cholesky, eig, eigh, eigvalsh


def solve(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """Solve `x1 @ x = x2`; as in the standard, `x2` is only a vector if it has one dimension."""
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    # PyTorch treats x2 as a stack of vectors if its shape allows it: https://github.com/pytorch/pytorch/issues/52915
    if x2.ndim != 1 and x1.ndim - 1 == x2.ndim and x1.shape[:-1] == x2.shape:
        x2 = x2[None]
    if not private.in_forward_mode() or kwargs:
        return torch.linalg.solve(x1, x2, **kwargs)
    # In forward mode, PyTorch treats the saved factors as constants: see `_determinants`.
    lu, pivots, _ = torch.linalg.lu_factor_ex(x1, check_errors=True)
    if x2.ndim == 1:
        return torch.linalg.lu_solve(lu, pivots, x2[:, None])[..., 0]
    return torch.linalg.lu_solve(lu, pivots, x2)


def qr(x: Array, /, *, mode: str = "reduced", **kwargs: Any) -> Any:
    """Return the factors Q, with orthonormal columns, and R, upper triangular.

    With `mode="r"`, return R alone, like NumPy and JAX; PyTorch also returns an array without elements.
    """
    found = torch.linalg.qr(x, mode, **kwargs)
    return found[1] if mode == "r" else found


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2, **kwargs: Any) -> Array:
    """Compute the norms of vectors along axes; `axis=()` means no axis and not all axes, unlike in PyTorch."""
    if not isinstance(axis, tuple) or axis:
        return torch.linalg.vector_norm(x, ord, axis, keepdims, **kwargs)
    return output((x != 0).to(x.real.dtype) if ord == 0 else torch.abs(x), kwargs)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro", **kwargs: Any) -> Array:
    """Compute the norms of a stack of matrices."""
    return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims, **kwargs)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sums along diagonals of a stack of matrices, with the data type of `sum`."""
    return _sum(torch.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


__all__ = [
    "cholesky",
    "cross",
    "det",
    "eig",
    "eigh",
    "eigvalsh",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "outer",
    "qr",
    "slogdet",
    "solve",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]
__all__ += [name for name in _compat_all if name not in __all__]


def __dir__() -> list[str]:
    return __all__
