"""Least squares by bidiagonalisation, for matrices of any shape: LSQR and LSMR."""

from typing import NamedTuple

from xpand import array_namespace
from xpand.extend import Array

from ._krylov_pieces import BROKEN, Method, Step, System, flags, like, norm, ratio, scaled, unit


class _Bidiagonal(NamedTuple):
    """The recursion of Golub and Kahan: A v = beta u plus multiples of earlier vectors."""

    u: Array
    v: Array
    alpha: Array
    size: Array
    """The Frobenius norm of A, estimated."""


def _init(system: System, r: Array) -> tuple[_Bidiagonal, Array]:
    beta = norm(r)
    u = unit(r, beta)
    v = system.adjoint(u)
    alpha = norm(v)
    return _Bidiagonal(u, unit(v, alpha), alpha, alpha), beta


def _advance(system: System, state: _Bidiagonal) -> tuple[_Bidiagonal, Array, Array]:
    """Return the next vectors, `beta`, and A times the last `v`."""
    xp = array_namespace(state.u)
    u, v, alpha, size = state
    av = system.product(v)
    u = av - scaled(like(alpha, av), u)
    beta = norm(u)
    u = unit(u, beta)
    v = system.adjoint(u) - scaled(like(beta, v), v)
    alpha = norm(v)
    return _Bidiagonal(u, unit(v, alpha), alpha, xp.hypot(xp.hypot(size, alpha), beta)), beta, av


class _LSQR(NamedTuple):
    x: Array
    r: Array
    w: Array
    aw: Array
    """A times `w`, except for the last `v`."""
    pair: _Bidiagonal
    phi: Array
    rho: Array


def _start_lsqr(system: System, x: Array, r: Array, order: int) -> _LSQR:
    pair, beta = _init(system, r)
    return _LSQR(x, r, pair.v, array_namespace(r).zeros_like(r), pair, beta, pair.alpha)


def _step_lsqr(system: System, state: _LSQR, order: int) -> Step:
    x, r, w, aw, pair, phi, rho = state
    xp = array_namespace(r)
    pair, beta, av = _advance(system, pair)
    aw = av + aw
    length = xp.sqrt(rho * rho + beta * beta)
    c, s = ratio(rho, length), ratio(beta, length)
    step, turn = ratio(c * phi, length), ratio(s * pair.alpha, length)
    x, r = x + scaled(like(step, x), w), r - scaled(like(step, r), aw)
    w, aw = pair.v - scaled(like(turn, w), w), -scaled(like(turn, aw), aw)
    phi = s * phi
    normal = ratio(phi * pair.alpha * xp.abs(c), pair.size)
    found = _LSQR(x, r, w, aw, pair, phi, -c * pair.alpha)
    return Step(found, norm(r), flags((length == 0) | (pair.alpha == 0) | (beta == 0), BROKEN), normal)


class _LSMR(NamedTuple):
    x: Array
    r: Array
    h: Array
    h_bar: Array
    ah: Array
    ah_bar: Array
    pair: _Bidiagonal
    alpha_bar: Array
    rho: Array
    rho_bar: Array
    c_bar: Array
    s_bar: Array
    zeta_bar: Array


def _start_lsmr(system: System, x: Array, r: Array, order: int) -> _LSMR:
    xp = array_namespace(r)
    pair, beta = _init(system, r)
    one = xp.ones_like(beta)
    zeros, zeros_x = xp.zeros_like(r), xp.zeros_like(x)
    return _LSMR(
        x, r, pair.v, zeros_x, zeros, zeros, pair, pair.alpha, one, one, one, xp.zeros_like(beta), pair.alpha * beta
    )


def _step_lsmr(system: System, state: _LSMR, order: int) -> Step:
    x, r, h, h_bar, ah, ah_bar, pair, alpha_bar, rho, rho_bar, c_bar, s_bar, zeta_bar = state
    xp = array_namespace(r)
    pair, beta, av = _advance(system, pair)
    ah = av + ah
    before, before_bar = rho, rho_bar
    rho = xp.sqrt(alpha_bar * alpha_bar + beta * beta)
    c, s = ratio(alpha_bar, rho), ratio(beta, rho)
    theta, alpha_bar = s * pair.alpha, c * pair.alpha
    theta_bar = s_bar * rho
    rho_bar = xp.sqrt((c_bar * rho) ** 2 + theta * theta)
    c_bar, s_bar = ratio(c_bar * rho, rho_bar), ratio(theta, rho_bar)
    zeta, zeta_bar = c_bar * zeta_bar, -s_bar * zeta_bar
    back = ratio(theta_bar * rho, before * before_bar)
    h_bar, ah_bar = h - scaled(like(back, h), h_bar), ah - scaled(like(back, r), ah_bar)
    step = ratio(zeta, rho * rho_bar)
    x, r = x + scaled(like(step, x), h_bar), r - scaled(like(step, r), ah_bar)
    turn = ratio(theta, rho)
    h, ah = pair.v - scaled(like(turn, h), h), -scaled(like(turn, ah), ah)
    normal = ratio(xp.abs(zeta_bar), pair.size)
    found = _LSMR(x, r, h, h_bar, ah, ah_bar, pair, alpha_bar, rho, rho_bar, c_bar, s_bar, zeta_bar)
    return Step(found, norm(r), flags((rho == 0) | (pair.alpha == 0) | (beta == 0), BROKEN), normal)


LSQR = Method(_start_lsqr, _step_lsqr, lambda order: 2, size=lambda state: state.pair.size)
LSMR = Method(_start_lsmr, _step_lsmr, lambda order: 2, size=lambda state: state.pair.size)
