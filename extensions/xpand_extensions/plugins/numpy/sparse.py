"""Sparse matrices on NumPy, by SciPy's kernels."""

from ._sparse_assembly import csr_assembly
from ._sparse_native import to_native
from ._sparse_products import coo_matmul, coo_todense, csr_matmul, csr_rmatmul, csr_rows, sampled_matmul

__all__ = [
    "coo_matmul",
    "coo_todense",
    "csr_assembly",
    "csr_matmul",
    "csr_rmatmul",
    "csr_rows",
    "sampled_matmul",
    "to_native",
]
