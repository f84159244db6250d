"""Methods for symmetric systems: conjugate gradients, their adaptive variant, and minimal residuals."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._krylov_pieces import BROKEN, Method, Select, Step, System, flags, inner, like, norm, ratio, real, scaled, squared


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


class _Minres(NamedTuple):
    x: Array
    r: Array
    v: Array
    """The last two vectors of Lanczos' recursion, and the last one preconditioned."""
    w: Array
    z: Array
    d: Array
    """The last two directions, and A times these."""
    e: Array
    ad: Array
    ae: Array
    beta: Array
    phi: Array
    c: Array
    """Cosines and sines of the last two rotations."""
    s: Array
    c_before: Array
    s_before: Array


def _start_minres(system: System, x: Array, r: Array, order: int) -> _Minres:
    xp = array_namespace(r)
    z = system.precondition(r)
    beta = xp.sqrt(xp.abs(real(inner(r, z))))
    zeros, one, zero = xp.zeros_like(r), xp.ones_like(beta), xp.zeros_like(beta)
    scale = like(ratio(one, beta), r)
    return _Minres(
        x, r, scaled(scale, r), zeros, scaled(scale, z), zeros, zeros, zeros, zeros, zero, beta, one, zero, one, zero
    )


def _step_minres(system: System, state: _Minres, order: int) -> Step:
    x, r, v, w, z, d, e, ad, ae, beta, phi, c, s, c_before, s_before = state
    xp = array_namespace(r)
    q = system.product(z)
    alpha = real(inner(z, q))
    new = q - scaled(like(alpha, r), v) - scaled(like(beta, r), w)
    new_z = system.precondition(new)
    square = real(inner(new, new_z))
    next_beta = xp.sqrt(xp.abs(square))
    # The last two rotations are applied to the column (…, beta, alpha, next_beta) of the tridiagonal matrix.
    far, near = s_before * beta, c_before * beta
    above, diagonal = c * near + s * alpha, c * alpha - s * near
    length = xp.sqrt(diagonal * diagonal + next_beta * next_beta)
    c_new, s_new = ratio(diagonal, length), ratio(next_beta, length)
    inverse = like(ratio(xp.ones_like(length), length), r)
    above, far = like(above, r), like(far, r)
    d_new = scaled(inverse, z - scaled(above, d) - scaled(far, e))
    ad_new = scaled(inverse, q - scaled(above, ad) - scaled(far, ae))
    step = like(c_new * phi, r)
    x, r = x + scaled(step, d_new), r - scaled(step, ad_new)
    shrink = like(ratio(xp.ones_like(next_beta), next_beta), r)
    found = _Minres(
        x, r, scaled(shrink, new), v, scaled(shrink, new_z), d_new, d, ad_new, ad,
        next_beta, -s_new * phi, c_new, s_new, c, s,
    )  # fmt: skip
    return Step(found, norm(r), flags((length == 0) | (next_beta == 0) | (square < 0), BROKEN))


CG = Method(
    _start,
    lambda system, state, order: _masked_step(system, state, order, lambda new, old: new),
    lambda order: 1,
    masked_step=_masked_step,
)
CG_ADAPTIVE = Method(
    lambda system, x, r, order: _Adaptive(x, r, system.precondition(r)), _step_adaptive, lambda order: 1
)
MINRES = Method(_start_minres, _step_minres, lambda order: 1)
