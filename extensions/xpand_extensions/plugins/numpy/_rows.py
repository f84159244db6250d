"""Multi-indices into NumPy's arrays: check and flatten them in as few passes as possible."""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from xpand.extend import LibraryArray as Array

FEW: Final = 1 << 13
"""Up to so many multi-indices, NumPy's own index is faster than that of flattened arrays."""

BLOCK: Final = 1 << 15
"""The number of flat indices in a block, which stays in the cache and saves memory."""


def are_within(indices: Array, sizes: Sequence[int]) -> bool:
    """Return whether all multi-indices are within bounds and not negative.

    Viewed as unsigned, negative numbers are the largest, so one maximum is enough. If it is below the smallest size, no
    axis needs its own maximum.
    """
    unsigned = indices.view(f"u{indices.itemsize}") if indices.dtype.kind == "i" else indices
    if not unsigned.size:
        return True
    if unsigned.max() < min(sizes):
        return True
    return len(sizes) > 1 and all(unsigned[..., j].max() < size for j, size in enumerate(sizes))


def blocks(number: int) -> Iterator[slice]:
    """Divide a number of positions into blocks."""
    return (slice(start, start + BLOCK) for start in range(0, number, BLOCK))


def flat(indices: Array, sizes: Sequence[int]) -> Array:
    """Convert multi-indices of shape `(n, k)` within bounds to flat indices in row-major order."""
    parts = indices.astype(np.intp, copy=False)
    number = parts[:, 0]
    for j, size in enumerate(sizes[1:], 1):
        number = number * size
        number += parts[:, j]
    return number
