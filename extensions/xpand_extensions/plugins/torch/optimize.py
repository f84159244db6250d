"""Derivatives of minima and roots on PyTorch: by matrices of all variables.

An iteration inside of what `torch.func` transposes would bring tensors of its levels along, which it refuses.
"""

from ...generic.optimize._implicit import by_matrix as tangent_of

__all__ = ["tangent_of"]
