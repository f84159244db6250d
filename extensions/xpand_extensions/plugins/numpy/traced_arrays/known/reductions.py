"""Reductions."""

from typing import Any

from .._arguments import array, integers
from .._table import implements


@implements("sum")
def _sum(xp: Any, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return array(xp, a).sum(axis=integers(axis), dtype=dtype, keepdims=keepdims)
