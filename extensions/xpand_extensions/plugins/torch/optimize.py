"""Derivatives of minima and roots on PyTorch, by matrices of all variables.

An iterative solver would run inside a function that `torch.func` transposes, and capture tensors of its levels. PyTorch
raises for those.
"""

from ...generic.optimize import _by_matrix as tangent_of

__all__ = ["tangent_of"]
