"""Roots of functions of one number between two ends with different signs; each element is a problem."""

from collections.abc import Callable
from typing import Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ..._solver_status import Status
from .._results import RUNNING
from ._states import updated
from ._vectors import quotient

_SMALL: Final = 2.0**-8


class Bracket(NamedTuple):
    """The state of the iteration: a root is between `x` and `other`."""

    x: Array
    """The end at which the absolute value of the function is smaller."""
    value: Array
    other: Array
    other_value: Array
    last: Array
    """The previous `x`."""
    last_value: Array
    half_step: Array
    """Half of the last step, because differences of ends may overflow."""
    half_before: Array
    largest: Array
    """The larger of the absolute values at the first ends."""
    iterations: Array
    function_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The absolute value of the function."""
        return array_namespace(self.x).abs(self.value)

    @property
    def optimality(self) -> Array:
        """The distance between the ends."""
        xp = array_namespace(self.x)
        half = _half_width(self)
        return 2.0 * xp.minimum(half, xp.full_like(half, 0.5 * float(xp.finfo(half.dtype).max)))


def init(f: Callable[[Array], Array], a: Array, b: Array, atol: float, rtol: float) -> Bracket:
    """Evaluate the function at both ends."""
    xp = array_namespace(a, b)
    left, right = f(a), f(b)
    valid = xp.isfinite(a) & xp.isfinite(b) & ~xp.isnan(left) & ~xp.isnan(right)
    zero = xp.zeros_like(left)
    a, b, left, right = [xp.where(valid, each, zero) for each in (a, b, left, right)]
    one = xp.ones_like(left, dtype=xp.int32)
    status = updated(
        0 * one + RUNNING,
        ((left > 0.0) == (right > 0.0), Status.NO_BRACKET),
        ((left == 0.0) | (right == 0.0), Status.CONVERGED),
        (~valid, Status.NON_FINITE),
    )
    swaps = xp.abs(left) < xp.abs(right)
    x, other = xp.where(swaps, a, b), xp.where(swaps, b, a)
    value, other_value = xp.where(swaps, left, right), xp.where(swaps, right, left)
    half = 0.5 * x - 0.5 * other
    bound = xp.maximum(xp.abs(left), xp.abs(right))
    state = Bracket(x, value, other, other_value, other, other_value, half, half, bound, 0 * one, 2 * one, status)
    return _checked(state, atol, rtol)


def step(
    f: Callable[[Array], Array],
    choose: Callable[[Bracket, Array], tuple[Array, Array]],
    atol: float,
    rtol: float,
    state: Bracket,
) -> Bracket:
    """Evaluate the function between the ends, and continue with the part in which its sign changes."""
    xp = array_namespace(state.x)
    least = 0.5 * _width(state, atol, rtol)
    move, before = choose(state, least)
    # Move far enough that the point changes.
    move = xp.where(xp.abs(move) > least, move, xp.where(state.other > state.x, least, -least))
    x = state.x + move
    value = f(x)
    other_changes = (value > 0.0) == (state.other_value > 0.0)
    other = xp.where(other_changes, state.x, state.other)
    other_value = xp.where(other_changes, state.value, state.other_value)
    width = x - state.x
    swaps = xp.abs(other_value) < xp.abs(value)
    result = state._replace(
        x=xp.where(swaps, other, x),
        value=xp.where(swaps, other_value, value),
        other=xp.where(swaps, x, other),
        other_value=xp.where(swaps, value, other_value),
        last=xp.where(swaps, x, state.x),
        last_value=xp.where(swaps, value, state.value),
        half_step=0.5 * xp.where(other_changes, width, move),
        half_before=xp.where(other_changes, 0.5 * width, before),
        iterations=state.iterations + 1,
        function_evaluations=state.function_evaluations + 1,
        # NaN has no sign.
        status=updated(state.status, (xp.isnan(value), Status.BREAKDOWN)),
    )
    return _checked(result, atol, rtol)


def bisect(state: Bracket, least: Array) -> tuple[Array, Array]:
    """Halve the interval."""
    half = 0.5 * state.other - 0.5 * state.x
    return half, 0.5 * half


def brent(state: Bracket, least: Array) -> tuple[Array, Array]:
    """Interpolate if steps get shorter fast enough; otherwise halve the interval. See Brent (1973), chapter 4."""
    xp = array_namespace(state.x)
    half = 0.5 * state.other - 0.5 * state.x
    # Products with distances may overflow, so these are smaller.
    least, apart, since_last = _SMALL * least, _SMALL * half, _SMALL * (0.5 * state.x - 0.5 * state.last)
    half_before = _SMALL * state.half_before
    to_last = quotient(state.value, state.last_value)
    to_other = quotient(state.value, state.other_value)
    between = quotient(state.last_value, state.other_value)
    # Two points define a line, three points an inverse parabola.
    is_line = state.last == state.other
    over_line = -apart * to_last
    over_parabola = to_last * (between * (between - to_other) * apart - (1.0 - to_other) * since_last)
    over = xp.where(is_line, over_line, -over_parabola)
    under = xp.where(is_line, 1.0 - to_last, -(between - 1.0) * (to_other - 1.0) * (to_last - 1.0))
    move = quotient(over, under, float("inf"))
    limit = xp.minimum(xp.abs(half_before), 1.5 * xp.abs(apart) - 0.5 * least)
    shrinks = (xp.abs(half_before) > 0.5 * least) & (xp.abs(state.value) < xp.abs(state.last_value))
    inside = shrinks & (2.0 * xp.abs(move) < limit)
    move = xp.where(inside, move, xp.zeros_like(half)) * (2.0 / _SMALL)
    return xp.where(inside, move, half), xp.where(inside, state.half_step, 0.5 * half)


def _half_width(state: Bracket) -> Array:
    """Return half of the distance of the ends, which itself may overflow."""
    return array_namespace(state.x).abs(0.5 * state.other - 0.5 * state.x)


def _width(state: Bracket, atol: float, rtol: float) -> Array:
    return atol + rtol * array_namespace(state.x).abs(state.x)


def _checked(state: Bracket, atol: float, rtol: float) -> Bracket:
    """Update the status of narrow intervals. At a pole, the function is larger than at the first ends."""
    xp = array_namespace(state.x)
    done = (state.value == 0.0) | (_half_width(state) <= 0.5 * _width(state, atol, rtol))
    is_pole = (xp.abs(state.value) > state.largest) | ~xp.isfinite(state.value)
    ends = done & (state.status == RUNNING)
    return state._replace(status=updated(state.status, (ends, Status.CONVERGED), (ends & is_pole, Status.STAGNATED)))
