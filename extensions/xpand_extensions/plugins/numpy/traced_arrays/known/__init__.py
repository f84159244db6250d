"""The tables of NumPy's functions, one module for each family."""

from . import (
    application as application,
    calculus as calculus,
    comparisons as comparisons,
    conversions as conversions,
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
