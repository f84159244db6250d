"""Products of matrices and vectors, in the main namespace and in `linalg`.

PyTorch's products do not promote, and do not support uint16 to uint64. Products of these are computed with signed
integers, which gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import torch

from ..typing import LibraryArray as Array
from ._binary import same_type
from ._dtypes import SIGNED, to_signed

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """Return the matrix product over the last two axes, or the product with a vector."""
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.dtype in SIGNED:
        return torch.matmul(to_signed(x1), to_signed(x2)).view(x1.dtype)
    return torch.matmul(x1, x2, **kwargs)


def matrix_transpose(x: Array, /) -> Array:
    """Return a view of `x` with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: `x` has {x.ndim} dimensions; expected at least 2")
    return x.mT


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2, **kwargs: Any) -> Array:
    """Return the sum of products over the given axes."""
    if not isinstance(axes, (int, Sequence)):
        axes = index(axes)  # PyTorch takes no integer of NumPy
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.dtype in SIGNED:
        return torch.tensordot(to_signed(x1), to_signed(x2), dims=axes).view(x1.dtype)
    return torch.tensordot(x1, x2, dims=axes, **kwargs)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1, **kwargs: Any) -> Array:
    """Return the dot product of vectors along an axis, with `x1` conjugated; the other axes broadcast."""
    if x1.size(axis) != x2.size(axis):
        raise ValueError(
            f"vecdot: `x1` has {x1.size(axis)} elements along axis {axis}, `x2` has {x2.size(axis)}; "
            "expected equal sizes, because this axis does not broadcast"
        )
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.dtype.is_floating_point or x1.dtype.is_complex:
        return torch.linalg.vecdot(x1, x2, dim=axis, **kwargs)
    dtype = x1.dtype
    if dtype in SIGNED:
        x1, x2 = to_signed(x1), to_signed(x2)
    # `torch.linalg.vecdot` does not accept integers.
    return torch.sum(x1 * x2, axis, dtype=x1.dtype, **kwargs).view(dtype)


def outer(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """Return the outer product of two vectors."""
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.dtype in SIGNED:
        return torch.outer(to_signed(x1), to_signed(x2)).view(x1.dtype)
    return torch.outer(x1, x2, **kwargs)


def cross(x1: Array, x2: Array, /, *, axis: int = -1, **kwargs: Any) -> Array:
    """Return the cross product of vectors of three elements along an axis; the other axes broadcast."""
    if x1.size(axis) != 3 or x2.size(axis) != 3:
        raise ValueError(
            f"cross: `x1` has {x1.size(axis)} elements along axis {axis}, `x2` has {x2.size(axis)}; expected 3"
        )
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.ndim != x2.ndim:
        # Broadcasting adds axes in front, which would shift an axis counted from the front.
        x1, x2 = torch.broadcast_tensors(x1, x2)
    if x1.dtype in SIGNED:
        return torch.linalg.cross(to_signed(x1), to_signed(x2), dim=axis).view(x1.dtype)
    return torch.linalg.cross(x1, x2, dim=axis, **kwargs)
