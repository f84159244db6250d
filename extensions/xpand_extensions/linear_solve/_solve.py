"""Solve linear systems by a given or a default method, with a status for each system."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from xpand import array_namespace, is_concrete, library_name, trees
from xpand.extend import Array, checks, describe

from .. import autodiff, linalg
from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from .._solver_status import ConvergenceError, Status, throw_unless_converged
from .._where import clean_tracebacks
from ..jit._reused import reused
from ..linalg._checks import axis_of
from ..progress import To, check as check_progress, tracked
from ..sparse._containers import Sparse
from . import _arguments as arguments
from ._direct import factorize
from ._implicit import Criterion, Options, least_squares, square
from ._krylov import Found, System, along
from ._operators import LinearOperator, Matrix, of_vectors, operator_of, ready, times
from ._results import SolveResult, norm, result_of

_RTOL: Final = 1e-8
_DENSE: Final = frozenset({"auto", "lu", "direct"})
"""The methods for which one dense system is solved in one call of the library."""


@clean_tracebacks
@arguments_elsewhere()
def solve(
    A: Any,
    b: trees.Tree,
    /,
    *,
    axis: int = -2,
    method: str = "auto",
    x0: trees.Tree = None,
    rtol: float | Array | None = None,
    atol: float | Array = 0.0,
    max_steps: int | Sequence[int] | None = None,
    preconditioner: Any = None,
    symmetric: bool | None = None,
    positive_definite: bool | None = None,
    nullspace: Any = None,
    batch_ndim: int = 0,
    args: tuple[Any, ...] = (),
    throw: bool = True,
    progress: To = False,
    record_history: bool = False,
) -> SolveResult:
    """Solve the linear system `A x = b`.

    Args:
        A: Matrices, (..., m, n), dense or sparse (a container or a library's own); or a `LinearOperator`; or a linear
            function of a vector, which is a tree of arrays like `b`, and of `args`. A function that isn't zero at zero
            raises an error.
        b: The right-hand side. For matrices one vector, (m,), or matrices of columns, (..., m, k), as for
            `xp.linalg.solve`: each column is a system, and the axes before broadcast with the stack of A. For functions
            a tree of arrays of one floating-point data type, which form one vector.
        axis: For matrices, the axis of the vectors in `b`. With -1, `b` has the shape (..., m), and the axes before the
            last are systems, which broadcast with the stack of A.
        batch_ndim: For functions, the number of leading axes of each array in `b` that are systems. A takes all systems
            in one call.
        args: Further arguments of a function A: trees of arrays, in which the solution is differentiable, or other
            objects.

    Args: The method
        method: One of `METHODS`; `"bicgstab(l)"`, `"gmres(restart)"` and `"gcrot(m)"` take any number. "auto" chooses

            - for dense matrices "cholesky" if they are declared positive definite, otherwise "lu", and "lstsq" if they
              are not square;
            - for sparse matrices and functions "cg" if A is declared positive definite, "minres" if it is declared
              symmetric, otherwise "bicgstab(2)", and "lsmr" if it is not square.

            "gmres" restarts after 30 steps by default; "gcrot" after 20 steps, and it saves as many earlier directions.
            "lsqr" and "lsmr" solve by least squares. "lower" and "upper" solve with that triangle of a matrix, without
            reading the rest. PhiML's names, such as "CG" and "scipy-GMres", are accepted too.
        preconditioner: A linear function that maps residuals, in the layout of the solution, to approximate solutions.
            Its optional attribute `transposed` is its transpose. For "cg" and "minres" it must be positive definite.
            The solution does not depend on it, so apply `autodiff.stop_gradient` to its arrays.
        x0: The initial guess of an iteration, in the layout of the solution, or one vector; zero by default. Its
            gradient is zero.

    Args: Properties of A, which are not checked
        symmetric: Whether A equals its transpose, conjugated for complex numbers.
        positive_definite: Whether A is symmetric and has positive eigenvalues.
        nullspace: Vectors that a singular A and its adjoint map to zero: "constant", a vector like `b` without its
            batch axes, or a list of vectors. The result is the solution orthogonal to these vectors. If A doesn't map
            them to zero, the status is BREAKDOWN.

    Args: When to stop
        rtol: The tolerance for the norm of `b - A x` relative to that of `b`: a number, or one for each system. By
            default 1e-8, or 100 times the data type's `eps` if that is more. "lsqr" and "lsmr" also converge if the
            norm of `adjoint(A) (b - A x)` is that small relative to the product of the norms of A and `b - A x`.
        atol: The absolute tolerance for the norm of `b - A x`; the larger of both tolerances counts.
        max_steps: The maximum number of steps of an iteration; by default 10 for each unknown. A sequence returns the
            trajectory: the result after each of these numbers of steps, or the final result if the iteration has ended.
        throw: Whether to raise `ConvergenceError` if a system, or one for a derivative, has not converged; the result
            is in the error's `result`. Abstract values, as under `jit`, raise no error. False: check the `status` of
            the result.
        progress: Whether to show the steps and the norm of the residual of an iterative method; or a function of a
            `Progress`, see `xpand.progress`.
        record_history: Whether to return the norm of the residual after each step of an iterative method in `history`.

    Returns:
        A `SolveResult` with the solution `x`, the true `residual` and `residual_norm`, `iterations`,
        `function_evaluations`, `status` (a `Status` code), and also `method`, `converged` and `message`. `x` and
        `residual` have the layout of `b`; the other fields have a number for each system: shape () or (..., k), and
        (...) with `axis=-1`. CONVERGED means that the residual, recomputed from `x`, meets the tolerance. If only the
        residual of the iteration's recursion meets it, the iteration restarts from that `x`; if that doesn't help, the
        status is STAGNATED. For a zero `b` the solution is zero.

    Raises:
        TypeError: An argument of the wrong type, arrays of two libraries, integers, or a function A that returns
            another structure or data type.
        ValueError: Shapes that don't fit, matrices that aren't square for a method that needs it, arrays on two
            devices, a negative tolerance, or an unknown method.
        ConvergenceError: A system has not converged, unless `throw=False`.

    Each system of a batch stops at its own convergence, as if solved alone. If a system fails, `x` is its best iterate.

    The solution is differentiable in `b`, the entries of A and `args`, in both modes and to any order. Derivatives
    solve another system with the same method, tolerances, factors and preconditioner, so the tolerances also determine
    their accuracy. If a derivative does not converge, an error is raised, or with `throw=False` the best iterate is
    used. In a trajectory, the derivative of each row is that of the solution. Derivatives of "lsqr", "lsmr" and "lstsq"
    need full rank.

    On JAX the iteration is compiled. For matrices, later calls with the same shapes, pattern and options reuse the
    program. A function A is traced again at each call, because values that it captures may have changed; calls with the
    same operations reuse the program. A function that is compiled itself, by `jax.jit` or `xpand.jit`,
    is not traced again: arrays that it captures are constants.

    Source: `scipy.sparse.linalg`; `max_steps`, "cg-adaptive" and names: PhiML's `Backend.linear_solve`. The methods: M.
    R. Hestenes and E. Stiefel (1952); Y. Notay, SIAM J. Sci. Comput. 22 (2000) 1444; R. Fletcher (1976); G. L. G.
    Sleijpen and D. R. Fokkema, ETNA 1 (1993) 11; Y. Saad and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7 (1986) 856;
    C. C. Paige and M. A. Saunders, SIAM J. Numer. Anal. 12 (1975) 617 and ACM TOMS 8 (1982) 43; D. C.-L. Fong and M.
    Saunders, SIAM J. Sci. Comput. 33 (2011) 2950; P. Sonneveld, SIAM J. Sci. Stat. Comput. 10 (1989) 36; R. W. Freund
    and N. M. Nachtigal, SIAM J. Sci. Comput. 15 (1994) 313; E. de Sturler, SIAM J. Numer. Anal. 36 (1999) 864.

    >>> import numpy as np
    >>> result = solve(np.asarray([[4.0, 1.0], [1.0, 3.0]]), np.asarray([1.0, 2.0]), method="cg")
    >>> result.x.round(6)
    array([0.090909, 0.636364])
    >>> result.message
    'cg: converged'
    """
    optional = (x0, max_steps, preconditioner, symmetric, positive_definite, nullspace)
    if progress is False and record_history is False and _is_default(optional, axis, batch_ndim, args, throw):
        small = solve_if_dense(A, b, method, rtol, atol)
        if small is not None:
            if throw:
                throw_unless_converged("solve", small.method, small)
            return small
    operator = operator_of("solve", A, args, symmetric, positive_definite)
    axis_of("solve", axis)
    batch_ndim = checks.integer("solve", "batch_ndim", batch_ndim, minimum=0)
    wanted = arguments.method_of(method)
    checks.boolean("solve", "throw", throw)
    check_progress("solve", progress)
    checks.boolean("solve", "record_history", record_history)
    if record_history and isinstance(max_steps, Sequence):
        raise ValueError(
            "solve: record_history needs one number of steps, got several in max_steps, which already return a result "
            "for each; take max_steps=max(...), or leave out record_history"
        )
    if isinstance(operator, Matrix):
        problem = arguments.problem_of_matrix(operator, b, x0, axis, batch_ndim)
        operator = problem.operator
    else:
        if axis != -2:
            raise ValueError(f"solve: axis is for matrices, and A is a function; leave it out, got axis={axis}")
        is_rectangular = wanted.name in arguments.LEAST_SQUARES
        problem = arguments.problem_of_function(operator, b, x0, batch_ndim, is_rectangular)
    if wanted.name == "auto":
        is_dense = isinstance(operator, Matrix) and not isinstance(operator.values, Sparse) and nullspace is None
        wanted = arguments.chosen(
            is_dense, arguments.is_square(problem), operator.symmetric, operator.positive_definite
        )
    _check_method(wanted, problem, preconditioner, nullspace)
    eps = float(array_namespace(problem.b).finfo(problem.b.dtype).eps)
    criterion = Criterion(
        arguments.tolerance("rtol", rtol, problem.b, default_rtol(eps)),
        arguments.tolerance("atol", atol, problem.b, 0.0),
    )
    steps = arguments.stops_of(max_steps, problem.columns.size)
    stops: tuple[int, ...] = ()
    if wanted.name in (*arguments.DIRECT, "lstsq"):
        text, fields = _direct(wanted, problem, criterion)
    else:
        basis = arguments.basis_of(nullspace, problem)
        if isinstance(operator, Matrix):
            matrix = of_vectors(operator.values, problem.rows)
            operator = Matrix(matrix, operator.symmetric, operator.positive_definite)
        system = System(ready(operator), ready(preconditioner), basis, problem.rows, problem.columns)
        stops = tuple(sorted(set(steps)))
        text, options = str(wanted), Options(wanted, stops, throw, record_history)
        with tracked(f"solve: {text}", stops[-1], "residual", progress=progress) as report:
            fields = _iterative(system, problem, criterion, options, report is not None)
    before: tuple[int, ...] = ()
    if isinstance(max_steps, Sequence):
        fields, before = _trajectory(fields, steps, stops), (len(steps),)
    x, residual = problem.columns.tree(fields[0], before), problem.rows.tree(fields[1], before)
    result = result_of(text, x, residual, *fields[2:])
    if throw:
        last = result.status[-1, ...] if before else result.status
        try:
            throw_unless_converged("solve", result.method, result, last)
        except ConvergenceError as error:
            if not isinstance(operator, Matrix) and _has_offset(operator, problem):
                raise ConvergenceError(
                    "solve: A must be linear, and its value at zero is not zero. Solve `lambda x: A(x) - A(0)` with "
                    "the right-hand side `b - A(0)`, or use `linear_solve.matrix_from_function`, which returns a "
                    f"matrix and the offset. {error}",
                    result,
                ) from None
            raise
    return result


def _has_offset(operator: LinearOperator, problem: arguments.LinearProblem) -> bool:
    """Return whether a function has a concrete, nonzero value at zero."""
    xp = array_namespace(problem.b)
    zero = xp.zeros_like(problem.b[..., :1])
    x = xp.broadcast_to(zero, (*problem.b.shape[:-1], problem.columns.size))
    offset = operator._product(x, problem.rows, problem.columns)
    return is_concrete(offset) and bool(xp.any(offset != 0))


def _is_default(optional: tuple[Any, ...], axis: Any, batch_ndim: Any, args: Any, throw: Any) -> bool:
    """Return whether at most a method and tolerances are given, so that the fast path applies."""
    if axis != -2 or type(throw) is not bool or type(batch_ndim) is not int or batch_ndim:
        return False
    return type(args) is tuple and not args and all(each is None for each in optional)


def _check_method(
    method: arguments.Method, problem: arguments.LinearProblem, preconditioner: Any, nullspace: Any
) -> None:
    """Check that a method can be used for a system."""
    name, is_matrix = method.name, isinstance(problem.operator, Matrix)
    is_direct = name in (*arguments.DIRECT, "lstsq")
    if is_direct and not is_matrix:
        raise ValueError(
            f"solve: method={str(method)!r} needs a matrix, got a function; take an iterative method such as 'gmres', "
            "or make a matrix of it with `linear_solve.matrix_from_function`"
        )
    is_dense_only = name in ("lstsq", "cholesky", "qr")
    if is_dense_only and is_matrix and isinstance(problem.operator.values, Sparse):  # type: ignore[union-attr]
        others = "'lsmr' or 'lsqr'" if name == "lstsq" else "'lu'"
        raise ValueError(f"solve: method={name!r} is for dense matrices; take {others} for sparse ones")
    if not arguments.is_square(problem) and name not in (*arguments.LEAST_SQUARES, "lstsq"):
        raise ValueError(
            f"solve: method={str(method)!r} needs a square A, got {problem.rows.size} rows and {problem.columns.size} "
            "columns; take 'lstsq', 'lsqr' or 'lsmr'"
        )
    if isinstance(preconditioner, str):
        raise TypeError(
            f"solve: preconditioner must be a function of a residual, got the name {preconditioner!r}; make one of the "
            "matrix, for example `linear_solve.jacobi(A)` or `linear_solve.ilu(A)`"
        )
    for option, value in (("preconditioner", preconditioner), ("nullspace", nullspace)):
        if value is not None and (is_direct or name in arguments.LEAST_SQUARES):
            raise ValueError(f"solve: {option} is not for method={str(method)!r}; leave it out")
    if preconditioner is not None and not callable(preconditioner):
        raise TypeError(f"solve: preconditioner must be a function of a residual, got {describe(preconditioner)}")


def _iterative(
    system: System, problem: arguments.LinearProblem, criterion: Criterion, options: Options, reports: bool
) -> tuple[Array, ...]:
    """Return the fields of the result; with several stops, the first axis is that of the stops."""
    b, x0 = problem.b, problem.x0
    outside = None
    if system.basis is not None:
        outside = along(system.basis, b)
        b = b - outside
        x0 = None if x0 is None else x0 - along(system.basis, x0)
    by = least_squares if options.method.name in arguments.LEAST_SQUARES else square
    solved = partial(_with_norm, by, options)
    if reports:  # a reused program would report to an earlier call
        x, found, size = solved(system, b, x0, criterion)
    else:
        x, found, size = reused(solved, b, system, b, x0, criterion, of=system.functions, key=(by, options))
    calls, residual, status = found.calls, found.residual, found.status
    if outside is not None:
        calls = calls + 1
        residual, status = _judged(system, problem.b, outside, found, criterion)
        size = norm(residual)
    if len(options.stops) > 1:
        # The derivative of each row is that of the solution.
        x = found.x + (x - autodiff.stop_gradient(x))
    fields = x, residual, size, found.steps, calls, status
    if not options.record:
        return fields
    steps = found.steps
    if not is_concrete(steps):
        return *fields, found.history
    width = 1 if 0 in steps.shape else int(array_namespace(steps).max(steps)) + 1
    return *fields, found.history[..., :width]


def _with_norm(by: Callable[..., tuple[Array, Found]], options: Options, *given: Any) -> tuple[Array, Found, Array]:
    """Return the solution, the results of the iteration, and the norm of the residual: one program on JAX."""
    x, found = by(*given, options=options)
    return x, found, norm(found.residual)


def _trajectory(fields: tuple[Array, ...], steps: tuple[int, ...], stops: tuple[int, ...]) -> tuple[Array, ...]:
    """Return the fields after each number of steps; with fewer than two stops, they are the same for all."""
    xp = array_namespace(*fields)
    if len(stops) < 2:
        return tuple([xp.stack([each] * len(steps)) for each in fields])
    index = xp.asarray([stops.index(n) for n in steps], dtype=xp.int64, device=checks.device_of(fields[0]))
    return tuple([xp.take(each, index, axis=0) for each in fields])


def _judged(system: System, b: Array, outside: Array, found: Found, criterion: Criterion) -> tuple[Array, Array]:
    """Return the residuals and statuses of singular systems, which were made regular to be solved."""
    xp, rows = array_namespace(b), found.x.ndim - b.ndim
    if rows:
        products = xp.stack([system.multiply(found.x[i, ...]) for i in range(found.x.shape[0])])
    else:
        products = system.multiply(found.x)
    missing = autodiff.stop_gradient(b - products)
    b, outside = autodiff.stop_gradient((b, outside))
    tolerance = xp.maximum(criterion.rtol * norm(b), criterion.atol)
    zero = xp.zeros_like(found.status)
    # If `b` has no component along the given vectors, these do not span the null space.
    verdict = xp.where(norm(outside) > tolerance, zero + int(Status.SINGULAR), zero + int(Status.BREAKDOWN))
    failed = (found.status == int(Status.CONVERGED)) & (norm(missing) > tolerance)
    return missing, xp.where(failed, verdict, found.status)


def _direct(
    method: arguments.Method, problem: arguments.LinearProblem, criterion: Criterion
) -> tuple[str, tuple[Array, ...]]:
    """Return the text for the method, and the fields of the result."""
    b, operator, is_columns = problem.b, problem.operator, problem.rows.is_columns
    assert isinstance(operator, Matrix), "direct methods are for matrices"
    matrix, given, axis = operator.values, problem.rows.tree(b), -2 if is_columns else -1
    if method.name == "lstsq":
        x, text = linalg.lstsq(matrix, given, axis=axis).x, "lstsq (singular values)"
    else:
        flags = {"positive_definite": operator.positive_definite, "symmetric": operator.symmetric}
        factors = factorize(matrix, method=method.name, **flags)
        matrix, x, text = factors.matrix, factors.solve(given, axis=axis), factors.method
    xp = array_namespace(b, x)  # only the matrix may be traced
    x = xp.matrix_transpose(x) if is_columns else x
    constant, right = autodiff.stop_gradient((x, b))
    residual = right - times(of_vectors(autodiff.stop_gradient(matrix), problem.rows), constant)
    size, wanted = norm(residual), norm(right)
    zero = xp.astype(xp.zeros_like(size), xp.int32)
    if method.name == "lstsq":
        status = xp.where(xp.all(xp.isfinite(constant), axis=-1), zero, zero + int(Status.NON_FINITE))
    else:
        met = size <= xp.maximum(criterion.rtol * wanted, criterion.atol)
        of_matrix = factors.status[..., None] if is_columns else factors.status
        status = xp.astype(of_matrix, xp.int32) + zero
        status = xp.where((status == int(Status.CONVERGED)) & ~met, zero + int(Status.STAGNATED), status)
    finite = xp.isfinite(wanted) | (wanted > 0) & xp.all(xp.isfinite(right), axis=-1)
    status = xp.where(finite, status, zero + int(Status.NON_FINITE))
    return text, (x, residual, size, zero, zero + 1, status)


def default_rtol(eps: float) -> float:
    """Return the default tolerance of a solution from the data type's `eps`."""
    return max(_RTOL, 100 * eps)


def solve_if_dense(A: Any, b: Any, method: Any, rtol: Any, atol: Any) -> SolveResult | None:
    """Solve one concrete dense square system by LU factors; return None for all other systems."""
    cls = type(A)
    if cls is not type(b) or type(method) is not str or method not in _DENSE:
        return None
    if not ((rtol is None or (type(rtol) is float and rtol >= 0)) and type(atol) is float and atol >= 0):
        return None
    if not checks.is_array(A) or hasattr(cls, "_namespace") or A.dtype != b.dtype:  # `_namespace`: a traced array
        return None
    shape = A.shape
    if len(shape) != 2 or shape[0] != shape[1] or b.ndim not in (1, 2) or b.shape[0] != shape[0]:
        return None
    if not (is_concrete(A) and is_concrete(b)):
        return None
    found = solve_dense.native(A, b)(A, b, rtol, atol)
    return None if found is None else result_of(f"lu ({library_name(array_namespace(A))})", *found)


@pluggable
def solve_dense(a: Array, b: Array, rtol: float | None, atol: float, /) -> tuple[Array, ...] | None:
    """Solve one concrete dense system by LU, and determine its status, in one call of the library.

    Args:
        a: A matrix, of shape `(n, n)`.
        b: A vector, of shape `(n,)`, or a matrix of columns, `(n, k)`, of the same data type.
        rtol: The tolerance relative to `b`; None for the default of `solve`.
        atol: The absolute tolerance.

    Returns:
        The fields of a `SolveResult`; None if the library has no faster way for this system.

    >>> import numpy as np
    >>> solve_dense(np.asarray([[2.0, 1.0], [1.0, 3.0]]), np.asarray([3.0, 4.0]), None, 0.0)[0]
    array([1., 1.])
    """
    return solve_dense.native(a, b)(a, b, rtol, atol)
