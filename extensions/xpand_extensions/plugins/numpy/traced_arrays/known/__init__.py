"""The tables of NumPy's functions, one module for each family."""

import sys
from collections.abc import Callable
from typing import Any

from . import reductions, shapes

__all__ = ["of_scipy", "reductions", "shapes"]


def of_scipy(ufunc: Any) -> Callable[..., Any] | None:
    """Return the function for a universal function of SciPy; None for others. SciPy is not imported for it."""
    if "scipy.special" not in sys.modules:
        return None
    from .special import function_of

    return function_of(ufunc)
