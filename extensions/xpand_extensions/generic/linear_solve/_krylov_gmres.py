"""Minimal residuals of any square system by a stored basis, restarted or with vectors of earlier cycles."""

from typing import Final, NamedTuple

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, checks
from xpand_extensions import control_flow, linalg
from xpand_extensions._bounds import index_dtype
from xpand_extensions.linear_solve._vectors import conj

from ._krylov_pieces import BROKEN, CONTINUE, RESTART, Method, Step, System, flags, like, norm, ratio, scaled, unit

_IDLE: Final = 0.999


class Gmres(NamedTuple):
    """The state of a cycle."""

    base: Array
    basis: Array
    """Orthonormal vectors, the rows of (..., order + 1, n). Rows not computed yet are zero."""
    last: Array
    """The last of these vectors."""
    turned: Array
    """The rotations so far, as one matrix (..., order + 1, order + 1)."""
    upper: Array
    """The resulting triangle, (..., order, order); the identity for columns that are not computed yet."""
    beta: Array
    number: Array


def _start_gmres(system: System, x: Array, r: Array, order: int) -> Gmres:
    xp, device = array_namespace(r), checks.device_of(r)
    batch = tuple(r.shape[:-1])
    beta = norm(r)
    first = unit(r, beta)
    at = xp.arange(order + 1, dtype=index_dtype(xp, device), device=device) == 0
    basis = xp.where(at[:, None], first[..., None, :], xp.zeros_like(first)[..., None, :])
    turned = xp.broadcast_to(xp.eye(order + 1, dtype=r.dtype, device=device), (*batch, order + 1, order + 1))
    upper = xp.broadcast_to(xp.eye(order, dtype=r.dtype, device=device), (*batch, order, order))
    return Gmres(x, basis, first, turned, upper, beta, xp.astype(xp.zeros_like(beta), xp.int32))


def _step_gmres(system: System, state: Gmres, order: int) -> Step:
    return _extended(state, system.product(system.precondition(state.last)), order)


def _is_at(x: Array, number: Array) -> Array:
    """Return a mask that selects the row with this number in (..., rows, n)."""
    xp, device = array_namespace(x), checks.device_of(x)
    return xp.arange(x.shape[-2], dtype=xp.int32, device=device) == number[..., None]


def _row(x: Array, at: Array) -> Array:
    """Return the row of (..., rows, n) that the mask selects."""
    xp = array_namespace(x)
    # Use `where`, not a product, since a lane that diverges has infinite values.
    return xp.sum(xp.where(at[..., None], x, xp.zeros_like(x)), axis=-2)


def _extended(state: Gmres, w: Array, order: int) -> Step:
    """Extend the basis by the image of its last vector."""
    base, basis, _, turned, upper, beta, number = state
    xp = array_namespace(basis)
    at, after = _is_at(basis, number), _is_at(basis, number + 1)
    zero = xp.zeros_like(turned[..., 0, :])
    # Vectors that are still zero need not be read.
    count = int(xp.max(number)) + 1 if is_concrete(number) and 0 not in number.shape else order + 1
    vectors, column = basis[..., :count, :], zero[..., :count]
    for _ in range(2):  # twice is enough
        along = linalg.matvec(conj(vectors), w)
        w, column = w - _combined(along, vectors), column + along
    column = xp.concat([column, zero[..., count:]], axis=-1)
    height = norm(w)
    column = xp.where(after, like(height, w)[..., None], column)
    last = unit(w, height)
    basis = xp.where(after[..., None], last[..., None, :], basis)
    column = linalg.matvec(turned, column)
    here = xp.sum(xp.where(at, column, zero), axis=-1)
    below = xp.sum(xp.where(after, column, zero), axis=-1)
    length = xp.sqrt(xp.abs(here) ** 2 + xp.abs(below) ** 2)
    c, s = ratio(here, like(length, here)), ratio(below, like(length, here))
    first, second = _row(turned, at), _row(turned, after)
    turned = xp.where(at[..., None], (scaled(conj(c), first) + scaled(conj(s), second))[..., None, :], turned)
    turned = xp.where(after[..., None], (scaled(c, second) - scaled(s, first))[..., None, :], turned)
    column = xp.where(at, like(length, here)[..., None], xp.where(after, zero, column))
    upper = xp.where(at[..., None, :order], column[..., :order, None], upper)
    missing = xp.abs(xp.sum(xp.where(after, turned[..., :, 0], zero), axis=-1)) * beta
    is_last = number + 1 >= order
    is_broken = length == 0
    flag = flags(is_broken, BROKEN) + flags((is_last | (height == 0)) & ~is_broken, RESTART)
    return Step(Gmres(base, basis, last, turned, upper, beta, number + 1), missing, flag)


def _weights(state: Gmres, order: int) -> Array:
    """Return the weights that minimize the residual, for all basis vectors except the last."""
    _, basis, _, turned, upper, beta, number = state
    xp = array_namespace(basis)
    is_there = xp.arange(order, dtype=xp.int32, device=checks.device_of(basis)) < number[..., None]
    right = scaled(like(beta, basis), turned[..., :order, 0])
    right = xp.where(is_there, right, xp.zeros_like(right))
    identity = xp.eye(order, dtype=upper.dtype, device=checks.device_of(upper))
    has_pivot = xp.any((identity != 0) & (upper != 0), axis=-2)
    # Columns without a pivot do not contribute to the solution.
    upper = xp.where(has_pivot[..., None, :], upper, identity)
    right = xp.where(has_pivot, right, xp.zeros_like(right))
    return linalg.triangular_solve(upper, right[..., None], lower=False)[..., 0]


def _combined(weights: Array, rows: Array) -> Array:
    """Return the weighted sum of the rows of (..., rows, n)."""
    return array_namespace(rows).matmul(weights[..., None, :], rows)[..., 0, :]


def _solution_gmres(system: System, state: Gmres, order: int) -> Array:
    return state.base + system.precondition(_combined(_weights(state, order), state.basis[..., :order, :]))


class _Gcrot(NamedTuple):
    """A cycle that stays orthogonal to directions of earlier cycles."""

    cycle: Gmres
    images: Array
    """Orthonormal vectors, the rows of (..., order, n), the newest first. Missing ones are zero."""
    sources: Array
    """Vectors that the system maps to `images`."""
    parts: Array
    """The components along `images` that were subtracted from each vector of this cycle: (..., order, order)."""


def _start_gcrot(system: System, x: Array, r: Array, order: int) -> _Gcrot:
    cycle = _start_gmres(system, x, r, order)
    none = array_namespace(r).zeros_like(cycle.basis[..., :order, :])
    return _Gcrot(cycle, none, none, array_namespace(r).zeros_like(cycle.upper))


def _step_gcrot(system: System, state: _Gcrot, order: int) -> Step:
    cycle, images, _, parts = state
    xp = array_namespace(images)
    w = system.product(system.precondition(cycle.last))
    part = xp.zeros_like(parts[..., 0, :])
    for _ in range(2):  # twice, as for the basis
        along = linalg.matvec(conj(images), w)
        w, part = w - _combined(along, images), part + along
    parts = xp.where(_is_at(parts, cycle.number)[..., None], part[..., None, :], parts)
    found = _extended(cycle, w, order)
    state = state._replace(cycle=found.state, parts=parts)
    ends = found.flag == RESTART
    # Stop after a cycle without progress.
    is_idle = ends & (found.norm > _IDLE * cycle.beta)

    def restart(state: _Gcrot) -> _Gcrot:
        return _next_cycle(system, state, ends, order)

    state = control_flow.cond(xp.any(ends), restart, lambda state: state, state)
    return Step(state, found.norm, xp.where(ends & ~is_idle, flags(ends, CONTINUE), found.flag))


def _change(system: System, state: _Gcrot, order: int) -> Array:
    """Return the change of the solution in a cycle."""
    weights = _weights(state.cycle, order)
    change = system.precondition(_combined(weights, state.cycle.basis[..., :order, :]))
    return change - _combined(_combined(weights, state.parts), state.sources)


def _next_cycle(system: System, state: _Gcrot, ends: Array, order: int) -> _Gcrot:
    """Replace the oldest direction by the change of the solution where a cycle ends, and start the next cycle."""
    cycle, images, sources, _ = state
    xp = array_namespace(images)
    change = _change(system, state, order)
    # The rotations map the old residual to a multiple of a unit vector; `left` is the new residual.
    last = _row(cycle.turned, _is_at(cycle.turned, cycle.number))
    left = _combined(conj(last) * scaled(like(cycle.beta, last), last[..., :1]), cycle.basis)
    image = scaled(like(cycle.beta, left), cycle.basis[..., 0, :]) - left
    size = norm(image)
    inverse = like(ratio(xp.ones_like(size), size), image)
    saved = [
        xp.concat([scaled(inverse, new)[..., None, :], old[..., :-1, :]], axis=-2)
        for new, old in ((image, images), (change, sources))
    ]
    restarted = _start_gmres(system, cycle.base + change, left, order)
    fresh = _Gcrot(restarted, saved[0], saved[1], xp.zeros_like(state.parts))

    def chosen(new: Array, old: Array) -> Array:
        return xp.where(xp.reshape(ends, (*ends.shape, *[1] * (new.ndim - ends.ndim))), new, old)

    found: _Gcrot = trees.map(chosen, fresh, state)
    return found


def _solution_gcrot(system: System, state: _Gcrot, order: int) -> Array:
    return state.cycle.base + _change(system, state, order)


GMRES = Method(_start_gmres, _step_gmres, lambda order: 1, _solution_gmres)
GCROT = Method(_start_gcrot, _step_gcrot, lambda order: 1, _solution_gcrot)
