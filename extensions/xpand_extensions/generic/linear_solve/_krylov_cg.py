"""Conjugate gradients, and their adaptive variants."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._krylov_pieces import BROKEN, Method, Select, Step, System, flags, inner, like, ratio, real, scaled, squared


class _Plain(NamedTuple):
    x: Array
    r: Array
    p: Array
    """The direction of the last step."""
    rz: Array
    """The product of residual and preconditioned residual before the last step."""
    rr: Array


def _start(system: System, x: Array, r: Array, order: int) -> _Plain:
    xp, rr = array_namespace(r), squared(r)
    return _Plain(x, r, xp.zeros_like(r), xp.zeros_like(rr), rr)


def _masked_step(system: System, state: _Plain, order: int, select: Select) -> Step:
    # Apply the preconditioner at the beginning, so that a compiled loop contains it once.
    x, r, p, rz, rr = state
    z = system.precondition(r)
    new = real(inner(r, z)) if system.is_preconditioned else rr
    p = select(z + scaled(like(ratio(new, rz), r), p), p)
    q = system.product(p)
    curvature = real(inner(p, q))
    length = like(ratio(new, curvature), r)
    x, r = select(x + scaled(length, p), x), select(r - scaled(length, q), r)
    rr = squared(r)
    broken = flags((curvature == 0) | (new == 0), BROKEN)
    return Step(_Plain(x, r, p, select(new, rz), rr), array_namespace(r).sqrt(rr), broken)


class _Adaptive(NamedTuple):
    x: Array
    r: Array
    p: Array


def _step_adaptive(system: System, state: _Adaptive, order: int) -> Step:
    x, r, p = state
    xp = array_namespace(r)
    q = system.product(p)
    curvature = inner(p, q)
    length = ratio(inner(p, r), curvature)
    x, r = x + scaled(length, p), r - scaled(length, q)
    z = system.precondition(r)
    p = z - scaled(ratio(inner(q, z), curvature), p)
    return Step(_Adaptive(x, r, p), xp.sqrt(squared(r)), flags(curvature == 0, BROKEN))


CG = Method(
    _start,
    lambda system, state, order: _masked_step(system, state, order, lambda new, old: new),
    lambda order: 1,
    masked_step=_masked_step,
)
CG_ADAPTIVE = Method(
    lambda system, x, r, order: _Adaptive(x, r, system.precondition(r)), _step_adaptive, lambda order: 1
)
