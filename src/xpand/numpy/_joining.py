"""Joining of arrays, faster for numbers and for a few vectors."""

from typing import Any

import numpy as np

from ..typing import Array

_NUMBERS = frozenset(frozenset((np.dtype(code).type,)) for code in "?bhilqBHILQefdFD")
_ARRAYS = frozenset({np.ndarray})
_FEW = 8
"""Vectors that are copied one by one, at most."""


def stack(arrays: Any, /, axis: int = 0, **kwargs: Any) -> Array:
    """Return the arrays, joined along a new axis.

    Scalars of NumPy, which its functions return for arrays of shape (), take a fifth of the time of `np.stack`, which
    makes arrays of two dimensions of them first. A few vectors take a fifth, too. The other keywords are those of
    `np.stack`.
    """
    if not kwargs and type(arrays) in (list, tuple):
        types = frozenset(map(type, arrays))
        if axis == 0 and types in _NUMBERS:
            return np.array(arrays)
        if axis in (0, 1) and types == _ARRAYS and len(arrays) <= _FEW and arrays[0].ndim == 1:
            kinds = {(x.shape, x.dtype) for x in arrays}
            if len(kinds) == 1 and arrays[0].dtype.isnative:
                count, size, dtype = len(arrays), len(arrays[0]), arrays[0].dtype
                found = np.empty((size, count) if axis else (count, size), dtype)
                for row, x in zip(found.T if axis else found, arrays):
                    row[:] = x
                return found
    return np.stack(arrays, axis, **kwargs)
