"""The tables of NumPy's functions, one module for each family."""

from . import (
    application,
    calculus,
    comparisons,
    creation,
    histograms,
    indices,
    inspection,
    polynomials,
    reductions,
    shapes,
    sorting,
    statistics,
)

__all__ = [
    "application",
    "calculus",
    "comparisons",
    "creation",
    "histograms",
    "indices",
    "inspection",
    "polynomials",
    "reductions",
    "shapes",
    "sorting",
    "statistics",
]
