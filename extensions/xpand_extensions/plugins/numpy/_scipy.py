"""SciPy's functions for float32 and float64, and the generic ones for all other types."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_OWN: Final = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def scipy_or(ufunc: Callable[..., Any], generic: F) -> F:
    """Make a function of arrays that calls SciPy's for float32 and float64, and the generic one for others."""

    # Without a loop for one and two arrays: a loop costs as much as computing a hundred elements.
    @wraps(generic)
    def one(x: Any, /) -> Any:
        return ufunc(x) if x.dtype in _OWN else generic(x)

    @wraps(generic)
    def two(x: Any, y: Any, /) -> Any:
        return ufunc(x, y) if x.dtype in _OWN and y.dtype in _OWN else generic(x, y)

    @wraps(generic)
    def several(*arrays: Any) -> Any:
        return ufunc(*arrays) if all(x.dtype in _OWN for x in arrays) else generic(*arrays)

    return {1: one, 2: two}.get(getattr(ufunc, "nin", 0), several)  # type: ignore[return-value]
