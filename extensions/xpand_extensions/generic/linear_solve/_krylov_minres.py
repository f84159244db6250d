"""Minimal residuals: by Lanczos' recursion for symmetric systems, by a kept basis for all."""

from typing import NamedTuple

from xpand import _arguments, array_namespace
from xpand._typing import Array
from xpand_extensions import linalg
from xpand_extensions._bounds import index_dtype

from ._krylov_pieces import BROKEN, ROLLED, Method, Step, System, conj, flags, inner, like, norm, ratio, real, scaled


class _Minres(NamedTuple):
    x: Array
    r: Array
    v: Array
    """The vectors of Lanczos' recursion, the last and the one before, and the last preconditioned."""
    w: Array
    z: Array
    d: Array
    """Directions, the last and the one before, and A times these."""
    e: Array
    ad: Array
    ae: Array
    beta: Array
    phi: Array
    c: Array
    """Cosines and sines of the last rotation and of the one before."""
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
    # The column (…, beta, alpha, next_beta) of the tridiagonal matrix, turned by the last two rotations.
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


def _solution_minres(system: System, state: _Minres, order: int) -> Array:
    return state.x


class _Gmres(NamedTuple):
    base: Array
    basis: Array
    """Orthonormal vectors, the rows of (..., order + 1, n); zeros where there are none yet."""
    turned: Array
    """The rotations so far, as one matrix (..., order + 1, order + 1)."""
    upper: Array
    """The triangle that they leave, (..., order, order); the identity where there is no column yet."""
    beta: Array
    number: Array


def _start_gmres(system: System, x: Array, r: Array, order: int) -> _Gmres:
    xp, device = array_namespace(r), _arguments.device_of(r)
    batch = tuple(r.shape[:-1])
    beta = norm(r)
    first = scaled(like(ratio(xp.ones_like(beta), beta), r), r)
    at = xp.arange(order + 1, dtype=index_dtype(xp, device), device=device) == 0
    basis = xp.where(at[:, None], first[..., None, :], xp.zeros_like(first)[..., None, :])
    turned = xp.broadcast_to(xp.eye(order + 1, dtype=r.dtype, device=device), (*batch, order + 1, order + 1))
    upper = xp.broadcast_to(xp.eye(order, dtype=r.dtype, device=device), (*batch, order, order))
    return _Gmres(x, basis, turned, upper, beta, xp.astype(xp.zeros_like(beta), xp.int32))


def _step_gmres(system: System, state: _Gmres, order: int) -> Step:
    base, basis, turned, upper, beta, number = state
    xp, device = array_namespace(basis), _arguments.device_of(basis)
    at = xp.arange(order + 1, dtype=xp.int32, device=device) == number[..., None]
    after = xp.arange(order + 1, dtype=xp.int32, device=device) == number[..., None] + 1
    zero = xp.zeros_like(turned[..., 0, :])
    # `where`, not products: what a member that diverges has become is infinite.
    v = xp.sum(xp.where(at[..., None], basis, xp.zeros_like(basis)), axis=-2)
    w = system.product(system.precondition(v))
    column = zero
    for _ in range(2):  # twice is enough
        along = linalg.matvec(conj(basis), w)
        w = w - xp.matmul(along[..., None, :], basis)[..., 0, :]
        column = column + along
    height = norm(w)
    column = xp.where(after, like(height, w)[..., None], column)
    basis = xp.where(after[..., None], scaled(like(ratio(xp.ones_like(height), height), w), w)[..., None, :], basis)
    column = linalg.matvec(turned, column)
    here = xp.sum(xp.where(at, column, zero), axis=-1)
    below = xp.sum(xp.where(after, column, zero), axis=-1)
    length = xp.sqrt(xp.abs(here) ** 2 + xp.abs(below) ** 2)
    c, s = ratio(here, like(length, here)), ratio(below, like(length, here))
    first = xp.sum(xp.where(at[..., None], turned, xp.zeros_like(turned)), axis=-2)
    second = xp.sum(xp.where(after[..., None], turned, xp.zeros_like(turned)), axis=-2)
    turned = xp.where(at[..., None], (scaled(conj(c), first) + scaled(conj(s), second))[..., None, :], turned)
    turned = xp.where(after[..., None], (scaled(c, second) - scaled(s, first))[..., None, :], turned)
    column = xp.where(at, like(length, here)[..., None], xp.where(after, zero, column))
    upper = xp.where(at[..., None, :order], column[..., :order, None], upper)
    missing = xp.abs(xp.sum(xp.where(after, turned[..., :, 0], zero), axis=-1)) * beta
    is_last = number + 1 >= order
    is_broken = length == 0
    flag = flags(is_broken, BROKEN) + flags((is_last | (height == 0)) & ~is_broken, ROLLED)
    return Step(_Gmres(base, basis, turned, upper, beta, number + 1), missing, flag)


def _solution_gmres(system: System, state: _Gmres, order: int) -> Array:
    base, basis, turned, upper, beta, number = state
    xp = array_namespace(basis)
    is_there = xp.arange(order, dtype=xp.int32, device=_arguments.device_of(basis)) < number[..., None]
    right = scaled(like(beta, basis), turned[..., :order, 0])
    right = xp.where(is_there, right, xp.zeros_like(right))
    identity = xp.eye(order, dtype=upper.dtype, device=_arguments.device_of(upper))
    has_pivot = xp.any((identity != 0) & (upper != 0), axis=-2)
    # A column without a pivot has no part in the solution.
    upper = xp.where(has_pivot[..., None, :], upper, identity)
    right = xp.where(has_pivot, right, xp.zeros_like(right))
    weights = linalg.triangular_solve(upper, right[..., None], lower=False)
    change = xp.matmul(xp.matrix_transpose(weights), basis[..., :order, :])[..., 0, :]
    return base + system.precondition(change)


MINRES = Method(_start_minres, _step_minres, _solution_minres, lambda order: 1)
GMRES = Method(_start_gmres, _step_gmres, _solution_gmres, lambda order: 1)
