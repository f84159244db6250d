"""Plans for products, computed from patterns that are known, once."""

from typing import Any

from xpand.extend import Array

from ._pattern import are_concrete
from ._products import csr_plan


def plan_of(indices: Array, indptr: Array, shape: tuple[int, int]) -> Any:
    """Return the plan of a pattern by rows; None where it isn't known, or the library has no use for one."""
    if indices.ndim > 1 or not are_concrete(indices, indptr):
        return None
    return csr_plan(indices, indptr, shape=shape)
