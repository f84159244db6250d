"""The method of Levenberg (1944) and Marquardt (1963) for least squares.

The damping is updated as in Nielsen (1999). Variables are scaled by the largest norm of their columns so far (Moré
1978).
"""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ..._solver_status import Status
from ._residuals import Linearize, least_squares, pulled
from ._states import first_fields, updated
from ._vectors import (
    apply,
    eps_of,
    full_like,
    identity,
    is_finite,
    largest,
    norm,
    quotient,
    select,
    times,
    tolerance_of,
)


class Damped(NamedTuple):
    """The state of an iteration."""

    x: Array
    residual: Array
    jacobian: Array
    optimality: Array
    scale: Array
    damping: Array
    growth: Array
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


def init(linearize: Linearize, x: Array, atol: float, rtol: float, damping: float) -> Damped:
    """Evaluate the function at the starting point."""
    xp = array_namespace(x)
    residual, jacobian = linearize(x)
    valid = is_finite(x) & is_finite(residual) & is_finite(jacobian, 2)
    residual, jacobian = select(valid, (residual, jacobian), (xp.zeros_like(residual), xp.zeros_like(jacobian)))
    optimality = largest(pulled(jacobian, residual))
    fields = first_fields(x, optimality, tolerance_of(optimality, atol, rtol), valid)
    return Damped(
        **fields,
        x=x,
        residual=residual,
        jacobian=jacobian,
        scale=columns(jacobian),
        damping=full_like(optimality, damping),
        growth=full_like(optimality, 2.0),
        gradient_evaluations=fields["function_evaluations"],
    )


def columns(jacobian: Array) -> Array:
    """Return the lengths of the columns; 1 for zero columns."""
    lengths = norm(array_namespace(jacobian).matrix_transpose(jacobian))
    return array_namespace(lengths).where(lengths > 0.0, lengths, full_like(lengths, 1.0))


def step(linearize: Linearize, state: Damped) -> Damped:
    """Evaluate a step: accept it and reduce the damping, or reject it and increase the damping."""
    xp = array_namespace(state.x)
    root = xp.sqrt(state.damping)
    below = identity(state.x) * times(root, state.scale)[..., None, :]
    stacked = xp.concat([state.jacobian, below], axis=-2)
    move, _ = least_squares(stacked, -xp.concat([state.residual, xp.zeros_like(state.x)], axis=-1))
    x = state.x + move
    residual, jacobian = linearize(x)
    valid = is_finite(x) & is_finite(residual) & is_finite(jacobian, 2)
    residual, jacobian = select(valid, (residual, jacobian), (state.residual, state.jacobian))
    before, after = norm(state.residual), norm(residual)
    # Decreases are relative to the previous sum of squares, so that nothing overflows.
    actual = 1.0 - quotient(after, before, 1.0) ** 2
    linear = quotient(norm(apply(state.jacobian, move)), before) ** 2
    damped = state.damping * quotient(norm(state.scale * move), before) ** 2
    predicted = linear + 2.0 * damped
    ratio = quotient(actual, predicted)
    optimality = largest(pulled(jacobian, residual))
    noise = 10.0 * eps_of(xp, x.dtype)
    is_level = (predicted <= noise) & (actual >= -noise) & (optimality < state.optimality)
    accepted = valid & ((ratio > 1e-4) | is_level)
    is_still = largest(move) <= eps_of(xp, x.dtype) * largest(state.x)
    stuck = ~accepted & (is_still | (state.damping > eps_of(xp, x.dtype) ** -2))
    bend = xp.where(is_level, xp.ones_like(ratio), xp.clip(ratio, -1.0, 1.0))
    less = state.damping * xp.maximum(full_like(ratio, 1.0 / 3.0), 1.0 - (2.0 * bend - 1.0) ** 3)
    least = eps_of(xp, x.dtype) ** 2
    optimality = xp.where(accepted, optimality, state.optimality)
    status = updated(
        state.status,
        (stuck, Status.STAGNATED),
        (accepted & (largest(x) > state.reach), Status.DIVERGED),
        (accepted & (optimality <= state.tolerance), Status.CONVERGED),
    )
    x, residual, jacobian = select(accepted, (x, residual, jacobian), (state.x, state.residual, state.jacobian))
    return state._replace(
        x=x,
        residual=residual,
        jacobian=jacobian,
        optimality=optimality,
        scale=xp.maximum(state.scale, columns(jacobian)),
        damping=xp.where(accepted, xp.maximum(less, full_like(less, least)), state.damping * state.growth),
        growth=xp.where(accepted, full_like(less, 2.0), 2.0 * state.growth),
        iterations=state.iterations + xp.astype(accepted, xp.int32),
        function_evaluations=state.function_evaluations + 1,
        gradient_evaluations=state.gradient_evaluations + 1,
        status=status,
    )
