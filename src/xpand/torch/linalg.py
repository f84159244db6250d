"""The standard's `linalg` extension for PyTorch, with everything else of `torch.linalg`."""

from __future__ import annotations

from typing import Any

import torch
from array_api_compat.torch.linalg import *
from array_api_compat.torch.linalg import __all__ as _compat_all

from ..typing import Axis, DType, LibraryArray as Array
from . import _private as private
from ._binary import output, same_type
from ._concrete import is_traced
from ._differentiated import (
    is_all_false,
    is_differentiated,
    is_differentiated_in_both,
    is_differentiated_in_reverse,
    product_of_few,
    with_derivatives,
)
from ._products import cross, matmul, matrix_transpose, outer, tensordot, vecdot
from ._reductions import sum as _sum


def eigh(x: Array, /, **kwargs: Any) -> Any:
    """Return the eigenvalues of a stack of Hermitian matrices, ascending, and eigenvectors."""
    x = _of_hermitian_part(x)
    plain = torch.linalg.eigh(x, **kwargs)
    if kwargs or not _is_mixed(x):
        if x.dtype.is_complex and is_differentiated_in_reverse(x):
            # The second derivative of both, real and complex numbers, raises; that of each alone doesn't.
            return type(plain)((torch.linalg.eigh(x, **kwargs)[0], plain[1]))
        return plain
    values, vectors = (y.detach() for y in plain)
    eye = _identity(vectors)
    x_values, x_vectors = values, vectors
    for _ in range(2):
        # T. Ogita and K. Aishima, Japan J. Indust. Appl. Math. 35 (2018) 1007.
        turned = x_vectors.mH @ x @ x_vectors
        rest = eye - x_vectors.mH @ x_vectors
        x_values = (diagonal_of(turned) / (1.0 - diagonal_of(rest))).real
        shifts = x_values.to(x.dtype)
        change = (turned + rest * shifts[..., None, :]) / _gaps(shifts, eye)
        x_vectors = x_vectors + x_vectors @ torch.where(eye == 1, rest / 2, change)
    return type(plain)((with_derivatives(values, x_values), with_derivatives(vectors, x_vectors)))


def eigvalsh(x: Array, /, **kwargs: Any) -> Array:
    """Return the eigenvalues of a stack of Hermitian matrices, ascending."""
    return torch.linalg.eigvalsh(_of_hermitian_part(x), **kwargs)


def cholesky(x: Array, /, *, upper: bool = False, **kwargs: Any) -> Array:
    """Return the triangular factor of a stack of positive definite Hermitian matrices."""
    return torch.linalg.cholesky(_of_hermitian_part(x), upper=upper, **kwargs)


def eig(x: Array, /, **kwargs: Any) -> Any:
    """Return the eigenvalues of a stack of square matrices, and eigenvectors."""
    plain = torch.linalg.eig(x, **kwargs)
    if kwargs or not _is_mixed(x):
        return plain
    values, vectors = (y.detach() for y in plain)
    eye = _identity(vectors)
    x_values, x_vectors = values, vectors
    for _ in range(2):
        factors, pivots, _ = torch.linalg.lu_factor_ex(x_vectors)
        turned = torch.linalg.lu_solve(factors, pivots, x.to(vectors.dtype) @ x_vectors)
        x_values = diagonal_of(turned)
        x_vectors = x_vectors + x_vectors @ torch.where(eye == 1, 0.0, turned / _gaps(x_values, eye))
    lengths = torch.sqrt(torch.sum(x_vectors.real**2 + x_vectors.imag**2, -2, True))
    return type(plain)((with_derivatives(values, x_values), with_derivatives(vectors, x_vectors / lengths)))


def _of_hermitian_part(x: Array) -> Array:
    """Return matrices with the derivatives of their Hermitian part."""
    return x if not private.in_forward_mode() else with_derivatives(x, (x + x.mH) / 2)


def _is_mixed(x: Array) -> bool:
    return x.shape[-1] > 0 and is_differentiated_in_both(x)


def _identity(vectors: Array) -> Array:
    return torch.eye(vectors.shape[-1], dtype=vectors.dtype, device=vectors.device)


def diagonal_of(x: Array) -> Array:
    """Return the diagonals of a stack of square matrices; of `torch.diagonal` PyTorch's compiler gives a warning."""
    chosen = torch.eye(x.shape[-1], dtype=torch.bool, device=x.device)
    return torch.sum(torch.where(chosen, x, 0.0), -1)


def _gaps(values: Array, eye: Array) -> Array:
    """Return how far the value of each column is from that of each row; 1 on the diagonal."""
    return values[..., None, :] - values[..., :, None] + eye


def det(x: Array, /, **kwargs: Any) -> Array:
    """Compute the determinants of a stack of matrices."""
    forward = private.in_forward_mode() and not kwargs and x.shape[-1] > 0
    # PyTorch's own derivative by forward mode may raise where a matrix is singular.
    plain = torch.linalg.det(x.detach() if forward else x, **kwargs)
    if not forward and (kwargs or not x.shape[-1] or not is_differentiated(x) or is_traced()):
        return plain  # in graphs too: the other forms take TorchInductor half a minute to compile
    singular = plain.detach() == 0  # whose factors have no derivative
    if is_all_false(singular):
        return _product_of_factors(x) if forward else plain
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    regular = _product_of_factors(torch.where(singular[..., None, None], eye, x))
    return torch.where(singular, with_derivatives(plain, _det_of_singular(x)), regular)


def _product_of_factors(x: Array) -> Array:
    diagonal, parity = _factors(x)
    return parity * torch.prod(diagonal, -1)


def _det_of_singular(x: Array) -> Array:
    """Compute determinants with their first and second derivatives, of matrices without one or two of their pivots.

    Where more are, these derivatives are zero. With what elimination finds, taken for constants, `x` becomes
    a matrix whose rows and columns of pivots are those of the identity; of the others the Schur complement is left.
    """
    size = x.shape[-1]
    factors, exchanges, _ = torch.linalg.lu_factor_ex(x.detach())
    permutation, lower, upper = torch.lu_unpack(factors, exchanges)
    pivots = torch.abs(diagonal_of(upper))
    missing = pivots == torch.amin(pivots, -1, True)  # not always 0: rounding errors depend on the order
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
    of_rest = product_of_few(count, _trace(rest), _trace(rest @ rest))
    scale = torch.linalg.det(permutation) * torch.prod(diagonal_of(upper), -1)
    return torch.where((count == 1) | (count == 2), scale * _product_of_factors(core) * of_rest, 0.0)


def _trace(x: Array) -> Array:
    return torch.sum(diagonal_of(x), -1)


def slogdet(x: Array, /, **kwargs: Any) -> Any:
    """Compute the signs of the determinants of a stack of matrices, and the logarithms of their absolute values."""
    if kwargs or not private.in_forward_mode():
        return torch.linalg.slogdet(x, **kwargs)
    diagonal, parity = _factors(x)
    sign, size = parity * torch.prod(torch.sgn(diagonal), -1), torch.sum(torch.log(torch.abs(diagonal)), -1)
    return torch.return_types.linalg_slogdet((sign, size))


def _factors(x: Array) -> tuple[Array, Array]:
    """Return the diagonals of the upper triangular factors of matrices, and the signs of the permutations."""
    lu, exchanges, _ = torch.linalg.lu_factor_ex(x)
    rows = torch.arange(1, x.shape[-1] + 1, dtype=exchanges.dtype, device=x.device)
    odd = torch.sum((exchanges != rows).to(torch.int64), -1) % 2
    return diagonal_of(lu), (1 - 2 * odd).to(x.dtype)


def solve(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """Return the solution of `x1 @ x = x2`; `x2` is a vector only if it has one dimension, by the standard."""
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    # PyTorch takes x2 for a stack of vectors wherever its shape allows: https://github.com/pytorch/pytorch/issues/52915
    if x2.ndim != 1 and x1.ndim - 1 == x2.ndim and x1.shape[:-1] == x2.shape:
        x2 = x2[None]
    if not private.in_forward_mode() or kwargs:
        return torch.linalg.solve(x1, x2, **kwargs)
    # In forward mode, PyTorch takes the factors that it keeps for constants: see `_determinants`.
    lu, pivots, _ = torch.linalg.lu_factor_ex(x1, check_errors=True)
    if x2.ndim == 1:
        return torch.linalg.lu_solve(lu, pivots, x2[:, None])[..., 0]
    return torch.linalg.lu_solve(lu, pivots, x2)


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2, **kwargs: Any) -> Array:
    """Compute the norms of vectors along axes; over no axis absolute values, where PyTorch takes `()` for all axes."""
    if axis != ():
        return torch.linalg.vector_norm(x, ord, axis, keepdims, **kwargs)
    return output((x != 0).to(x.real.dtype) if ord == 0 else torch.abs(x), kwargs)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro", **kwargs: Any) -> Array:
    """Compute the norms of a stack of matrices."""
    return torch.linalg.matrix_norm(x, ord, (-2, -1), keepdims, **kwargs)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sums along diagonals of a stack of matrices, in the type of `sum`."""
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
