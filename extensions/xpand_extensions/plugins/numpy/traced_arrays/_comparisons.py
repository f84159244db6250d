"""The operators `==` and `!=` with operands that are no arrays.

Python would compare the identities of the two operands, and return one boolean in place of an array.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ._arguments import array

Operator = Callable[[Any, Any], Any]


def elementwise(operator: Operator, unequal: bool) -> Operator:
    """Let an operator compare each element with sequences, None and text, as NumPy's does."""

    @wraps(operator)
    def compare(self: Any, other: Any) -> Any:
        result = operator(self, other)
        if result is not NotImplemented:
            return result
        xp = self._namespace
        if isinstance(other, (list, tuple)):
            return operator(self, array(xp, other))
        if other is None or isinstance(other, (str, bytes)):
            return xp.wrap(np.full(self.shape, unequal))  # concrete: `iter(function, None)` asks for its value
        return NotImplemented  # the other operand may know how to compare

    return compare
