"""Sparse matrices with the standard alone."""

from ._assembly import csr_assembly
from ._pattern import are_concrete, eagerly
from ._products import coo_matmul, coo_product, coo_todense, csr_matmul, csr_plan, csr_rmatmul, csr_rows, sampled_matmul
