"""Sparse matrices on CuPy."""

from ._native import to_native
from ._products import csr_matmul
