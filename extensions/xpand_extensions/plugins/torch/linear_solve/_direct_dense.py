"""Factors of dense matrices on PyTorch, with a status for each matrix."""

import torch

import xpand.torch as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linear_solve import _direct as generic
from xpand_extensions.linear_solve._factors import Factors

from ..linalg._pivots import order_of


def factor_lu(a: Array, /) -> Factors:
    if a.numel() == 0:
        return generic.factor_lu(a)
    finite, safe = generic.finite_or_identity(xp, a)
    factors, pivots, _ = torch.linalg.lu_factor_ex(safe)
    regular = generic.no_zeros(xp, factors)
    factors = generic.instead(xp, regular, factors, generic.identity(xp, a))

    def solve(factors: Array, pivots: Array, b: Array, *, transpose: bool = False) -> Array:
        if not transpose:
            return torch.linalg.lu_solve(factors, pivots, b)
        return torch.linalg.lu_solve(factors, pivots, b.conj().resolve_conj(), adjoint=True).conj().resolve_conj()

    _, _, *verdict = generic.judged(xp, generic.row_sums(xp, safe), (factors, pivots), solve, finite, regular)
    return factors, order_of(factors, pivots), *verdict


def factor_cholesky(a: Array, /) -> Factors:
    finite, safe = generic.finite_or_identity(xp, a)
    factor, info = torch.linalg.cholesky_ex(safe)
    return generic.judged_cholesky(xp, a, finite, factor, info == 0)
