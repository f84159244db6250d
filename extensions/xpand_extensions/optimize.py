"""Minima, roots, least squares and fixed points of functions of trees of arrays, on every library.

Several independent problems are solved at once (`batch_ndim`, or `vmap`), and each says how it ended. Solutions are
differentiable with respect to the parameters of the functions, `args`, by the implicit function theorem.
"""

from ._optimize_iterate import iterate
from ._optimize_minimize import minimize
from ._optimize_results import OptimizeResult
from ._solver_status import ConvergenceError, Status

__all__ = ["ConvergenceError", "OptimizeResult", "Status", "iterate", "minimize"]
