"""Shapes, and arrays made of several."""

from typing import Any

from .._arguments import array_list, common
from .._table import implements


@implements("stack")
def _stack(xp: Any, arrays: Any, axis: int = 0) -> Any:
    return xp.stack(common(xp, array_list(xp, arrays)), axis=axis)
