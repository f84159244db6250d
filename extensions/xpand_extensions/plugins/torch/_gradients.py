"""Conventions for derivatives: which tensors have some, and conjugates of complex ones."""

import torch

from xpand.extend import LibraryArray as Array


def is_floating(x: Array) -> bool:
    """Return whether an array can have derivatives: whether its data type is real or complex floating-point."""
    dtype = x.dtype
    return bool(dtype.is_floating_point or dtype.is_complex)


def conjugated(x: Array) -> Array:
    """Convert a gradient between PyTorch's convention and JAX's, which are conjugates for complex functions."""
    return torch.conj(x).resolve_conj() if x.is_complex() else x
