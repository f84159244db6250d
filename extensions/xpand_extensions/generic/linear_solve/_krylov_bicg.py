"""Biconjugate gradients: plain, stabilised with minimal residuals of any degree, squared (without the transpose), and
smoothed (with quasi-minimal residuals).
"""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array
from xpand_extensions.linear_solve._vectors import conj

from ._krylov_pieces import BROKEN, Method, Step, System, flags, inner, like, norm, ratio, scaled, unit


class _BiCG(NamedTuple):
    x: Array
    r: Array
    s: Array
    p: Array
    q: Array
    rho: Array


def _start_bicg(system: System, x: Array, r: Array, order: int) -> _BiCG:
    z = system.precondition(r)
    return _BiCG(x, r, r, z, system.precondition_adjoint(r), inner(r, z))


def _step_bicg(system: System, state: _BiCG, order: int) -> Step:
    x, r, s, p, q, rho = state
    ap, aq = system.product(p), system.adjoint(q)
    below = inner(q, ap)
    length = ratio(rho, below)
    x, r, s = x + scaled(length, p), r - scaled(length, ap), s - scaled(conj(length), aq)
    z = system.precondition(r)
    new = inner(s, z)
    turn = ratio(new, rho)
    p, q = z + scaled(turn, p), system.precondition_adjoint(s) + scaled(conj(turn), q)
    return Step(_BiCG(x, r, s, p, q, new), norm(r), flags((below == 0) | (new == 0), BROKEN))


class _Stabilised(NamedTuple):
    base: Array
    change: Array
    """The change of `base`, before the preconditioner is applied."""
    shadow: Array
    r: Array
    u: Array
    rho: Array
    alpha: Array
    omega: Array


def _start_stabilised(system: System, x: Array, r: Array, order: int) -> _Stabilised:
    xp = array_namespace(r)
    zeros = xp.zeros_like(r)
    one = xp.ones_like(inner(r, r))
    return _Stabilised(x, zeros, r, r, zeros, one, xp.zeros_like(one), one)


def _step_stabilised(system: System, state: _Stabilised, order: int) -> Step:
    base, change, shadow, r0, u0, rho, alpha, omega = state
    xp = array_namespace(r0)
    # Below this bound the residual consists of rounding errors.
    least = norm(r0) * (4 * float(xp.finfo(r0.dtype).eps))
    rho = -omega * rho
    r, u = [r0], [u0]
    zero, broken = xp.zeros_like(rho), least < 0
    for j in range(order):
        is_left = norm(r[0]) > least
        new = inner(shadow, r[j])
        beta = xp.where(is_left, alpha * ratio(new, rho), zero)
        broken = broken | (is_left & ((rho == 0) | (new == 0)))
        rho = new
        u = [each - scaled(beta, other) for each, other in zip(r, u)]
        u.append(system.product(system.precondition(u[j])))
        below = inner(shadow, u[-1])
        alpha = xp.where(is_left, ratio(rho, below), zero)
        broken = broken | (is_left & (below == 0))
        r = [each - scaled(alpha, other) for each, other in zip(r, u[1:])]
        r.append(system.product(system.precondition(r[j])))
        change = change + scaled(alpha, u[0])
    is_left = norm(r[0]) > least
    weights = [xp.where(is_left, weight, zero) for weight in _least(r, order)]
    omega = weights[-1]
    for j, weight in enumerate(weights):
        u[0] = u[0] - scaled(weight, u[j + 1])
        change = change + scaled(weight, r[j])
        r[0] = r[0] - scaled(weight, r[j + 1])
    found = _Stabilised(base, change, shadow, r[0], u[0], rho, alpha, omega)
    return Step(found, norm(r[0]), flags(broken | ~is_left | (omega == 0), BROKEN))


def _least(r: list[Array], order: int) -> list[Array]:
    """Return the weights of r[1:] that best approximate r[0], by Gram-Schmidt."""
    basis: list[Array] = []
    along: list[Array] = []
    upper: dict[tuple[int, int], Array] = {}
    for j in range(order):
        vector = r[j + 1]
        for i, each in enumerate(basis):
            upper[i, j] = ratio(inner(each, vector), inner(each, each))
            vector = vector - scaled(upper[i, j], each)
        basis.append(vector)
        along.append(ratio(inner(vector, r[0]), inner(vector, vector)))
    weights = list(along)
    for j in reversed(range(order)):
        for i in range(j):
            weights[i] = weights[i] - upper[i, j] * weights[j]
    return weights


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


BICG = Method(_start_bicg, _step_bicg, lambda order: 2)
BICGSTAB = Method(
    _start_stabilised,
    _step_stabilised,
    lambda order: 2 * order,
    lambda system, state, order: state.base + system.precondition(state.change),
)
CGS = Method(lambda system, x, r, order: _Squared(x, r, r, r, r, inner(r, r)), _step_cgs, lambda order: 2)
QMR = Method(_start_qmr, _step_qmr, lambda order: 2)
