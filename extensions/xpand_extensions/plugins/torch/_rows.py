"""Multi-indices of tensors, checked and flattened in as few passes as possible, and reads of rows."""

from collections.abc import Sequence
from typing import Final

import torch

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED

FEW: Final = 1 << 13
"""The number of multi-indices up to which PyTorch's own indexing is faster than indexing a flattened tensor."""

_INDEX = (torch.int64, torch.int32)


def checks_itself(x: Array, indices: Array) -> bool:
    """Return whether PyTorch raises for indices out of bounds. For empty tensors it does not; on a GPU it crashes."""
    return indices.dtype in _INDEX and x.numel() > 0 and is_concrete(indices) and indices.device.type == "cpu"


def are_within(indices: Array, sizes: Sequence[int]) -> bool:
    """Return whether all multi-indices, which are on the CPU, are within bounds and not negative."""
    if not indices.numel():
        return True
    low, high = torch.aminmax(indices)
    if low < 0:
        return False
    return bool(high < min(sizes)) or (
        len(sizes) > 1 and all(bool(indices[..., j].max() < size) for j, size in enumerate(sizes))
    )


def flat(indices: Array, sizes: Sequence[int]) -> Array:
    """Convert multi-indices of shape `(n, k)`, within bounds, to positions in row-major order."""
    parts = indices.to(torch.int64).unbind(-1)
    number = parts[0]
    for size, part in zip(sizes[1:], parts[1:]):
        number = torch.add(part, number, alpha=size)
    return number


def select(x: Array, axis: int, index: Array) -> Array:
    """Take slices of an axis at nonnegative indices, an array of one axis."""
    signed = SIGNED.get(x.dtype)
    if signed is not None:
        return x.view(signed).index_select(axis, index).view(x.dtype)
    return x.index_select(axis, index)


def take_within(x: Array, index: Array, /, *, axis: int) -> Array:
    """Apply the standard's `take`, with nonnegative indices."""
    return select(x, axis, index)
