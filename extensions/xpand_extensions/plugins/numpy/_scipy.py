"""SciPy's functions of arrays, which know float32 and float64 alone, and the generic ones for all other types."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

import numpy as np

F = TypeVar("F", bound=Callable[..., Any])

_OWN: Final = frozenset({np.dtype(np.float32), np.dtype(np.float64)})


def scipy_or(ufunc: Callable[..., Any], generic: F) -> F:
    """Make a function of one or several arrays, SciPy's where these are of float32 or float64, else the generic one."""

    # Those of one and of two arrays without a loop, which costs as much as computing a hundred elements.
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
