"""Sparse matrices on JAX."""

from ._sparse_assembly import csr_assembly
from ._sparse_native import to_native
from ._sparse_pattern import at_once, pattern_of
from ._sparse_products import coo_matmul, coo_todense, csr_matmul, csr_plan, csr_rmatmul, csr_rows, sampled_matmul

__all__ = [
    "at_once",
    "coo_matmul",
    "coo_todense",
    "csr_assembly",
    "csr_matmul",
    "csr_plan",
    "csr_rmatmul",
    "csr_rows",
    "pattern_of",
    "sampled_matmul",
    "to_native",
]
