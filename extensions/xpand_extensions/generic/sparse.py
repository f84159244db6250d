"""Sparse matrices with the standard alone."""

from ._sparse_products import (
    coo_matmul,
    coo_todense,
    csr_matmul,
    csr_plan,
    csr_rmatmul,
    csr_rows,
    sampled_matmul,
)

__all__ = [
    "coo_matmul",
    "coo_todense",
    "csr_matmul",
    "csr_plan",
    "csr_rmatmul",
    "csr_rows",
    "sampled_matmul",
]
