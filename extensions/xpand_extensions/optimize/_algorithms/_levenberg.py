"""The method of Levenberg (1944) and Marquardt (1963) for least squares.

How the damping changes is Nielsen's (1999); scales are those of the columns, the largest so far (Moré 1978).
"""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ..._solver_status import Status
from ...optimize._results import RUNNING, status_like
from ._residuals import Linearize, least_squares, pulled
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
    """Where the iteration is."""

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


def init(linearize: Linearize, x: Array, atol: float, rtol: float, damping: float) -> Damped:
    """Evaluate where the iteration begins."""
    xp = array_namespace(x)
    residual, jacobian = linearize(x)
    flat = xp.reshape(jacobian, (*jacobian.shape[:-2], jacobian.shape[-1] * jacobian.shape[-2]))
    valid = is_finite(x) & is_finite(residual) & is_finite(flat)
    residual, jacobian = select(valid, (residual, jacobian), (xp.zeros_like(residual), xp.zeros_like(jacobian)))
    optimality = largest(pulled(jacobian, residual))
    tolerance = tolerance_of(optimality, atol, rtol)
    one = xp.ones_like(optimality, dtype=xp.int32)
    status = xp.where(optimality <= tolerance, 0 * one + int(Status.CONVERGED), 0 * one + RUNNING)
    reach = eps_of(xp, x.dtype) ** -1.5 * xp.maximum(largest(x), full_like(optimality, 1.0))
    return Damped(
        x,
        residual,
        jacobian,
        optimality,
        columns(jacobian),
        full_like(optimality, damping),
        full_like(optimality, 2.0),
        tolerance,
        xp.where(xp.isfinite(reach), reach, full_like(optimality, 1.0)),
        0 * one,
        one,
        one,
        xp.where(valid, status, status_like(status, Status.NON_FINITE)),
    )


def columns(jacobian: Array) -> Array:
    """Return the lengths of the columns; 1 for those that are zero."""
    lengths = norm(array_namespace(jacobian).matrix_transpose(jacobian))
    return array_namespace(lengths).where(lengths > 0.0, lengths, full_like(lengths, 1.0))


def step(linearize: Linearize, state: Damped) -> Damped:
    """Evaluate a step: go there and damp less, or stay and damp more."""
    xp = array_namespace(state.x)
    root = xp.sqrt(state.damping)
    below = identity(state.x) * times(root, state.scale)[..., None, :]
    stacked = xp.concat([state.jacobian, below], axis=-2)
    move, _ = least_squares(stacked, -xp.concat([state.residual, xp.zeros_like(state.x)], axis=-1))
    x = state.x + move
    residual, jacobian = linearize(x)
    flat = xp.reshape(jacobian, (*jacobian.shape[:-2], jacobian.shape[-1] * jacobian.shape[-2]))
    valid = is_finite(x) & is_finite(residual) & is_finite(flat)
    residual, jacobian = select(valid, (residual, jacobian), (state.residual, state.jacobian))
    before, after = norm(state.residual), norm(residual)
    # Relative to the sum of squares before, so that nothing overflows.
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
    status = xp.where(stuck, status_like(optimality, Status.STAGNATED), state.status)
    status = xp.where(accepted & (largest(x) > state.reach), status_like(optimality, Status.DIVERGED), status)
    status = xp.where(accepted & (optimality <= state.tolerance), status_like(optimality, Status.CONVERGED), status)
    x, residual, jacobian = select(accepted, (x, residual, jacobian), (state.x, state.residual, state.jacobian))
    return Damped(
        x,
        residual,
        jacobian,
        optimality,
        xp.maximum(state.scale, columns(jacobian)),
        xp.where(accepted, xp.maximum(less, full_like(less, least)), state.damping * state.growth),
        xp.where(accepted, full_like(less, 2.0), 2.0 * state.growth),
        state.tolerance,
        state.reach,
        state.iterations + xp.astype(accepted, xp.int32),
        state.function_evaluations + 1,
        state.gradient_evaluations + 1,
        status,
    )
