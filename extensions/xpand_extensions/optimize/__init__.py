"""Minima, roots, least squares and fixed points of functions of trees of arrays, on every library.

Several independent problems can be solved together (`batch_ndim`, or `vmap`); each has its own status. Solutions are
differentiable with respect to the parameters `args` of the functions, by the implicit function theorem.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from .._solver_status import ConvergenceError, Status
from ._bracket import bisect, bracketed_root, brentq
from ._least_squares import least_squares
from ._minimize import minimize
from ._results import History, OptimizeResult
from ._root import fixed_point, root
from ._run import iterate

__all__ = [
    "minimize",
    "least_squares",
    "root",
    "fixed_point",
    "bracketed_root",
    "brentq",
    "bisect",
    "iterate",
    "ConvergenceError",
    "History",
    "OptimizeResult",
    "Status",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
