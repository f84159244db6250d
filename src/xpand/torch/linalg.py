"""The standard's `linalg` extension for PyTorch, with everything else of `torch.linalg`."""

from __future__ import annotations

from math import inf
from typing import Any

import torch
from array_api_compat.torch.linalg import *
from array_api_compat.torch.linalg import __all__ as _compat_all
from torch.autograd import forward_ad

from .._typing import Array, DType
from ._binary import same_type
from ._following import (
    absolute,
    is_followed,
    is_followed_in_both,
    is_followed_twice,
    is_nowhere,
    root_at_zeros,
    root_of_squares,
)
from ._products import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from ._reductions import sum as _sum
from ._spectra import diagonal_of, eig, eigh


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
    plain = torch.linalg.det(x, **kwargs)
    if kwargs or not x.shape[-1] or not is_followed(x):
        return plain
    singular = plain.detach() == 0  # whose factors have no derivative
    if is_nowhere(singular):
        # PyTorch's third derivative by reverse mode is wrong too.
        return _product_of_factors(x) if forward_ad._current_level >= 0 or is_followed_twice(x) else plain
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    regular = _product_of_factors(torch.where(singular[..., None, None], eye, x))
    found = _det_of_singular(x)
    return torch.where(singular, plain.detach() - (found.detach() - found), regular)


def _product_of_factors(x: Array) -> Array:
    diagonal, parity = _factors(x)
    return parity * torch.prod(diagonal, -1)


def _det_of_singular(x: Array) -> Array:
    """Determinants as functions with all their derivatives, of matrices in which up to three pivots are missing.

    Where more are, the first three derivatives are zero. With what elimination finds, taken for constants, `x` becomes
    a matrix whose rows and columns of pivots are those of the identity; of the others the Schur complement is left.
    """
    size = x.shape[-1]
    factors, exchanges, _ = torch.linalg.lu_factor_ex(x.detach())
    permutation, lower, upper = torch.lu_unpack(factors, exchanges)
    pivots = torch.abs(diagonal_of(upper))
    missing = pivots == torch.amin(pivots, -1, True)  # not always 0: what rounding leaves depends on the order
    both = missing[..., :, None] & missing[..., None, :]
    eye = torch.eye(size, dtype=x.dtype, device=x.device)
    upper = torch.where(missing[..., None], eye, upper)
    y = torch.linalg.solve_triangular(lower, permutation.mH @ x, upper=False, unitriangular=True)
    y = torch.linalg.solve_triangular(upper, y, upper=True, left=False)
    found = ~missing[..., :, None] & ~missing[..., None, :]
    core = torch.where(found, y, eye)
    right = torch.where(~missing[..., :, None] & missing[..., None, :], y, 0.0)
    left = torch.where(missing[..., :, None] & ~missing[..., None, :], y, 0.0)
    rest = torch.where(both, y, 0.0) - left @ torch.linalg.solve_ex(core, right)[0]
    count = torch.sum(missing, -1)
    powers = [rest]
    for _ in range(2):
        powers.append(powers[-1] @ rest)
    one, two, three = (_trace(p) for p in powers)
    # Newton's identities: the determinants of what is left, of up to three rows.
    of_two, of_three = (one * one - two) / 2, (one**3 - 3 * one * two + 2 * three) / 6
    of_rest = torch.where(count == 1, one, torch.where(count == 2, of_two, of_three))
    scale = torch.linalg.det(permutation) * torch.prod(diagonal_of(upper), -1)
    return torch.where((count > 0) & (count < 4), scale * _product_of_factors(core) * of_rest, 0.0)


def _trace(x: Array) -> Array:
    return torch.sum(diagonal_of(x), -1)


def slogdet(x: Array, /, **kwargs: Any) -> Any:
    """The signs of the determinants of a stack of matrices, and the logarithms of their absolute values."""
    plain = torch.linalg.slogdet(x, **kwargs)
    if kwargs or not is_followed(x):
        return plain
    if forward_ad._current_level < 0 and is_nowhere(plain[0].detach() == 0):
        return plain
    diagonal, parity = _factors(x)
    return type(plain)((parity * torch.prod(torch.sgn(diagonal), -1), torch.sum(torch.log(torch.abs(diagonal)), -1)))


def _factors(x: Array) -> tuple[Array, Array]:
    """The diagonals of the upper triangular factors of a stack of matrices, and the signs of the permutations."""
    lu, pivots, _ = torch.linalg.lu_factor_ex(x)
    rows = torch.arange(1, x.shape[-1] + 1, dtype=pivots.dtype, device=x.device)
    odd = torch.sum((pivots != rows).to(torch.int64), -1) % 2
    return diagonal_of(lu), (1 - 2 * odd).to(x.dtype)


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
        result = (x != 0).to(x.real.dtype) if ord == 0 else _plain_abs(x, ord)
        out = kwargs.get("out")
        return result if out is None else out.copy_(result)
    if kwargs or ord == 0 or not is_followed(x):
        return torch.linalg.vector_norm(x, ord, axis, keepdims, **kwargs)
    norm = _with_zeros(x, torch.linalg.vector_norm(x, ord, axis, True), axis, ord)
    if keepdims:
        return norm
    return norm.reshape(()) if axis is None else norm.squeeze(axis)


def _plain_abs(x: Array, ord: float) -> Array:
    if ord == 2 and is_followed(x):
        return root_at_zeros(torch.abs(x), x)
    return absolute(x) if is_followed(x) and not x.dtype.is_complex else torch.abs(x)


def _with_zeros(x: Array, norm: Array, axis: int | tuple[int, ...] | None, ord: float) -> Array:
    """Norms, with axes of size 1, and the derivatives at zeros that those of absolute values and of roots give."""
    if ord == 2 and is_followed_in_both(x):
        return root_of_squares(norm, x, axis)
    zero = x == 0 if ord == 1 else norm == 0
    if is_nowhere(zero) or -inf < ord < 1:
        return norm
    if ord not in (1, inf, -inf):
        return root_at_zeros(norm, torch.sum(x, axis, True))
    if x.dtype.is_complex:
        return norm
    # The slope of each of the zeros is 1; one extreme among equals has its share.
    own = zero if ord == 1 else zero & (x == 0)
    total = torch.sum(torch.where(own, x, 0.0), axis, True)
    return norm + (total if ord == 1 else total / torch.sum(own, axis, True).clamp(min=1))


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro", **kwargs: Any) -> Array:
    """The norms of a stack of matrices."""
    if kwargs or not is_followed(x) or ord not in ("fro", 1, -1, inf, -inf):
        return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims, **kwargs)
    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    along, across = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = vector_norm(x, axis=along, keepdims=True, ord=1)
    norm = torch.amax(sums, across, True) if ord in (1, inf) else torch.amin(sums, across, True)
    return norm if keepdims else norm[..., 0, 0]


__all__ = [
    "cross",
    "det",
    "eig",
    "eigh",
    "matmul",
    "matrix_norm",
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
