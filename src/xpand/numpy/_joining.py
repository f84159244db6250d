"""Joining of arrays, faster for numbers."""

from typing import Any

import numpy as np

from ..typing import Array

_NUMBERS = frozenset(frozenset((np.dtype(code).type,)) for code in "?bhilqBHILQefdFD")


def stack(arrays: Any, /, axis: int = 0, **kwargs: Any) -> Array:
    """Return the arrays, joined along a new axis.

    Scalars of NumPy, what its functions return for arrays of shape (), take a fifth of the time of `np.stack`, which
    makes arrays of two dimensions of them first. The other keywords are those of `np.stack`.
    """
    if type(arrays) in (list, tuple) and axis == 0 and not kwargs and frozenset(map(type, arrays)) in _NUMBERS:
        return np.array(arrays)
    return np.stack(arrays, axis, **kwargs)
