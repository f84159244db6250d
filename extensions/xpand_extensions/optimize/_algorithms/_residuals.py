"""Newton-type steps to roots or least squares of residuals, with one evaluation per step.

A line search shortens each step until the sum of squares decreases. Its last evaluation is reused at the next point.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks

from ..._solver_status import Status
from ...linalg import triangular_solve
from ._states import first_fields, updated
from ._vectors import apply, dot, eps_of, identity, is_finite, largest, norm, quotient, select, times, tolerance_of

DECREASE: Final = 1e-4
"""A step must reach this fraction of the decrease that the slope predicts."""
_PATIENCE: Final = 5
"""After more than this number of steps without progress, the iteration has stagnated."""
_TRIALS: Final = 30
"""The maximum number of trial steps of a line search."""

Linearize = Callable[[Array], tuple[Array, Array]]
"""Takes points; returns residuals and their Jacobians, of shape `(*batch, m, n)`."""


class Search(NamedTuple):
    """The state of the iteration."""

    x: Array
    residual: Array
    optimality: Array
    direction: Array
    slope: Array
    """The slope of half the sum of squares along the direction."""
    step: Array
    trials: Array
    memory: Any
    is_exact: Array
    """Whether the direction uses the Jacobian at the point, so that there is no fallback."""
    is_singular: Array
    idle: Array
    """The number of successive steps that did not reduce the residuals by more than rounding errors."""
    tolerance: Array
    reach: Array
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The norm of the residuals."""
        return norm(self.residual)


class Method(Protocol):
    """The interface of a method: its evaluations, the quantity compared with the tolerance, and its steps."""

    is_newton: bool
    """Whether each direction uses the Jacobian at its point."""

    def init(self, x: Array) -> tuple[Array, Any]:
        """Evaluate residuals, and the initial memory."""
        ...

    def evaluate(self, x: Array) -> tuple[Array, Any]:
        """Evaluate residuals at a new point, and the values that `update` needs."""
        ...

    def update(self, memory: Any, found: Any, moved: Array, changed: Array) -> Any:
        """Return the memory after a step."""
        ...

    def measure(self, residual: Array, memory: Any) -> Array:
        """Return the quantity compared with the tolerance."""
        ...

    def direction(self, residual: Array, memory: Any) -> tuple[Array, Array, Array]:
        """Return the direction, the slope of half the sum of squares, and whether the Jacobian is singular."""
        ...


class GaussNewton:
    """Steps to the minimum of the linearized residuals: Newton's method if there are as many residuals as variables."""

    is_newton = True

    def __init__(self, linearize: Linearize, is_root: bool) -> None:
        """Store the function that evaluates residuals and Jacobians; for roots, the tolerance is for the residuals."""
        self.linearize, self.is_root = linearize, is_root

    def init(self, x: Array) -> tuple[Array, Array]:
        return self.linearize(x)

    evaluate = init

    def update(self, memory: Array, found: Array, moved: Array, changed: Array) -> Array:
        return found

    def measure(self, residual: Array, memory: Array) -> Array:
        return largest(residual) if self.is_root else largest(pulled(memory, residual))

    def direction(self, residual: Array, memory: Array) -> tuple[Array, Array, Array]:
        found, is_singular = least_squares(memory, -residual)
        return found, dot(pulled(memory, residual), found), is_singular


class Broyden:
    """Broyden's first method (1965): each step updates the inverse Jacobian of the first point."""

    is_newton = False

    def __init__(self, value: Callable[[Array], Array], linearize: Linearize) -> None:
        """Store the functions that evaluate residuals, and residuals with Jacobians."""
        self.value, self.linearize = value, linearize

    def init(self, x: Array) -> tuple[Array, Array]:
        residual, jacobian = self.linearize(x)
        return residual, inverse_of(jacobian)[0]

    def evaluate(self, x: Array) -> tuple[Array, Any]:
        return self.value(x), ()

    def update(self, memory: Array, found: Any, moved: Array, changed: Array) -> Array:
        xp = array_namespace(memory)
        back = apply(memory, changed)
        row = apply(xp.matrix_transpose(memory), moved)
        weight = quotient(xp.ones_like(moved[..., 0]), dot(moved, back))
        return memory + weight[..., None, None] * ((moved - back)[..., :, None] * row[..., None, :])

    def measure(self, residual: Array, memory: Array) -> Array:
        return largest(residual)

    def direction(self, residual: Array, memory: Array) -> tuple[Array, Array, Array]:
        xp = array_namespace(residual)
        # The slope for an exact inverse.
        slope = -dot(residual, residual)
        return -apply(memory, residual), slope, xp.zeros_like(slope, dtype=xp.bool)


def init(method: Method, x: Array, atol: float, rtol: float) -> Search:
    """Evaluate the function at the starting point."""
    xp = array_namespace(x)
    residual, memory = method.init(x)
    valid = is_finite(x) & is_finite(residual)
    if method.is_newton:
        valid = valid & is_finite(memory, 2)
    memory = select(valid, memory, xp.zeros_like(memory))
    safe = select(valid, residual, xp.zeros_like(residual))
    optimality = method.measure(safe, memory)
    direction, slope, is_singular = method.direction(safe, memory)
    fields = first_fields(x, optimality, tolerance_of(optimality, atol, rtol), valid, largest(safe))
    return Search(
        **fields,
        x=x,
        residual=residual,
        direction=direction,
        slope=slope,
        step=xp.ones_like(optimality),
        trials=fields["iterations"],
        memory=memory,
        is_exact=xp.ones_like(is_singular),
        is_singular=is_singular,
        idle=fields["iterations"],
        gradient_evaluations=fields["function_evaluations"],
    )


def step(method: Method, state: Search) -> Search:
    """Evaluate a trial step: accept it, try a shorter one, fall back to the Jacobian, or give up."""
    xp = array_namespace(state.x)
    x = state.x + times(state.step, state.direction)
    residual, found = method.evaluate(x)
    valid = is_finite(residual) & is_finite(x)
    residual = select(valid, residual, xp.zeros_like(residual))
    before, after = norm(state.residual), norm(residual)
    # The predicted decrease of half the sum of squares, written for the norm, without squares.
    predicted = DECREASE * state.step * quotient(state.slope, before)
    noise = 4.0 * eps_of(xp, x.dtype) * before
    optimality = method.measure(residual, method.update(state.memory, found, x - state.x, residual - state.residual))
    is_level = (after <= before + noise) & (optimality < state.optimality)
    accepted = valid & ((after <= before + predicted) | is_level)
    exhausted = ~accepted & ((state.trials + 1 >= _TRIALS) | (largest(x - state.x) == 0.0))
    shorter = _shorter(state, before, after, valid)
    waiting = state._replace(
        step=shorter,
        trials=state.trials + 1,
        function_evaluations=state.function_evaluations + 1,
        gradient_evaluations=state.gradient_evaluations + int(method.is_newton),
    )
    changes = accepted | exhausted
    if is_concrete(changes) and not bool(xp.any(changes)):
        return waiting
    moved = _moved(method, waiting, x, residual, found, accepted)
    result: Search = select(changes, moved, waiting)
    return result


def _shorter(state: Search, before: Array, after: Array, valid: Array) -> Array:
    """Choose a shorter step: the minimum of the parabola with these values and slope, within limits."""
    xp = array_namespace(before)
    ratio = quotient(after, before, 10.0)
    slope = state.step * quotient(quotient(state.slope, before), before)
    rise = 0.5 * ratio * ratio - 0.5 - slope
    share = xp.where(
        valid & (rise > 0.0), -0.5 * slope / xp.where(rise > 0.0, rise, xp.ones_like(rise)), 0.25 + 0.0 * rise
    )
    return state.step * xp.clip(share, 0.1, 0.5)


def _moved(method: Method, state: Search, x: Array, residual: Array, found: Any, accepted: Array) -> Search:
    """Move to the accepted point. Without one, fall back to the Jacobian; if that was used, give up."""
    xp = array_namespace(x)
    memory = method.update(state.memory, found, x - state.x, residual - state.residual)
    x, residual = select(accepted, (x, residual), (state.x, state.residual))
    evaluations = state.gradient_evaluations
    if method.is_newton:
        memory = select(accepted, memory, state.memory)
    else:
        again = ~accepted & ~state.is_exact
        memory = select(accepted, memory, method.init(x)[1] if _may_be(again) else state.memory)
        evaluations = evaluations + xp.astype(again, xp.int32)
    optimality = method.measure(residual, memory)
    direction, slope, is_singular = method.direction(residual, memory)
    progresses = norm(residual) < (1.0 - 10.0 * eps_of(xp, x.dtype)) * norm(state.residual)
    progresses = progresses | (optimality < 0.9 * state.optimality)
    idle = xp.where(accepted & ~progresses, state.idle + 1, 0 * state.idle)
    gives_up = (~accepted & state.is_exact) | (idle > _PATIENCE)
    diverged = (largest(x) > state.reach) | ~is_finite(direction)
    status = updated(
        state.status,
        (gives_up, Status.STAGNATED),
        (gives_up & state.is_singular, Status.SINGULAR),
        (accepted & diverged, Status.DIVERGED),
        (accepted & (optimality <= state.tolerance), Status.CONVERGED),
    )
    return state._replace(
        x=x,
        residual=residual,
        optimality=optimality,
        direction=direction,
        slope=slope,
        step=xp.ones_like(state.step),
        trials=xp.zeros_like(state.trials),
        memory=memory,
        is_exact=~accepted if not method.is_newton else xp.ones_like(accepted),
        is_singular=is_singular,
        idle=idle,
        iterations=state.iterations + xp.astype(accepted, xp.int32),
        gradient_evaluations=evaluations,
        status=status,
    )


def _may_be(condition: Array) -> bool:
    return not is_concrete(condition) or bool(array_namespace(condition).any(condition))


def pulled(jacobian: Array, residual: Array) -> Array:
    """Return the gradient of half the sum of squares: the transposed Jacobian times the residuals."""
    return apply(array_namespace(jacobian).matrix_transpose(jacobian), residual)


def least_squares(matrix: Array, b: Array) -> tuple[Array, Array]:
    """Solve least-squares problems by QR factors; also return whether the columns of each matrix are dependent.

    For dependent columns, the solution is that of a nearby matrix.
    """
    xp = array_namespace(matrix)
    q, r = xp.linalg.qr(matrix)
    upper, is_singular = regular(r)
    return triangular(upper, pulled(q, b)), is_singular


def regular(upper: Array) -> tuple[Array, Array]:
    """Make the diagonals of upper triangular matrices nonzero; also return whether a diagonal had a zero."""
    xp = array_namespace(upper)
    n = upper.shape[-1]
    if not n:
        return upper, xp.zeros(upper.shape[:-2], dtype=xp.bool, device=checks.device_of(upper))
    eye = identity(upper[..., 0, :])
    diagonal = xp.sum(upper * eye, axis=-1)
    scale = largest(diagonal)
    least = eps_of(xp, upper.dtype) * n * xp.where(scale > 0.0, scale, xp.ones_like(scale))
    small = xp.abs(diagonal) <= least[..., None]
    corrected = xp.where(small, least[..., None], diagonal)
    return upper + eye * (corrected - diagonal)[..., None, :], xp.any(small, axis=-1)


def triangular(upper: Array, b: Array) -> Array:
    """Solve upper triangular systems, with one vector each."""
    return triangular_solve(upper, b[..., None], lower=False)[..., 0]


def inverse_of(matrix: Array) -> tuple[Array, Array]:
    """Invert square matrices; also return whether they are singular. Then the inverse is that of a nearby matrix."""
    xp = array_namespace(matrix)
    q, r = xp.linalg.qr(matrix)
    upper, is_singular = regular(r)
    return triangular_solve(upper, xp.matrix_transpose(q), lower=False), is_singular
