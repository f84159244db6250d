"""Sparse matrices on PyTorch."""

from ._assembly import csr_assembly
from ._native import to_native
from ._pattern import are_concrete, eagerly
from ._products import coo_matmul, csr_matmul, csr_rmatmul, csr_rows, sampled_matmul
