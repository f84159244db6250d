"""Conjugate gradients, and their adaptive variants."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._krylov_pieces import BROKEN, Method, Select, Step, System, flags, inner, like, ratio, real, scaled, squared


class _Plain(NamedTuple):
    x: Array
    r: Array
    p: Array
    rz: Array


def _start(system: System, x: Array, r: Array, order: int) -> _Plain:
    z = system.precondition(r)
    return _Plain(x, r, z, real(inner(r, z)))


def _step(system: System, state: _Plain, order: int) -> Step:
    return _masked_step(system, state, order, lambda new, old: new)


def _masked_step(system: System, state: _Plain, order: int, select: Select) -> Step:
    x, r, p, rz = state
    xp = array_namespace(r)
    q = system.product(p)
    curvature = real(inner(p, q))
    length = scaled(like(ratio(rz, curvature), r), p), scaled(like(ratio(rz, curvature), r), q)
    x, r = select(x + length[0], x), select(r - length[1], r)
    z = system.precondition(r)
    rr = squared(r)
    new = real(inner(r, z)) if system.is_preconditioned else rr
    p = select(z + scaled(like(ratio(new, rz), r), p), p)
    return Step(_Plain(x, r, p, select(new, rz)), xp.sqrt(rr), flags((curvature == 0) | (new == 0), BROKEN))


def _start_late(system: System, x: Array, r: Array, order: int) -> _Plain:
    xp = array_namespace(r)
    return _Plain(x, r, xp.zeros_like(r), xp.zeros_like(squared(r)))


def _step_late(system: System, state: _Plain, order: int) -> Step:
    return _masked_step_late(system, state, order, lambda new, old: new)


def _masked_step_late(system: System, state: _Plain, order: int, select: Select) -> Step:
    x, r, p, rz = state
    z = system.precondition(r)
    new = real(inner(r, z))
    p = select(z + scaled(like(ratio(new, rz), r), p), p)
    q = system.product(p)
    curvature = real(inner(p, q))
    length = scaled(like(ratio(new, curvature), r), p), scaled(like(ratio(new, curvature), r), q)
    x, r = select(x + length[0], x), select(r - length[1], r)
    broken = flags((curvature == 0) | (new == 0), BROKEN)
    return Step(_Plain(x, r, p, select(new, rz)), array_namespace(r).sqrt(squared(r)), broken)


class _Adaptive(NamedTuple):
    x: Array
    r: Array
    p: Array


def _start_adaptive(system: System, x: Array, r: Array, order: int) -> _Adaptive:
    return _Adaptive(x, r, system.precondition(r))


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


CG = Method(_start, _step, lambda order: 1, masked_step=_masked_step)
CG_LATE = Method(_start_late, _step_late, lambda order: 1, masked_step=_masked_step_late)
"""The same steps, with the preconditioner at the beginning of each: a compiled loop holds it once and not three times.

The state has the previous direction, and not the next one.
"""
CG_ADAPTIVE = Method(_start_adaptive, _step_adaptive, lambda order: 1)
