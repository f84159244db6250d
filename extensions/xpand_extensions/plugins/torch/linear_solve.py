"""Solvers of linear systems on PyTorch."""

from ._direct_dense import factor_cholesky

__all__ = ["factor_cholesky"]
