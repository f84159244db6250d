"""Eigenvalues and Cholesky factors of matrices, with corrections of PyTorch's derivatives by forward mode.

These functions read one triangle of a Hermitian matrix. In other libraries, their derivatives are those of the
Hermitian part. In PyTorch, this is only true for reverse mode.

PyTorch's second derivatives of eigenvectors by reverse over forward mode are NaN, or raise an error. There, PyTorch's
result is used as a constant, and two steps of a quadratically convergent method follow. They change the values only by
rounding. But they give the result its derivatives, which are correct up to the third.
"""

from __future__ import annotations

from typing import Any

import torch

from ..typing import LibraryArray as Array
from . import _private as private
from ._differentiated import is_differentiated_in_both, is_differentiated_in_reverse, with_derivatives


def eigh(x: Array, /, **kwargs: Any) -> Any:
    """Return the eigenvalues of a stack of Hermitian matrices, in ascending order, and eigenvectors."""
    x = _of_hermitian_part(x)
    plain = torch.linalg.eigh(x, **kwargs)
    if kwargs or not _is_mixed(x):
        if x.dtype.is_complex and is_differentiated_in_reverse(x):
            # The second derivative of real values and complex vectors together raises an error. So compute them
            # separately.
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
    """Return the eigenvalues of a stack of Hermitian matrices, in ascending order."""
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
    """Return the diagonals of a stack of square matrices. PyTorch's compiler warns about `torch.diagonal`."""
    chosen = torch.eye(x.shape[-1], dtype=torch.bool, device=x.device)
    return torch.sum(torch.where(chosen, x, 0.0), -1)


def _gaps(values: Array, eye: Array) -> Array:
    """Return the differences between the value of each column and that of each row, and 1 on the diagonal."""
    return values[..., None, :] - values[..., :, None] + eye
