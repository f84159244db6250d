"""Fixed-point iterations, plain and with Anderson's mixing (1965): Walker and Ni (2011)."""

from collections.abc import Callable
from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks

from ..._solver_status import Status
from ._residuals import least_squares
from ._states import first_fields, updated
from ._vectors import apply, eps_of, full_like, is_finite, largest, norm, quotient, select, times, tolerance_of

Value = Callable[[Array], Array]
"""Takes points; returns residuals of the same shape."""


class Mixing(NamedTuple):
    """The state of an iteration."""

    x: Array
    residual: Array
    optimality: Array
    moved: Array
    """The last steps, shape `(*batch, n, history)`, each divided by the length of the change of the residual."""
    changed: Array
    """The changes of the residual in these steps, scaled to length one; zeros for steps not taken yet."""
    amount: Array
    """The factor of the residual in a step."""
    tolerance: Array
    reach: Array
    iterations: Array
    function_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The norm of the residuals."""
        return norm(self.residual)


def init(value: Value, x: Array, history: int, amount: float | None, atol: float, rtol: float, is_root: bool) -> Mixing:
    """Evaluate the function at the starting point.

    `rtol` is relative to the first residual for roots, otherwise to the point.
    """
    xp = array_namespace(x)
    residual = value(x)
    valid = is_finite(x) & is_finite(residual)
    safe = select(valid, residual, xp.zeros_like(residual))
    optimality = largest(safe)
    start = select(valid, x, xp.zeros_like(x))
    tolerance = tolerance_of(optimality if is_root else largest(start), atol, rtol)
    none = xp.concat([xp.zeros_like(x)[..., None]] * history, axis=-1) if history else xp.zeros_like(x)[..., None]
    if amount is None:
        # The length of the first step is half of that of the point, or at least 0.5; the method scales later steps.
        ratio = quotient(xp.maximum(norm(start), full_like(optimality, 1.0)), norm(safe), 1.0)
        amounts = 0.5 * ratio
    else:
        amounts = full_like(optimality, amount)
    fields = first_fields(start, optimality, tolerance, valid, optimality)
    return Mixing(**fields | {"x": x}, residual=residual, moved=none, changed=none, amount=amounts)


def step(value: Value, history: int, rtol: float, atol: float, is_root: bool, state: Mixing) -> Mixing:
    """Take a step. If residuals aren't finite at the new point, stay at the old point and end the iteration."""
    xp = array_namespace(state.x)
    move = times(state.amount, state.residual)
    if history:
        shares = _shares(state.changed, state.residual)
        move = move - apply(state.moved + state.amount[..., None, None] * state.changed, shares)
    x = state.x + move
    residual = value(x)
    valid = is_finite(x) & is_finite(residual)
    x, residual = select(valid, (x, residual), (state.x, state.residual))
    optimality = largest(residual)
    tolerance = state.tolerance
    if not is_root:
        tolerance = tolerance_of(largest(x), atol, rtol)
    diverged = ~valid | (largest(x) > state.reach) | (optimality > state.reach)
    still = valid & (largest(x - state.x) == 0.0)
    converged = valid & (optimality <= tolerance)
    cases = (still, Status.STAGNATED), (diverged, Status.DIVERGED), (converged, Status.CONVERGED)
    moved, changed = state.moved, state.changed
    if history:
        difference = residual - state.residual
        length = norm(difference)
        weight = quotient(xp.ones_like(length), length)
        moved = xp.concat([moved[..., 1:], times(weight, x - state.x)[..., None]], axis=-1)
        changed = xp.concat([changed[..., 1:], times(weight, difference)[..., None]], axis=-1)
    return state._replace(
        x=x,
        residual=residual,
        optimality=optimality,
        moved=moved,
        changed=changed,
        tolerance=tolerance,
        iterations=state.iterations + 1,
        function_evaluations=state.function_evaluations + 1,
        status=updated(state.status, *cases),
    )


def _shares(changed: Array, residual: Array) -> Array:
    """Return the weights of the last changes that minimize the residual, with slight damping."""
    xp = array_namespace(changed)
    batch, history = tuple(changed.shape[:-2]), changed.shape[-1]
    device = checks.device_of(changed)
    damping = 0.01 * eps_of(xp, changed.dtype) ** 0.5
    eye = damping * xp.eye(history, dtype=changed.dtype, device=device)
    stacked = xp.concat([changed, xp.broadcast_to(eye, (*batch, history, history))], axis=-2)
    zeros = xp.zeros((*batch, history), dtype=changed.dtype, device=device)
    return least_squares(stacked, xp.concat([residual, zeros], axis=-1))[0]
