"""The tables of NumPy's functions, one module for each family."""

from . import elementwise, fourier, indexing, joining, linalg, products, reductions, scimath, shapes

__all__ = ["elementwise", "fourier", "indexing", "joining", "linalg", "products", "reductions", "scimath", "shapes"]
