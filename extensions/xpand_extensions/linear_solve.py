"""Linear systems on every library: solved directly or by iteration, differentiable, with a verdict on each.

`solve` takes dense and sparse matrices, functions and operators, batches of systems, and vectors that are trees of
arrays. How a system ended is a number in its result, `Status`, and no silent failure: what counts as solved is judged
by the residual, computed anew.
"""

from ._linear_solve_direct import direct_solve, factorize
from ._linear_solve_factorization import Factorization
from ._linear_solve_krylov import krylov as krylov
from ._linear_solve_lstsq import LstsqResult, lstsq
from ._linear_solve_methods import METHODS
from ._linear_solve_operators import LinearOperator
from ._linear_solve_results import SolveResult
from ._linear_solve_solve import solve
from ._linear_solve_triangular import solve_triangular
from ._matrix_from_function import matrix_from_function
from ._preconditioners import BlockJacobi, Jacobi, Preconditioner, block_jacobi, jacobi
from ._preconditioners_chebyshev import Chebyshev, chebyshev
from ._preconditioners_multilevel import Multilevel, multilevel
from ._preconditioners_sweeps import Triangles, ic, ilu, ssor
from ._solver_status import ConvergenceError, Status

__all__ = [
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
    "direct_solve",
    "factorize",
    "lstsq",
    "solve",
    "solve_triangular",
]
