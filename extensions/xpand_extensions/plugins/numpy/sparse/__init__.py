"""Sparse matrices on NumPy, by SciPy's kernels."""

from ._native import to_native
from ._products import coo_matmul, coo_product, csr_assembly, csr_matmul, csr_rmatmul, csr_rows, sampled_matmul
