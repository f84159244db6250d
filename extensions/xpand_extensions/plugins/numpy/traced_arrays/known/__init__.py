"""The tables of NumPy's functions, one module for each family."""

import sys
from collections.abc import Callable
from typing import Any

from . import (
    application as application,
    calculus as calculus,
    comparisons as comparisons,
    creation as creation,
    elementwise as elementwise,
    fourier as fourier,
    histograms as histograms,
    indexing as indexing,
    indices as indices,
    inspection as inspection,
    joining as joining,
    linalg as linalg,
    polynomials as polynomials,
    products as products,
    reductions as reductions,
    scimath as scimath,
    shapes as shapes,
    sorting as sorting,
    statistics as statistics,
)


def of_scipy(ufunc: Any) -> Callable[..., Any] | None:
    """Return the function for a universal function of SciPy; None for others. SciPy is not imported for it."""
    if "scipy.special" not in sys.modules:
        return None
    from .special import function_of

    return function_of(ufunc)
