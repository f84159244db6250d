"""The method of Nelder and Mead (1965), without derivatives: one evaluation of the function per step.

The coefficients are those of Gao and Han (2012), which depend on the number of variables. A step is one of five phases;
a moved vertex is evaluated immediately.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, checks

from ..._solver_status import Status
from ._box import Box
from ._states import first_fields, updated
from ._vectors import eps_of, full_like, is_finite, largest, select, times

_REFLECT: Final = 0
_EXPAND: Final = 1
_OUTSIDE: Final = 2
_INSIDE: Final = 3
_REFRESH: Final = 4
"""The phase that evaluates all vertices except the best, one by one: at the start, and after the simplex has shrunk."""


class Simplex(NamedTuple):
    """The state of the iteration. Vertices are sorted by value, except during the phase that evaluates all."""

    vertices: Array
    """Shape `(*batch, n + 1, n)`."""
    values: Array
    """Shape `(*batch, n + 1)`."""
    phase: Array
    next: Array
    """The index of the next vertex, in the phase that evaluates all."""
    reflected: Array
    reflected_value: Array
    optimality: Array
    tolerance: Array
    reach: Array
    iterations: Array
    function_evaluations: Array
    status: Array

    @property
    def objective(self) -> Array:
        """The least value."""
        return array_namespace(self.values).min(self.values, axis=-1)

    @property
    def x(self) -> Array:
        """The best vertex."""
        return self.vertices[..., 0, :]


def init(evaluate: Callable[[Array], Array], x: Array, box: Box, atol: float, size: float) -> Simplex:
    """Set up the simplex; only its first vertex is evaluated."""
    xp = array_namespace(x)
    n = x.shape[-1]
    x = box.project(x)
    fun = evaluate(x)
    valid = xp.isfinite(fun) & is_finite(x)
    center = select(is_finite(x), x, xp.zeros_like(x))
    edges = xp.where(center != 0.0, size * xp.abs(center), full_like(x, size))
    device = checks.device_of(x)
    unit = xp.eye(n, dtype=x.dtype, device=device)
    forward = center[..., None, :] + edges[..., None, :] * unit
    backward = center[..., None, :] - edges[..., None, :] * unit
    # A vertex out of bounds goes in the opposite direction: projected, it might coincide with the first one.
    others = xp.where(unit > 0.0, _side(box, forward, backward), forward)
    vertices = xp.concat([x[..., None, :], others], axis=-2)
    unknown = xp.zeros_like(vertices[..., 1:, 0])
    values = xp.concat([xp.where(valid, fun, xp.zeros_like(fun))[..., None], unknown], axis=-1)
    infinite = full_like(fun, xp.inf) if n else xp.zeros_like(fun)
    fields = first_fields(x, infinite, full_like(fun, atol), valid, xp.abs(fun))
    one = fields["function_evaluations"]
    return Simplex(
        **fields, vertices=vertices, values=values, phase=_REFRESH * one, next=one, reflected=x, reflected_value=fun
    )


def _side(box: Box, forward: Array, backward: Array) -> Array:
    """Return the forward points, or if they are out of bounds, the backward points, moved within the bounds."""
    xp = array_namespace(forward)
    lower = None if box.lower is None else box.lower[..., None, :]
    upper = None if box.upper is None else box.upper[..., None, :]
    wide = Box(lower, upper)
    return xp.where(wide.project(forward) == forward, forward, wide.project(backward))


def step(evaluate: Callable[[Array], Array], box: Box, state: Simplex) -> Simplex:
    """Evaluate the function at one point, as the phase requires."""
    xp = array_namespace(state.vertices)
    n = state.vertices.shape[-1]
    expansion, contraction, shrinkage = _numbers(max(n, 2))
    phase = state.phase
    center = xp.mean(state.vertices[..., :-1, :], axis=-2)
    worst = state.vertices[..., -1, :]
    away = center - worst
    order = xp.arange(n + 1, dtype=xp.int32, device=checks.device_of(state.vertices))
    is_next = order == state.next[..., None]
    refreshed = xp.sum(xp.where(is_next[..., None], state.vertices, xp.zeros_like(state.vertices)), axis=-2)
    share = xp.zeros_like(state.values[..., 0])
    for number, value in ((_REFLECT, 1.0), (_EXPAND, expansion), (_OUTSIDE, contraction), (_INSIDE, -contraction)):
        share = xp.where(phase == number, full_like(share, value), share)
    x = select(phase == _REFRESH, refreshed, box.project(center + times(share, away)))
    fun = evaluate(x)
    is_unbounded = fun == -xp.inf
    # NaN counts as the worst value: a large number, not infinity, because values are subtracted.
    fun = xp.where(xp.isfinite(fun), fun, full_like(fun, float(xp.finfo(x.dtype).max) / 4.0))

    best, second, last = state.values[..., 0], state.values[..., -2], state.values[..., -1]
    first_try = phase == _REFLECT
    ends_reflect = first_try & (fun >= best) & (fun < second)
    to_expand = first_try & (fun < best)
    to_outside = first_try & (fun >= second) & (fun < last)
    to_inside = first_try & (fun >= last)
    expanded = phase == _EXPAND
    better = expanded & (fun < state.reflected_value)
    outside = (phase == _OUTSIDE) & (fun <= state.reflected_value)
    inside = (phase == _INSIDE) & (fun < last)
    taken = ends_reflect | better | outside | inside
    takes_reflected = expanded & ~better
    shrinks = ((phase == _OUTSIDE) | (phase == _INSIDE)) & ~taken

    new = select(takes_reflected, (state.reflected, state.reflected_value), (x, fun))
    replaced = taken | takes_reflected
    is_last = order == n
    position = (is_last & replaced[..., None]) | (is_next & (phase == _REFRESH)[..., None])
    vertices = xp.where(position[..., None], new[0][..., None, :], state.vertices)
    values = xp.where(position, new[1][..., None], state.values)
    shrunk = vertices[..., :1, :] + shrinkage * (vertices - vertices[..., :1, :])
    vertices = select(shrinks, shrunk, vertices)

    next_index = xp.where(phase == _REFRESH, state.next + 1, xp.ones_like(state.next))
    done = replaced | ((phase == _REFRESH) & (next_index > n))
    sorting = xp.argsort(values, axis=-1, stable=True)
    sorting = xp.where(done[..., None], sorting, xp.astype(order, sorting.dtype))
    values = xp.take_along_axis(values, sorting, axis=-1)
    vertices = xp.take_along_axis(vertices, xp.broadcast_to(sorting[..., None], vertices.shape), axis=-2)

    after = xp.where(done, 0 * phase + _REFLECT, phase)
    chosen = ((to_expand, _EXPAND), (to_outside, _OUTSIDE), (to_inside, _INSIDE), (shrinks, _REFRESH))
    for condition, number in chosen:
        after = xp.where(condition, 0 * phase + number, after)
    optimality = xp.where(done, size_of(vertices, values), state.optimality)
    reached = (xp.abs(values[..., 0]) > state.reach) | (largest(vertices[..., 0, :]) > state.reach)
    converged = done & (optimality <= state.tolerance)
    # The first evaluation of all vertices does not count as an iteration.
    counts = done & (state.function_evaluations > n)
    return state._replace(
        vertices=vertices,
        values=values,
        phase=after,
        next=next_index,
        reflected=select(first_try, x, state.reflected),
        reflected_value=xp.where(first_try, fun, state.reflected_value),
        optimality=optimality,
        iterations=state.iterations + xp.astype(counts, xp.int32),
        function_evaluations=state.function_evaluations + 1,
        status=updated(state.status, ((done & reached) | is_unbounded, Status.DIVERGED), (converged, Status.CONVERGED)),
    )


def _numbers(n: int) -> tuple[float, float, float]:
    return 1.0 + 2.0 / n, 0.75 - 0.5 / n, 1.0 - 1.0 / n


def size_of(vertices: Array, values: Array) -> Array:
    """Return the size of a simplex: the largest distance of vertices, or of their values, from the best.

    Differences of values within rounding errors count as zero.
    """
    xp = array_namespace(vertices)
    extent = xp.max(largest(vertices[..., 1:, :] - vertices[..., :1, :]), axis=-1)
    spread = values[..., -1] - values[..., 0]
    noise = 4.0 * eps_of(xp, values.dtype) * xp.abs(values[..., 0])
    return xp.maximum(extent, xp.where(spread <= noise, xp.zeros_like(spread), spread))
