"""Sparse matrices on CuPy."""

from ._sparse_native import to_native

__all__ = ["to_native"]
