"""Schur forms with their derivatives, square roots and Sylvester equations, with the standard alone."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions import autodiff, control_flow, linalg
from xpand_extensions.linalg._spectra import SchurResult, schur_factors as factors_of

from ._functions import identity
from ._schur import adjoint, numbers


def schur(x: Array, /) -> SchurResult:
    xp = array_namespace(x)
    if not xp.isdtype(x.dtype, "complex floating"):
        x = xp.astype(x, xp.result_type(x.dtype, xp.complex64))
    finite = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    triangle, unitary = _schur(xp.where(finite, x, xp.zeros_like(x)))
    nan = xp.full_like(x, float("nan"))
    return SchurResult(xp.where(finite, triangle, nan), xp.where(finite, unitary, nan))


@autodiff.custom_jvp
def _schur(x: Array) -> tuple[Array, Array]:
    triangle, unitary = factors_of.native(x)(x)
    return triangle, unitary


@_schur.defjvp
def _schur_along(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """Push a tangent through both factors.

    The change of the unitary factor is `unitary @ (lower - adjoint(lower))`, with a strictly lower triangle `lower`.
    The strictly lower triangle of `triangle @ lower - lower @ triangle` must be that of the change of the matrix. In
    the basis of the eigenvectors of the triangle, which form an upper triangle, it is the product of each element with
    a difference of eigenvalues.
    """
    (x,), (t,) = primals, tangents
    xp = array_namespace(x)
    triangle, unitary = _schur(x)
    change = xp.matmul(xp.matmul(adjoint(xp, unitary), t), unitary)
    vectors, gaps = _eigenvectors(xp, triangle)
    inside = linalg.triangular_solve(vectors, xp.matmul(xp.tril(change, k=-1), vectors), lower=False)
    inside = xp.tril(inside / gaps, k=-1)
    lower = -linalg.triangular_solve(vectors, xp.matmul(vectors, inside), lower=False, left_side=False)
    lower = xp.tril(lower, k=-1)
    turn = lower - adjoint(xp, lower)
    moved = change + xp.matmul(triangle, turn) - xp.matmul(turn, triangle)
    return (triangle, unitary), (xp.triu(moved), xp.matmul(unitary, turn))


def _eigenvectors(xp: Namespace, triangle: Array) -> tuple[Array, Array]:
    """Return the eigenvectors of upper triangles, with ones on the diagonal, and the differences of eigenvalues.

    The difference of two equal ones is NaN, and 1 on the diagonal.
    """
    one = identity(xp, triangle)
    values = xp.linalg.diagonal(triangle)
    gaps = values[..., :, None] - values[..., None, :]
    gaps = xp.where(one == 1, xp.ones_like(gaps), xp.where(gaps == 0, xp.full_like(gaps, float("nan")), gaps))
    size = triangle.shape[-1]
    number = numbers(xp, triangle)

    def step(k: Any, vectors: Array) -> Array:
        # Row i = n - 1 - k: (t_ii - t_jj) v_ij = -sum of t_il v_lj over l > i.
        row = (size - 1 - k) == number
        chosen = xp.where(row[:, None], xp.triu(triangle, k=1), xp.zeros_like(triangle))
        return vectors - xp.triu(xp.matmul(chosen, vectors) / gaps, k=1)

    vectors: Array = control_flow.fori_loop(0, size, step, xp.broadcast_to(one, tuple(triangle.shape)))
    return vectors, gaps


@autodiff.custom_jvp
def sqrtm(x: Array, /) -> Array:
    return _root(x)


@sqrtm.defjvp
def _sqrtm_along(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    root = sqrtm(x)
    return root, linalg.solve_sylvester(root, root, t)


def _root(x: Array) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return xp.zeros_like(x)
    defined = xp.all(xp.isfinite(x), axis=(-2, -1), keepdims=True)
    triangle, unitary = linalg.schur(xp.where(defined, x, xp.zeros_like(x)))
    values = xp.linalg.diagonal(triangle)
    is_real = not xp.isdtype(x.dtype, "complex floating")
    if is_real:
        # Rounding moves eigenvalues of 0 to either side.
        size = x.shape[-1]
        limit = size * float(xp.finfo(x.dtype).eps) * xp.max(xp.abs(triangle), axis=(-2, -1))[..., None]
        real, imaginary = xp.real(values), xp.imag(values)
        on_the_cut = (real < 0) & (xp.abs(imaginary) <= limit)
        tiny = xp.abs(values) <= limit
        defined = defined & ~xp.any(on_the_cut & ~tiny, axis=-1)[..., None, None]
        values = xp.where(on_the_cut & tiny, xp.zeros_like(values), values)
    roots = xp.sqrt(values)
    number = numbers(xp, x)
    one = identity(xp, triangle)

    def step(j: Any, root: Array) -> Array:
        # Column j above the diagonal: (root of the block before it + r_jj) @ column = column of the triangle.
        here = number == j
        before = number < j
        own = xp.sum(xp.where(here, roots, xp.zeros_like(roots)), axis=-1)[..., None, None]
        matrix = root + own * one
        singular = (xp.linalg.diagonal(matrix) == 0)[..., None]
        matrix = xp.where(singular & (one == 1), xp.ones_like(matrix), matrix)
        column = xp.sum(xp.where(here & before[:, None], triangle, xp.zeros_like(triangle)), axis=-1, keepdims=True)
        column = linalg.triangular_solve(matrix, xp.where(singular, xp.zeros_like(column), column), lower=False)
        column = xp.where(before[:, None], column, xp.where(here[:, None], own, xp.zeros_like(column)))
        return xp.where(here, column, root)

    root = control_flow.fori_loop(0, x.shape[-1], step, xp.zeros_like(triangle))
    result = xp.matmul(xp.matmul(unitary, root), adjoint(xp, unitary))
    result = xp.astype(xp.real(result) if is_real else result, x.dtype)
    return xp.where(defined, result, xp.full_like(result, float("nan")))


def solve_sylvester(a: Array, b: Array, q: Array, /) -> Array:
    xp = array_namespace(a, b, q)
    stack = checks.broadcast(*[tuple(x.shape[:-2]) for x in (a, b, q)])
    q = xp.broadcast_to(q, (*stack, *q.shape[-2:]))
    if 0 in q.shape:
        return xp.zeros_like(q)
    x: Array = autodiff.custom_linear_solve(
        lambda x, a, b: xp.matmul(a, x) + xp.matmul(x, b),
        q,
        solve=_sylvester,
        transpose_solve=lambda q, a, b: _sylvester(q, xp.matrix_transpose(a), xp.matrix_transpose(b)),
        args=(a, b),
    )
    return x


def _sylvester(q: Array, a: Array, b: Array) -> Array:
    """Solve by Schur forms of both matrices, column by column (Bartels and Stewart)."""
    xp = array_namespace(a, b, q)
    (left, u), (right, v) = linalg.schur(a), linalg.schur(b)
    sides = xp.matmul(xp.matmul(adjoint(xp, u), xp.astype(q, left.dtype)), v)
    number, one = numbers(xp, right), identity(xp, left)

    def step(j: Any, x: Array) -> Array:
        here = number == j
        # Of column j of the right triangle, only elements above the diagonal meet columns that are known.
        column = xp.sum(xp.where(here, right, xp.zeros_like(right)), axis=-1, keepdims=True)
        own = xp.sum(xp.where(here[:, None], column, xp.zeros_like(column)), axis=(-2, -1), keepdims=True)
        side = xp.sum(xp.where(here, sides, xp.zeros_like(sides)), axis=-1, keepdims=True) - xp.matmul(x, column)
        return xp.where(here, linalg.triangular_solve(left + own * one, side, lower=False), x)

    x = control_flow.fori_loop(0, b.shape[-1], step, xp.zeros_like(sides))
    x = xp.matmul(xp.matmul(u, x), adjoint(xp, v))
    return x if xp.isdtype(q.dtype, "complex floating") else xp.real(x)
