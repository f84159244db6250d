"""Polynomials as arrays of coefficients, the highest power first: `[a, b, c]` is a x² + b x + c.

The functions do the same as NumPy's functions of these names, but on the last axis: leading axes are for several
polynomials, and broadcast. Only `trim_zeros` removes zero coefficients, so the shapes of other results do not depend on
values.
"""

from ._polynomial_arithmetic import Division, polyadd, polyder, polydiv, polyint, polymul, polysub
from ._polynomial_points import poly, polyfit, polyval, roots, trim_zeros, vander

__all__ = [
    "Division",
    "poly",
    "polyadd",
    "polyder",
    "polydiv",
    "polyfit",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "roots",
    "trim_zeros",
    "vander",
]
