"""Sparse matrices on PyTorch."""

from ._native import to_native
from ._products import (
    are_concrete,
    coo_matmul,
    csr_assembly,
    csr_matmul,
    csr_rmatmul,
    csr_rows,
    eagerly,
    sampled_matmul,
)
