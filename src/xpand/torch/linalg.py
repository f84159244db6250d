"""The standard's `linalg` extension for PyTorch, with everything else of `torch.linalg`."""

from __future__ import annotations

from typing import Any

import torch
from array_api_compat.torch.linalg import *
from array_api_compat.torch.linalg import __all__ as _compat_all
from torch.autograd import forward_ad

from .._typing import Array, DType
from ._binary import same_type
from ._products import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from ._reductions import sum as _sum


def solve(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """The solution of `x1 @ x = x2`; `x2` is a vector only if it has one dimension, by the standard."""
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    # PyTorch takes x2 for a stack of vectors wherever its shape allows: https://github.com/pytorch/pytorch/issues/52915
    if x2.ndim != 1 and x1.ndim - 1 == x2.ndim and x1.shape[:-1] == x2.shape:
        x2 = x2[None]
    if forward_ad._current_level < 0 or kwargs:
        return torch.linalg.solve(x1, x2, **kwargs)
    lu, pivots, _ = torch.linalg.lu_factor_ex(x1, check_errors=True)
    if x2.ndim == 1:
        return torch.linalg.lu_solve(lu, pivots, x2[:, None])[..., 0]
    return torch.linalg.lu_solve(lu, pivots, x2)


# In forward mode, PyTorch takes the factors that it keeps of a matrix for constants: the derivatives of derivatives of
# `solve`, `det` and `slogdet` are wrong, without a word. Those of the factorization itself are right.


def det(x: Array, /, **kwargs: Any) -> Array:
    """The determinants of a stack of matrices."""
    if forward_ad._current_level < 0 or kwargs:
        return torch.linalg.det(x, **kwargs)
    plain = torch.linalg.det(x)
    singular = plain.detach() == 0  # whose factors have no derivative
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    diagonal, parity = _factors(torch.where(singular[..., None, None], eye, x))
    return torch.where(singular, plain, parity * torch.prod(diagonal, -1))


def slogdet(x: Array, /, **kwargs: Any) -> Any:
    """The signs of the determinants of a stack of matrices, and the logarithms of their absolute values."""
    plain = torch.linalg.slogdet(x, **kwargs)
    if forward_ad._current_level < 0 or kwargs:
        return plain
    diagonal, parity = _factors(x)
    return type(plain)((parity * torch.prod(torch.sgn(diagonal), -1), torch.sum(torch.log(torch.abs(diagonal)), -1)))


def _factors(x: Array) -> tuple[Array, Array]:
    """The diagonals of the upper triangular factors of a stack of matrices, and the signs of the permutations."""
    lu, pivots, _ = torch.linalg.lu_factor_ex(x)
    rows = torch.arange(1, x.shape[-1] + 1, dtype=pivots.dtype, device=x.device)
    odd = torch.sum((pivots != rows).to(torch.int64), -1) % 2
    return torch.diagonal(lu, 0, -2, -1), (1 - 2 * odd).to(x.dtype)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """The sums along diagonals of a stack of matrices, in the type of `sum`."""
    return _sum(torch.diagonal(x, offset, -2, -1), axis=-1, dtype=dtype)


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
    **kwargs: Any,
) -> Array:
    """The norm of vectors along axes; over no axis the absolute value, where PyTorch takes `()` for all axes."""
    if axis == ():
        result = (x != 0).to(x.real.dtype) if ord == 0 else torch.abs(x)
        out = kwargs.get("out")
        return result if out is None else out.copy_(result)
    return torch.linalg.vector_norm(x, ord, axis, keepdims, **kwargs)


__all__ = [
    "cross",
    "det",
    "matmul",
    "matrix_transpose",
    "outer",
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
