"""Elementwise functions of an array and a Python integer.

CuPy raises `OverflowError` for each integer that the array's data type does not hold, also in comparisons, and for
integers beyond int64 and uint64 next to floating-point arrays.
"""

from functools import partial
from typing import Any, Final

import cupy as cp
import numpy as np
from array_api_compat import cupy as _compat

from .._common.integers import BINARY, Integers
from .._common.limits import limits_of
from ..typing import LibraryArray as Array
from . import _elementwise as corrected

__all__ = [*BINARY, "where"]

_LIMITS = partial(limits_of, xp=np)
INTEGERS: Final = Integers(partial(getattr, _compat), _LIMITS, lambda dtype: _LIMITS(dtype) or (-(2**63), 2**64 - 1))

globals().update(
    (name, INTEGERS.correct(name, corrected.remainder if name == "remainder" else getattr(_compat, name)))
    for name in BINARY
)


def where(condition: Array, x1: Any = None, x2: Any = None, /) -> Array:
    """Return the elements of `x1` where `condition` is true, and of `x2` elsewhere."""
    return cp.where(condition, INTEGERS.element("where", x1, x2), INTEGERS.element("where", x2, x1))
