"""Descent with line searches: each step evaluates the function once, so that problems don't wait for each other.

The line search halves and stretches an interval until the Wolfe conditions hold: Lewis and Overton, Nonsmooth
optimization via quasi-Newton methods (2013), algorithm 2.6. It also interpolates, and uses the approximate conditions
of Hager and Zhang (2005) when differences of values are rounding errors. With bounds it searches along the projected
path, and only free variables move (Bertsekas 1982).
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from xpand import array_namespace, is_concrete
from xpand.extend import Array

from ..._solver_status import Status
from ._box import Box
from ._directions import Directions, first_scale
from ._states import first_fields, updated
from ._vectors import dot, eps_of, full_like, is_finite, largest, select, times, tolerance_of

Evaluate = Callable[[Array], tuple[Array, Array]]
"""Takes points; returns values and gradients."""

_DECREASE: Final = 1e-4
"""A step must reach this fraction of the decrease that the slope predicts."""
_CURVATURE: Final = 0.9
"""The slope after a step may be at most this fraction of the slope before."""
_PATIENCE: Final = 10
"""After more than this number of steps without progress, the iteration has stagnated."""
MAX_TRIALS: Final = 40
"""The maximum number of trial steps of a line search."""
_MAX_NARROWED: Final = 20
"""The maximum number of trial steps after one was too long: then rounding errors decide, as on a flat objective."""


class Trial(NamedTuple):
    """The state of a line search: the trial step, and the longest step that was too short and the shortest too long."""

    step: Array
    low: Array
    low_fun: Array
    low_slope: Array
    low_gradient: Array
    high: Array
    """Infinite until a step is too long."""
    high_fun: Array
    number: Array


class Descent(NamedTuple):
    """The state of a descent: the last point, and the line search that starts there."""

    x: Array
    fun: Array
    gradient: Array
    optimality: Array
    direction: Array
    slope: Array
    trial: Trial
    memory: Any
    is_steepest: Array
    """Whether the direction is that of the gradient, so that there is no fallback."""
    idle: Array
    """The number of successive steps that reduced neither the value nor the optimality; a poor search counts thrice."""
    tolerance: Array
    reach: Array
    """The size of points and values beyond which the iteration counts as diverged."""
    iterations: Array
    function_evaluations: Array
    gradient_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The value of the function."""
        return self.fun


def first_evaluation(evaluate: Evaluate, x: Array, box: Box, atol: float, rtol: float) -> dict[str, Any]:
    """Evaluate the function at the starting point; return the common fields of methods with gradients."""
    xp = array_namespace(x)
    x = box.project(x)
    fun, gradient = evaluate(x)
    valid = xp.isfinite(fun) & is_finite(gradient) & is_finite(x)
    gradient = select(valid, gradient, xp.zeros_like(gradient))
    optimality = box.measure(x, gradient)
    fields = first_fields(x, optimality, tolerance_of(optimality, atol, rtol), valid, xp.abs(fun))
    return {**fields, "x": x, "fun": fun, "gradient": gradient, "gradient_evaluations": fields["function_evaluations"]}


def init(evaluate: Evaluate, x: Array, box: Box, directions: Directions, atol: float, rtol: float) -> Descent:
    """Evaluate the function at the starting point."""
    fields = first_evaluation(evaluate, x, box, atol, rtol)
    x, fun, gradient = fields["x"], fields["fun"], fields["gradient"]
    memory = directions.init(x, gradient)
    direction, slope, fell = _direction(directions, memory, x, gradient, box)
    return Descent(
        **fields,
        direction=direction,
        slope=slope,
        trial=_new_trial(fun, slope, gradient),
        memory=memory,
        is_steepest=fell if not directions.is_steepest else array_namespace(fell).ones_like(fell),
        idle=fields["iterations"],
    )


def step(evaluate: Evaluate, box: Box, directions: Directions, state: Descent) -> Descent:
    """Evaluate one trial step of the line search: accept it, try another, fall back to the gradient, or give up."""
    xp = array_namespace(state.x)
    trial = state.trial
    x = box.project(state.x + times(trial.step, state.direction))
    moved = x - state.x
    fun, gradient = evaluate(x)
    is_unbounded = fun == -xp.inf
    # A gradient whose squares overflow also means that the point is too far away.
    valid = xp.isfinite(fun) & (largest(gradient) < float(xp.finfo(x.dtype).max) ** 0.4)
    fun = xp.where(valid, fun, full_like(fun, xp.inf))
    gradient = select(valid, gradient, xp.zeros_like(gradient))
    along = state.direction
    if box.lower is not None or box.upper is not None:
        # On the projected path, variables stay at the bounds that they have met.
        full = state.x + times(trial.step, state.direction)
        along = xp.where(full == x, along, xp.zeros_like(along))
    slope = dot(gradient, along)
    noise = 10.0 * eps_of(xp, x.dtype) * xp.abs(state.fun)
    is_lower = fun <= state.fun + _DECREASE * dot(state.gradient, moved)
    is_level = (fun <= state.fun + noise) & (slope <= (2.0 * _DECREASE - 1.0) * state.slope)
    is_short_enough = valid & (is_lower | is_level)
    accepted = is_short_enough & (slope >= _CURVATURE * state.slope)
    narrowed = _narrowed(trial, fun, slope, gradient, is_short_enough)
    most = xp.where(xp.isfinite(narrowed.high), 0 * trial.number + _MAX_NARROWED, 0 * trial.number + MAX_TRIALS)
    exhausted = (narrowed.number >= most) | (largest(moved) == 0.0)
    # In unbounded descent, stop before numbers overflow.
    exhausted = exhausted | (is_short_enough & ((xp.abs(fun) > state.reach) | (largest(x) > state.reach)))
    # A shorter step with a lower value is better than none. Without a lower value, rounding errors hide the descent.
    falls_short = exhausted & ~accepted & (narrowed.low_fun < state.fun - noise)
    x, fun, gradient = select(
        falls_short,
        (box.project(state.x + times(narrowed.low, state.direction)), narrowed.low_fun, narrowed.low_gradient),
        (x, fun, gradient),
    )
    accepted = accepted | falls_short
    resets = exhausted & ~accepted
    waiting = state._replace(
        trial=narrowed,
        function_evaluations=state.function_evaluations + 1,
        gradient_evaluations=state.gradient_evaluations + 1,
        status=updated(state.status, (is_unbounded, Status.DIVERGED)),
    )
    changes = accepted | resets
    if is_concrete(changes) and not bool(xp.any(changes)):
        return waiting
    found: Descent = select(changes, _moved(directions, box, waiting, x, fun, gradient, accepted, falls_short), waiting)
    return found


def _moved(
    directions: Directions,
    box: Box,
    state: Descent,
    x: Array,
    fun: Array,
    gradient: Array,
    accepted: Array,
    falls_short: Array,
) -> Descent:
    """Move to the accepted point. Without one, restart along the gradient; if that was the direction, give up."""
    xp = array_namespace(x)
    x, fun, gradient = select(accepted, (x, fun, gradient), (state.x, state.fun, state.gradient))
    memory = select(
        accepted, directions.update(state.memory, x - state.x, gradient - state.gradient), directions.reset(x, gradient)
    )
    optimality = box.measure(x, gradient)
    direction, slope, fell = _direction(directions, memory, x, gradient, box)
    noise = 10.0 * eps_of(xp, x.dtype) * xp.abs(state.fun)
    progresses = (fun < state.fun - noise) | (optimality < 0.9 * state.optimality)
    # A search without a good step lowered the value by little, or only by rounding errors.
    waited = state.idle + 1 + 2 * xp.astype(falls_short, xp.int32)
    idle = xp.where(accepted & progresses & ~falls_short, 0 * state.idle, waited)
    gives_up = (~accepted & state.is_steepest) | (idle > _PATIENCE)
    diverged = (xp.abs(fun) > state.reach) | (largest(x) > state.reach)
    status = updated(
        state.status,
        (gives_up, Status.STAGNATED),
        (accepted & diverged, Status.DIVERGED),
        (accepted & (optimality <= state.tolerance), Status.CONVERGED),
    )
    return state._replace(
        x=x,
        fun=fun,
        gradient=gradient,
        optimality=optimality,
        direction=direction,
        slope=slope,
        trial=_new_trial(fun, slope, gradient),
        memory=memory,
        is_steepest=~accepted | fell,
        idle=idle,
        iterations=state.iterations + xp.astype(accepted, xp.int32),
        status=status,
    )


def _direction(directions: Directions, memory: Any, x: Array, gradient: Array, box: Box) -> tuple[Array, Array, Array]:
    """Return a descent direction, its slope, and whether it is that of the gradient instead of the method's."""
    xp = array_namespace(x)
    free = box.free(x, gradient)
    downhill = gradient if free is None else xp.where(free, gradient, xp.zeros_like(gradient))
    found = directions.direction(memory, x, downhill)
    if free is not None:
        found = xp.where(free, found, xp.zeros_like(found))
    slope = dot(found, gradient)
    is_good = is_finite(found) & (slope < 0.0)
    steepest = -times(first_scale(downhill), downhill)
    direction = select(is_good, found, steepest)
    return direction, dot(direction, gradient), ~is_good


def _new_trial(fun: Array, slope: Array, gradient: Array) -> Trial:
    xp = array_namespace(fun)
    zero = xp.zeros_like(fun)
    number = xp.zeros_like(fun, dtype=xp.int32)
    infinite = full_like(fun, xp.inf)
    return Trial(xp.ones_like(fun), zero, fun, slope, gradient, infinite, infinite, number)


def _narrowed(trial: Trial, fun: Array, slope: Array, gradient: Array, is_short_enough: Array) -> Trial:
    """Record a step that was too short or too long, and choose the next step."""
    xp = array_namespace(fun)
    longer = _longer(trial, slope)
    before = (trial.low, trial.low_fun, trial.low_slope, trial.low_gradient)
    low, low_fun, low_slope, low_gradient = select(is_short_enough, (trial.step, fun, slope, gradient), before)
    high, high_fun = select(is_short_enough, (trial.high, trial.high_fun), (trial.step, fun))
    bracketed = xp.isfinite(high)
    between = _between(low, low_fun, low_slope, xp.where(bracketed, high, low + 1.0), high_fun)
    return Trial(
        xp.where(bracketed, between, longer), low, low_fun, low_slope, low_gradient, high, high_fun, trial.number + 1
    )


def _longer(trial: Trial, slope: Array) -> Array:
    """Choose a longer step: the zero of the extrapolated slope, within limits."""
    xp = array_namespace(slope)
    rise = slope - trial.low_slope
    rises = rise > 0.0
    share = xp.where(rises, -slope / xp.where(rises, rise, xp.ones_like(rise)), full_like(rise, 10.0))
    share = xp.where(xp.isfinite(share), share, full_like(rise, 10.0))
    width = trial.step - trial.low
    return trial.step + xp.clip(share, 1.0, 9.0) * width


def _between(low: Array, low_fun: Array, low_slope: Array, high: Array, high_fun: Array) -> Array:
    """Choose a step between two others: the minimum of the parabola, within limits."""
    xp = array_namespace(low)
    width = high - low
    known = xp.isfinite(high_fun)
    rise = xp.where(known, high_fun, low_fun) - low_fun - low_slope * width
    is_convex = known & (rise > 0.0) & xp.isfinite(rise)
    share = -0.5 * low_slope * width / xp.where(is_convex, rise, xp.ones_like(rise))
    share = xp.where(is_convex & xp.isfinite(share), share, full_like(share, 0.2))
    return low + xp.clip(share, 0.1, 0.5) * width
