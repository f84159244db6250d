"""Sparse matrices on CuPy."""

from ._native import to_native

__all__ = ["to_native"]
