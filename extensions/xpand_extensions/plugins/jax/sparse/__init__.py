"""Sparse matrices on JAX."""

from ._native import to_native
from ._products import coo_matmul, csr_assembly, csr_matmul, csr_plan, csr_rmatmul, csr_rows, eagerly, sampled_matmul
