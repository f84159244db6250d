"""Determinants, with their first and second derivatives.

In forward mode, PyTorch treats the saved factors of a matrix as constants, so the second derivatives of `solve`, `det`
and `slogdet` are silently wrong. Those of the factorization are right, so these functions are computed from it.
"""

from __future__ import annotations

from typing import Any

import torch

from ..typing import LibraryArray as Array
from . import _private as private
from ._concrete import is_traced
from ._differentiated import is_all_false, is_differentiated, product_of_few, with_derivatives
from ._spectra import diagonal_of


def det(x: Array, /, **kwargs: Any) -> Array:
    """Compute the determinants of a stack of matrices."""
    forward = private.in_forward_mode() and not kwargs and x.shape[-1] > 0
    # PyTorch's derivative by forward mode may raise an error if a matrix is singular.
    plain = torch.linalg.det(x.detach() if forward else x, **kwargs)
    if not forward and (kwargs or not x.shape[-1] or not is_differentiated(x) or is_traced()):
        return plain  # also while tracing: TorchInductor takes half a minute to compile the code below
    singular = plain.detach() == 0  # the factors of these matrices have no derivative
    if is_all_false(singular):
        return _product_of_factors(x) if forward else plain
    eye = torch.eye(x.shape[-1], dtype=x.dtype, device=x.device)
    regular = _product_of_factors(torch.where(singular[..., None, None], eye, x))
    return torch.where(singular, with_derivatives(plain, _det_of_singular(x)), regular)


def _product_of_factors(x: Array) -> Array:
    diagonal, parity = _factors(x)
    return parity * torch.prod(diagonal, -1)


def _det_of_singular(x: Array) -> Array:
    """Compute determinants of matrices that lack one or two pivots, with first and second derivatives.

    If more pivots are missing, these derivatives are zero. The factors of `x` are constants here: solving with them
    makes the rows and columns of the pivots those of the identity, which leaves the Schur complement of the others.
    """
    size = x.shape[-1]
    factors, exchanges, _ = torch.linalg.lu_factor_ex(x.detach())
    permutation, lower, upper = torch.lu_unpack(factors, exchanges)
    pivots = torch.abs(diagonal_of(upper))
    missing = pivots == torch.amin(pivots, -1, True)  # due to rounding, a missing pivot is not always 0
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
    """Return the diagonals of the upper triangular factors, and the signs of the permutations."""
    lu, exchanges, _ = torch.linalg.lu_factor_ex(x)
    rows = torch.arange(1, x.shape[-1] + 1, dtype=exchanges.dtype, device=x.device)
    odd = torch.sum((exchanges != rows).to(torch.int64), -1) % 2
    return diagonal_of(lu), (1 - 2 * odd).to(x.dtype)
