"""Solvers of linear systems on PyTorch."""

from ._direct_dense import factor_cholesky, factor_lu

__all__ = ["factor_cholesky", "factor_lu"]
