"""The tables of NumPy's functions, one module for each family."""

from . import reductions, shapes

__all__ = ["reductions", "shapes"]
