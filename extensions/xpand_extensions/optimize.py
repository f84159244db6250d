"""Minima, roots, least squares and fixed points of functions of trees of arrays, on every library.

Several independent problems are solved at once (`batch_ndim`, or `vmap`), and each says how it ended. Solutions are
differentiable with respect to the parameters of the functions, `args`, by the implicit function theorem.
"""

from ._optimize_bracket import bisect, bracketed_root, brentq
from ._optimize_fixed_point import fixed_point
from ._optimize_iterate import iterate
from ._optimize_least_squares import least_squares
from ._optimize_minimize import minimize
from ._optimize_results import OptimizeResult
from ._optimize_root import root
from ._solver_status import ConvergenceError, Status

__all__ = [
    "ConvergenceError",
    "OptimizeResult",
    "Status",
    "bisect",
    "bracketed_root",
    "brentq",
    "fixed_point",
    "iterate",
    "least_squares",
    "minimize",
    "root",
]
