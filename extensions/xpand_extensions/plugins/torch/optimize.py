"""Derivatives of minima and roots on PyTorch, by matrices of all variables.

An iteration inside of a function that `torch.func` transposes would capture tensors of its levels, which it refuses.
"""

from ...generic.optimize._implicit import by_matrix as tangent_of

__all__ = ["tangent_of"]
