"""Biconjugate gradients: squared (without the transpose) and smoothed (with quasi-minimal residuals)."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array
from xpand_extensions.linear_solve._vectors import conj

from ._krylov_pieces import BROKEN, Method, Step, System, flags, inner, like, norm, ratio, scaled, unit


class _Squared(NamedTuple):
    x: Array
    r: Array
    shadow: Array
    u: Array
    p: Array
    rho: Array


def _step_cgs(system: System, state: _Squared, order: int) -> Step:
    x, r, shadow, u, p, rho = state
    v = system.product(system.precondition(p))
    below = inner(shadow, v)
    length = ratio(rho, below)
    q = u - scaled(length, v)
    way = system.precondition(u + q)
    x, r = x + scaled(length, way), r - scaled(length, system.product(way))
    new = inner(shadow, r)
    turn = ratio(new, rho)
    u = r + scaled(turn, q)
    p = u + scaled(turn, q + scaled(turn, p))
    return Step(_Squared(x, r, shadow, u, p, new), norm(r), flags((below == 0) | (new == 0), BROKEN))


class _QMR(NamedTuple):
    """Lanczos' two-sided recursion, `v` and `w`, with its directions `p` and `q`, as coupled two-term recursions."""

    x: Array
    r: Array
    v: Array
    y: Array
    """`v` preconditioned."""
    w: Array
    p: Array
    q: Array
    d: Array
    """The last change of `x`, and A times it."""
    s: Array
    rho: Array
    xi: Array
    """The lengths of `y` and `w`."""
    epsilon: Array
    gamma: Array
    """The cosine of the last rotation, and its tangent."""
    theta: Array
    eta: Array


def _start_qmr(system: System, x: Array, r: Array, order: int) -> _QMR:
    xp = array_namespace(r)
    y = system.precondition(r)
    rho, zeros = norm(y), xp.zeros_like(r)
    zero, one = xp.zeros_like(rho), xp.ones_like(rho)
    nothing = xp.zeros_like(inner(r, r))
    return _QMR(x, r, r, y, r, zeros, zeros, zeros, zeros, rho, norm(r), nothing, one, zero, nothing - 1.0)


def _step_qmr(system: System, state: _QMR, order: int) -> Step:
    x, r, v, y, w, p, q, d, s, rho, xi, epsilon, gamma, theta, eta = state
    xp = array_namespace(r)
    v, y, w = unit(v, rho), unit(y, rho), unit(w, xi)
    delta = inner(w, y)
    back = ratio(delta, epsilon)
    p = y - scaled(like(xi, back) * back, p)
    q = system.precondition_adjoint(w) - scaled(conj(like(rho, back) * back), q)
    ap = system.product(p)
    epsilon = inner(q, ap)
    beta = ratio(epsilon, delta)
    v = ap - scaled(beta, v)
    y = system.precondition(v)
    w = system.adjoint(q) - scaled(conj(beta), w)
    before, rho, xi = rho, norm(y), norm(w)
    tangent = ratio(rho, gamma * xp.abs(beta))
    cosine = 1.0 / xp.sqrt(1.0 + tangent * tangent)
    eta = -ratio(eta * like(before, eta), beta) * like(ratio(cosine, gamma) ** 2, eta)
    weight = like((theta * cosine) ** 2, r)
    d, s = scaled(eta, p) + scaled(weight, d), scaled(eta, ap) + scaled(weight, s)
    x, r = x + d, r - s
    found = _QMR(x, r, v, y, w, p, q, d, s, rho, xi, epsilon, cosine, tangent, eta)
    broken = (delta == 0) | (epsilon == 0) | (rho == 0) | (xi == 0)
    return Step(found, norm(r), flags(broken, BROKEN))


CGS = Method(lambda system, x, r, order: _Squared(x, r, r, r, r, inner(r, r)), _step_cgs, lambda order: 2)
QMR = Method(_start_qmr, _step_qmr, lambda order: 2)
