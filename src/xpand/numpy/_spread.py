"""Standard deviation and variance, which are NaN where too few numbers remain."""

import math
from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..typing import Axis, LibraryArray as Array


def _spread(native: Callable[..., Array]) -> Callable[..., Array]:
    """Make the result NaN if the correction is the number of elements or more, as in the standard; NumPy's is inf."""

    @wraps(native)
    def function(x: Array, /, axis: Axis = None, *args: Any, **kwargs: Any) -> Array:
        correction = kwargs.get("correction")
        if correction and 0 < _count(x, axis) <= correction:
            with np.errstate(all="ignore"):
                return native(x, axis, *args, **kwargs) * math.nan  # NumPy warns of the degrees of freedom
        return native(x, axis, *args, **kwargs)

    return function


def _count(x: Array, axis: Axis) -> int:
    """Return the number of elements that a reduction over axes combines."""
    shape = np.shape(x)
    return math.prod(shape if axis is None else [shape[i] for i in (axis if isinstance(axis, tuple) else (axis,))])


std = _spread(np.std)
var = _spread(np.var)
