"""Iterative solutions; their derivatives are implicit, and solve another system."""

from typing import Any, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks

from .. import autodiff
from .._solver_status import ConvergenceError, Status
from ._arguments import Method
from ._krylov import Found, System, krylov
from ._vectors import conj


class Criterion(NamedTuple):
    """The tolerances and the numbers of steps."""

    rtol: Array
    atol: Array


class Options(NamedTuple):
    """The static arguments of a call."""

    method: Method
    stops: tuple[int, ...]
    """The numbers of steps after which results are returned, in ascending order."""
    throw: bool = True
    """Whether to raise an error if a solution for a derivative has a concrete status and did not converge."""
    record: bool = False
    """Whether to record the norm of the residual after each step."""

    def last(self) -> "Options":
        """Return the options with only the last number of steps."""
        return self._replace(stops=self.stops[-1:])

    def solution(self, found: Found) -> Array:
        """Return the solution at the end."""
        return found.x if len(self.stops) == 1 else found.x[-1, ...]

    def residual(self, found: Found) -> Array:
        """Return the final residual."""
        return found.residual if len(self.stops) == 1 else found.residual[-1, ...]


def square(system: System, b: Array, x0: Array | None, criterion: Criterion, options: Options) -> tuple[Array, Found]:
    """Solve a square system; return the differentiable solution, and the results of the iteration."""
    derivatives = _Derivatives()

    def solve(b: Array, system: System, start: Any, criterion: Criterion) -> tuple[Array, Found]:
        found = _found(system, b, _start(b, start, b.shape[-1]), criterion, options)
        derivatives.check(found, options)
        derivatives.finish_first()
        return options.solution(found), found

    def transpose_solve(b: Array, system: System, start: Any, criterion: Criterion) -> tuple[Array, Found]:
        xp = array_namespace(b)
        if system.operator.symmetric:
            found = _found(system, conj(b), xp.zeros_like(b), criterion, options.last())
            derivatives.check(found, options.last())
            return conj(found.x), found
        found = _found(system.transposed(), b, xp.zeros_like(b), criterion, options.last())
        derivatives.check(found, options.last())
        return found.x, found

    start = () if x0 is None else autodiff.stop_gradient((b, x0))
    args = (system, start, autodiff.stop_gradient(criterion))
    solution: tuple[Array, Found] = autodiff.custom_linear_solve(
        _product, b, solve=solve, transpose_solve=transpose_solve, args=args, has_aux=True
    )
    return solution


def least_squares(
    system: System, b: Array, x0: Array | None, criterion: Criterion, options: Options
) -> tuple[Array, Found]:
    """Compute the least-squares solution of minimum norm of a system of any shape.

    Solves the square, Hermitian system of the residual and the solution, `r + A x = f` and `adjoint(A) r = g`. If A has
    at least as many rows as columns, `f` is the right-hand side. Otherwise A is replaced by its adjoint, `g` is the
    right-hand side, and the solution is `r`.
    """
    is_tall = system.rows.size >= system.columns.size
    derivatives = _Derivatives()

    def product(pair: tuple[Array, Array], system: System, start: Any, criterion: Criterion) -> tuple[Array, Array]:
        r, x = pair
        if is_tall:
            return r + system.product(x), system.adjoint(r)
        return r + system.adjoint(x), system.product(r)

    def solve(
        rhs: tuple[Array, Array], system: System, start: Any, criterion: Criterion
    ) -> tuple[tuple[Array, Array], Found]:
        f, g = rhs

        def adjoint(b: Array) -> Array:
            found = _found(system.transposed(), conj(b), _zeros(b, system.rows.size), criterion, options.last())
            derivatives.check(found, options.last())
            return conj(found.x)

        if is_tall:
            w = adjoint(g)
            found = _found(system, f - w, _start(f, start, g.shape[-1]), criterion, options)
            x = options.solution(found)
            derivatives.check(found, options)
            derivatives.finish_first()
            return (w + options.residual(found), x), found
        found = _found(system, g, _start(g, start, f.shape[-1]), criterion, options)
        w = options.solution(found)
        derivatives.check(found, options)
        outside = f - system.adjoint(adjoint(f))
        x = adjoint(f - w)
        derivatives.finish_first()
        return (w + outside, x), found

    def transpose_solve(
        rhs: tuple[Array, Array], system: System, start: Any, criterion: Criterion
    ) -> tuple[tuple[Array, Array], Found]:
        # Without the guess: it is for another right-hand side, and captured traced arrays would make the status
        # abstract.
        (r, x), found = solve((conj(rhs[0]), conj(rhs[1])), system, (), criterion)
        return (conj(r), conj(x)), found

    none = _zeros(b, system.columns.size)
    rhs = (b, none) if is_tall else (none, b)
    start = () if x0 is None else autodiff.stop_gradient((b, x0))
    (r, x), found = autodiff.custom_linear_solve(
        product,
        rhs,
        solve=solve,
        transpose_solve=transpose_solve,
        args=(system, start, autodiff.stop_gradient(criterion)),
        has_aux=True,
    )
    return (x if is_tall else r), found


def _product(x: Array, system: System, start: Any, criterion: Criterion) -> Array:
    return system.product(x)


def _found(system: System, b: Array, x0: Array, criterion: Criterion, options: Options) -> Found:
    method = options.method
    order = min(method.order, max(b.shape[-1], 1))
    options_of_run: dict[str, Any] = {"order": order, "stops": options.stops, "record": options.record}
    return krylov(b, x0, criterion.rtol, criterion.atol, system=system, method=method.name, **options_of_run)


class _Derivatives:
    """Checks the solutions for derivatives, which follow the caller's own solution."""

    def __init__(self) -> None:
        """Start with the caller's own solution."""
        self.is_first = True

    def finish_first(self) -> None:
        """Record that the caller's own solution has been found."""
        self.is_first = False

    def check(self, found: Found, options: Options) -> None:
        """With `throw`, raise an error if a solution for a derivative has a concrete status and did not converge."""
        status = found.status if len(options.stops) == 1 else found.status[-1, ...]
        if self.is_first or not options.throw or not is_concrete(status):
            return
        if bool(array_namespace(status).any(status != int(Status.CONVERGED))):
            raise ConvergenceError(
                f"solve: the system of a derivative has not converged by method {str(options.method)!r}; allow more "
                "steps with `max_steps`, loosen `rtol`, or pass a `preconditioner`. The result is in this error's "
                "attribute `result`; throw=False uses the best solution found for the derivative",
                found,
            )


def _start(b: Array, start: Any, size: int) -> Array:
    """Return the starting point: the guess for the caller's own system, zeros for a derivative."""
    if not start:
        return _zeros(b, size)
    of, x0 = start
    xp = array_namespace(b, of, x0)
    return xp.where(xp.all(b == of, axis=-1)[..., None], x0, xp.zeros_like(x0))


def _zeros(b: Array, size: int) -> Array:
    xp = array_namespace(b)
    if b.shape[-1] == size:
        return xp.zeros_like(b)
    return xp.zeros((*b.shape[:-1], size), dtype=b.dtype, device=checks.device_of(b))
