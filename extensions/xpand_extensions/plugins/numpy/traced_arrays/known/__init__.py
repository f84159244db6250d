"""The tables of NumPy's functions, one module for each family."""

from . import conversions, reductions, shapes

__all__ = ["conversions", "reductions", "shapes"]
