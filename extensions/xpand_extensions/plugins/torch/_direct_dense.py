"""Cholesky factors by PyTorch, which reports failures for each matrix. The other factors are generic."""

import torch

import xpand.torch as xp
from xpand._typing import Array
from xpand_extensions._linear_solve_factors import CholeskyParts
from xpand_extensions.generic import _direct_dense as generic


def factor_cholesky(a: Array, /) -> CholeskyParts:
    finite, safe = generic.finite_or_identity(xp, a)
    factor, info = torch.linalg.cholesky_ex(safe)
    return generic.judged_cholesky(xp, a, finite, factor, info == 0)
