"""Factors of dense matrices by PyTorch, which reports failures for each matrix."""

from collections.abc import Callable

import torch

import xpand.torch as xp
from xpand.extend import Array
from xpand_extensions._solver_status import Status
from xpand_extensions.generic.linear_solve import _direct_dense as generic
from xpand_extensions.linear_solve._condition import estimate, verdict
from xpand_extensions.linear_solve._factors import CholeskyParts, LUParts

from ..linalg._pivots import order_of


def factor_lu(a: Array, /) -> LUParts:
    if a.numel() == 0:
        return generic.factor_lu(a)
    finite, safe = generic.finite_or_identity(xp, a)
    factors, pivots, _ = torch.linalg.lu_factor_ex(safe)
    regular = generic.no_zeros(xp, factors)
    factors = generic.instead(xp, regular, factors, generic.identity(xp, a))
    solve: Callable[[Array], Array] = lambda b: torch.linalg.lu_solve(factors, pivots, b)
    transposed: Callable[[Array], Array] = lambda b: (
        torch.linalg.lu_solve(factors, pivots, b.conj().resolve_conj(), adjoint=True).conj().resolve_conj()
    )
    condition = estimate(xp, generic.row_sums(xp, safe), a.dtype, solve, transposed)
    condition, status = verdict(xp, condition, finite, regular, Status.SINGULAR)
    return LUParts(factors, order_of(factors, pivots), condition, status)


def factor_cholesky(a: Array, /) -> CholeskyParts:
    finite, safe = generic.finite_or_identity(xp, a)
    factor, info = torch.linalg.cholesky_ex(safe)
    return generic.judged_cholesky(xp, a, finite, factor, info == 0)
