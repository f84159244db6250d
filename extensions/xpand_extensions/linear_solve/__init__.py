"""Differentiable direct and iterative solvers of linear systems on every library, with a status for each system.

`solve` takes dense and sparse matrices, functions, operators, batches of systems, and vectors that are trees of arrays.
The result has a `Status` for each system, so no failure is silent. A system counts as solved if its recomputed residual
meets the tolerance.
"""

from typing import TYPE_CHECKING

from .._elsewhere import elsewhere
from .._solver_status import ConvergenceError, Status
from ..linalg import LstsqResult, lstsq
from ._arguments import METHODS
from ._direct import direct_solve, factorize
from ._factorization import Factorization
from ._krylov import krylov as krylov
from ._matrix_from_function import matrix_from_function
from ._operators import LinearOperator
from ._preconditioners import BlockJacobi, Chebyshev, Jacobi, Preconditioner, block_jacobi, chebyshev, jacobi
from ._preconditioners_multilevel import Multilevel, multilevel
from ._preconditioners_sweeps import Triangles, ic, ilu, ssor
from ._results import SolveResult
from ._solve import solve
from ._triangular import solve_triangular

__all__ = [
    "solve",
    "factorize",
    "direct_solve",
    "solve_triangular",
    "lstsq",
    "BlockJacobi",
    "Chebyshev",
    "Jacobi",
    "Multilevel",
    "Preconditioner",
    "Triangles",
    "block_jacobi",
    "chebyshev",
    "ic",
    "ilu",
    "jacobi",
    "matrix_from_function",
    "multilevel",
    "ssor",
    "METHODS",
    "ConvergenceError",
    "Factorization",
    "LinearOperator",
    "LstsqResult",
    "SolveResult",
    "Status",
]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
