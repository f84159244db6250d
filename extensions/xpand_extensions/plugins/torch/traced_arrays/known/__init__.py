"""PyTorch's functions that the standard has, too, with PyTorch's signatures.

A function that is missing here works as well, but slower: it is one call of PyTorch. Never NumPy's meaning: `v.std()`
divides by n - 1, `v.transpose(0, 1)` exchanges two axes.
"""

from . import casts, elementwise, indexing, networks, products, questions, reductions, shapes
from ._table import apply_known

__all__ = [
    "apply_known",
    "casts",
    "elementwise",
    "indexing",
    "networks",
    "products",
    "questions",
    "reductions",
    "shapes",
]
