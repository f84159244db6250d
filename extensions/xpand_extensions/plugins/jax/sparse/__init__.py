"""Sparse matrices on JAX."""

from ._assembly import csr_assembly
from ._native import to_native
from ._pattern import eagerly
from ._products import coo_matmul, coo_todense, csr_matmul, csr_plan, csr_rmatmul, csr_rows, sampled_matmul
