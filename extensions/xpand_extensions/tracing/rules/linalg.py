"""Rules of functions of matrices: determinants, inverses, systems, norms, logarithms, triangular systems.

Derivatives use matrix products and solutions of systems. Both are linear in the tangent, so reverse mode transposes
them.
"""

from collections.abc import Callable
from typing import Any, Final

from xpand import is_concrete
from xpand._common.factorizations import SlogdetResult
from xpand_extensions import autodiff, linalg

from ..._bounds import index_dtype
from ...extend._derivatives import LINEAR, contribution, joint
from .._indexing import applied, block
from ._derived import Axes, dtype_of_result, dtypes_of_matrix_function, lengthened, of_example, same
from .products import conjugate, device_of, is_complex


def adjoint(xp: Any, x: Any) -> Any:
    """Return the adjoint: transpose and conjugate."""
    return conjugate(xp, xp.matrix_transpose(x))


def identity(xp: Any, like: Any, size: int) -> Any:
    """Make an identity matrix with the data type and device of matrices."""
    return xp.eye(size, dtype=like.dtype, device=device_of(like))


# Determinants


def _cofactors(xp: Any, x: Any, det: Any) -> Any:
    """Return the derivatives of determinants in each element: polynomials, also for singular matrices."""
    size = x.shape[-1]
    if size < 2:
        return xp.ones_like(x)
    if size == 2:
        one = identity(xp, x, 2)
        return xp.flip(x, axis=(-2, -1)) * (2 * one - 1)
    if size == 3:
        return xp.linalg.cross(xp.roll(x, -1, axis=-2), xp.roll(x, -2, axis=-2), axis=-1)
    is_singular = (det == 0)[..., None, None]
    of_others = _inverse_transposed(xp, x, is_singular) * det[..., None, None]
    if is_concrete(det) and not bool(xp.any(is_singular)):
        return of_others
    return xp.where(is_singular, _cofactors_of_singular(xp, x, is_singular), of_others)


def _inverse_transposed(xp: Any, x: Any, is_singular: Any) -> Any:
    """Return the transposes of inverses, and arbitrary finite values for singular matrices."""
    return xp.matrix_transpose(xp.linalg.inv(xp.where(is_singular, identity(xp, x, x.shape[-1]), x)))


def _cofactors_of_singular(xp: Any, x: Any, is_singular: Any) -> Any:
    """Return cofactors of matrices that lack one or two ranks, with derivatives. Those of others are zero.

    Singular vectors are constants: with them, `y` is diagonal at this point. Where singular values are missing, its
    determinant is that of the Schur complement, times that of the rest.
    """
    size = x.shape[-1]
    one = identity(xp, x, size)
    # Replace regular matrices by one with different singular values.
    number = xp.arange(1, size + 1, dtype=index_dtype(xp, device_of(x)), device=device_of(x))
    x = xp.where(is_singular, x, xp.astype(number, x.dtype) * one)
    u, s, vh = xp.linalg.svd(autodiff.stop_gradient(x))
    y = xp.matmul(adjoint(xp, u), xp.matmul(x, adjoint(xp, vh)))
    missing = (s <= size * float(xp.finfo(s.dtype).eps) * s[..., :1]) | (number == size)
    across, along = missing[..., :, None], missing[..., None, :]
    nothing = xp.zeros_like(y)
    core = xp.where(~across & ~along, y, one)
    inverse = xp.linalg.inv(core)
    below = xp.matmul(xp.where(across & ~along, y, nothing), inverse)
    right = xp.where(~across & along, y, nothing)
    rest = xp.where(across & along, y, nothing) - xp.matmul(below, right)
    right = xp.matmul(inverse, right)
    # The determinant of one or two rows, and its derivative.
    only = xp.where(along, one, nothing)
    count = xp.sum(xp.astype(missing, index_dtype(xp, device_of(x))), axis=-1)[..., None, None]
    total = xp.linalg.trace(rest)[..., None, None]
    squares = xp.linalg.trace(xp.matmul(rest, rest))[..., None, None]
    value = xp.where(count == 1, total, 0.5 * (total * total - squares))
    slope = xp.where(count == 1, only, total * only - xp.matrix_transpose(rest))
    of_missing = xp.matmul(only - xp.matrix_transpose(below), xp.matmul(slope, only - xp.matrix_transpose(right)))
    of_core = xp.where(~across & ~along, xp.matrix_transpose(inverse), nothing)
    scale = (xp.linalg.det(u) * xp.linalg.det(vh))[..., None, None] * xp.linalg.det(core)[..., None, None]
    cofactors = scale * xp.where(count <= 2, value * of_core + of_missing, nothing)
    return xp.matmul(conjugate(xp, u), xp.matmul(cofactors, conjugate(xp, vh)))


def _slogdet(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    (t,), (sign, _) = tangents, out
    is_singular = sign == 0
    change = xp.sum(t * _inverse_transposed(xp, x, is_singular[..., None, None]), axis=(-2, -1))
    if not is_complex(xp, x):
        return None, change * xp.where(is_singular, xp.full_like(sign, float("nan")), xp.ones_like(sign))
    real = xp.real(sign)
    valid = xp.where(is_singular, xp.full_like(real, float("nan")), xp.ones_like(real))
    return xp.astype(xp.imag(change) * valid, x.dtype) * (1j * sign), xp.real(change) * valid


# Inverses and systems


def _pinv(xp: Any, t: Any, out: Any, x: Any, rtol: Any = None) -> Any:
    """Push a tangent through pseudo-inverses of constant rank.

    (G. H. Golub, V. Pereyra, SIAM J. Numer. Anal. 10 (1973) 413.)
    """
    rows, columns = x.shape[-2:]
    change = -xp.matmul(xp.matmul(out, t), out)
    h, outh = adjoint(xp, t), adjoint(xp, out)
    outside = identity(xp, x, rows) - xp.matmul(x, out)
    change = change + xp.matmul(xp.matmul(out, outh), xp.matmul(h, outside))
    outside = identity(xp, x, columns) - xp.matmul(out, x)
    change = change + xp.matmul(xp.matmul(outside, h), xp.matmul(outh, out))
    if rtol is None or (isinstance(rtol, float) and rtol < 100 * max(rows, columns) * float(xp.finfo(x.dtype).eps)):
        return change  # only singular values of the size of rounding errors are discarded
    return change + _of_discarded(xp, t, x, rtol)


def _of_discarded(xp: Any, t: Any, x: Any, rtol: Any) -> Any:
    """Return the part of the derivative of pseudo-inverses that depends on the discarded singular values.

    (The derivative of a generalized matrix function: V. Noferini, SIAM J. Matrix Anal. Appl. 38 (2017) 434.)
    """
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    is_large = s > (rtol if isinstance(rtol, float) else rtol[..., None]) * s[..., :1]
    pairs = is_large[..., :, None] & ~is_large[..., None, :]
    one = xp.ones_like(s)
    large = xp.astype(xp.where(is_large, s, one)[..., :, None], x.dtype)
    small = xp.astype(xp.where(is_large, xp.zeros_like(s), s)[..., None, :], x.dtype)
    gaps = xp.where(pairs, large**2 - small**2, xp.ones_like(large * small))

    def mixed(m: Any) -> Any:
        parts = (m * large + adjoint(xp, m) * small) / gaps - m / large
        return xp.where(pairs, parts / large, xp.zeros_like(m))

    m = xp.matmul(adjoint(xp, u), xp.matmul(t, adjoint(xp, vh)))
    both = adjoint(xp, mixed(m)) + mixed(adjoint(xp, m))
    return xp.matmul(adjoint(xp, vh), xp.matmul(both, adjoint(xp, u)))


def _solve_matrix(xp: Any, t: Any, out: Any, x1: Any, x2: Any) -> Any:
    if x2.ndim == 1:
        return -xp.linalg.solve(x1, xp.matmul(t, out[..., None]))[..., 0]
    return -xp.linalg.solve(x1, xp.matmul(t, out))


def _solve_transposed(xp: Any, ct: Any, x1: Any, x2: Any) -> Any:
    x1 = xp.matrix_transpose(x1)
    return xp.linalg.solve(x1, ct[..., None])[..., 0] if x2.ndim == 1 else xp.linalg.solve(x1, ct)


def _matrix_power(xp: Any, x: Any, n: int) -> Any:
    """Compute a power by repeated squaring."""
    if n == 0:
        return xp.broadcast_to(identity(xp, x, x.shape[-1]), tuple(x.shape))
    if n < 0:
        x, n = xp.linalg.inv(x), -n
    found = None
    while n:
        if n & 1:
            found = x if found is None else xp.matmul(found, x)
        n >>= 1
        x = xp.matmul(x, x) if n else x
    return found


# Diagonals


def _diagonal_transposed(xp: Any, ct: Any, x: Any, offset: int = 0) -> Any:
    rows, columns = x.shape[-2:]
    size, before = ct.shape[-1], max(-offset, 0)
    parts = [ct]
    for at, length in ((0, before), (2, rows - before - size)):
        if length > 0:
            zeros = xp.zeros((*ct.shape[:-1], length), dtype=ct.dtype, device=device_of(ct))
            parts.insert(at, zeros)
    ct = xp.concat(parts, axis=-1) if len(parts) > 1 else ct
    is_it = xp.eye(rows, columns, k=offset, dtype=ct.dtype, device=device_of(ct)) == 1
    column = ct[..., :rows, None]
    return xp.where(is_it, column, xp.zeros_like(column))


# Norms


def _vector_norm(xp: Any, x: Any, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    options = {"axis": axis, "keepdims": keepdims}
    if ord == 2:
        squares = xp.real(x) ** 2 + xp.imag(x) ** 2 if is_complex(xp, x) else x * x
        return _root(xp, xp.sum(squares, **options), 2)
    size = xp.abs(x)
    if ord == float("inf"):
        return xp.max(size, **options)
    if ord == -float("inf"):
        return xp.min(size, **options)
    if ord == 1:
        return xp.sum(size, **options)
    if ord == 0:
        return xp.sum(xp.astype(size != 0, size.dtype), **options)
    return _root(xp, xp.sum(size**ord, **options), ord)


def _root(xp: Any, total: Any, ord: float) -> Any:
    """Compute a root with the derivative 0 at 0, for norms of zeros. JAX's derivative is NaN."""
    zero = total == 0
    total = xp.where(zero, xp.ones_like(total), total)
    return xp.where(zero, xp.zeros_like(total), xp.sqrt(total) if ord == 2 else total ** (1.0 / ord))


def _matrix_norm(xp: Any, x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    if ord == "fro":
        return xp.linalg.vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord in ("nuc", 2, -2):
        s = xp.linalg.svdvals(x)
        s = xp.sum(s, axis=-1) if ord == "nuc" else xp.max(s, axis=-1) if ord == 2 else xp.min(s, axis=-1)
        return s[..., None, None] if keepdims else s
    summed, left = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = xp.sum(xp.abs(x), axis=summed, keepdims=True)
    found = (xp.max if ord > 0 else xp.min)(sums, axis=left, keepdims=True)
    return found if keepdims else found[..., 0, 0]


def _further_along(xp: Any, t: Any, out: Any, x: Any, e: Any) -> Any:
    """Push a tangent of the matrix through the derivative along another matrix."""
    size, zeros = x.shape[-1], xp.zeros_like(x)
    t = xp.concat([xp.concat([t, zeros], axis=-1), xp.concat([zeros, t], axis=-1)], axis=-2)
    return applied(xp, "linalg.logm_along", (block(xp, x, e), t), {})[..., :size, size:]


def _triangle(
    xp: Any, t: Any, lower: bool = True, transpose: bool = False, conjugate: bool = False, unit_diagonal: bool = False
) -> Any:
    """Return the triangle of a matrix that the system reads."""
    t = xp.tril(t, k=-int(unit_diagonal)) if lower else xp.triu(t, k=int(unit_diagonal))
    t = xp.matrix_transpose(t) if transpose else t
    return xp.conj(t) if conjugate and is_complex(xp, t) else t


def _of_matrix(xp: Any, t: Any, out: Any, a: Any, b: Any, left_side: bool = True, **options: Any) -> Any:
    """Push a tangent of the matrix through a solution."""
    t = _triangle(xp, t, **options)
    if left_side:
        change = xp.matmul(t, out[..., None] if b.ndim == 1 else out)
    else:
        change = xp.matmul(out[..., None, :] if b.ndim == 1 else out, t)
    found = linalg.triangular_solve(a, -change, left_side=left_side, **options)
    return found if b.ndim > 1 else found[..., 0] if left_side else found[..., 0, :]


def _transposed(
    xp: Any, ct: Any, a: Any, b: Any, transpose: bool = False, left_side: bool = True, **options: Any
) -> Any:
    is_vector = b.ndim == 1
    if is_vector:
        ct = ct[..., None] if left_side else ct[..., None, :]
    found = linalg.triangular_solve(a, ct, transpose=not transpose, left_side=left_side, **options)
    return found if not is_vector else found[..., 0] if left_side else found[..., 0, :]


def _axes_of_solution(ndims: Any, left_side: bool = True, **options: Any) -> str:
    if ndims["b"] < 2:
        return "a:...[nn],b:[n]->...[n]"
    return "a:...[nn],b:...[n]k->...[n]k" if left_side else "a:...[nn],b:...k[n]->...k[n]"


DERIVATIVES: Final[dict[str, Any]] = {
    "linalg.det": (contribution(lambda xp, t, out, x: xp.sum(t * _cofactors(xp, x, out), axis=(-2, -1))),),
    "linalg.diagonal": (LINEAR,),
    "linalg.inv": (contribution(lambda xp, t, out, x: -xp.matmul(xp.matmul(out, t), out)),),
    "linalg.pinv": (contribution(_pinv), None),
    "linalg.slogdet": joint(_slogdet),
    "linalg.solve": (contribution(_solve_matrix), LINEAR),
    "linalg.trace": (LINEAR,),
    "linalg.logm": {"x": contribution(lambda xp, t, out, x: applied(xp, "linalg.logm_along", (x, t), {}))},
    "linalg.logm_along": (contribution(_further_along), LINEAR),
    "linalg.triangular_solve": {"a": contribution(_of_matrix), "b": LINEAR},
}

TRANSPOSES: Final[dict[str, Any]] = {
    "linalg.diagonal": (_diagonal_transposed,),
    "linalg.solve": (None, _solve_transposed),
    "linalg.trace": (
        lambda xp, ct, x, offset=0, dtype=None: (
            ct[..., None, None] * xp.eye(*x.shape[-2:], k=offset, dtype=ct.dtype, device=device_of(ct))
        ),
    ),
    "linalg.logm_along": (
        None,
        lambda xp, ct, x, e: applied(xp, "linalg.logm_along", (xp.matrix_transpose(x), ct), {}),
    ),
    "linalg.triangular_solve": {"b": _transposed},
}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "linalg.matrix_norm": _matrix_norm,
    "linalg.matrix_power": _matrix_power,
    "linalg.vector_norm": _vector_norm,
}

RESULTS: Final[dict[str, Any]] = {"linalg.slogdet": SlogdetResult}

CONSTANT: Final[dict[str, str]] = {"linalg.matrix_rank": "its result is a number of directions"}


def _lanes_of_systems(
    xp: Any, solve: Callable[[Any, Any], Any], mapped: tuple[bool, bool], matrices: Any, sides: Any
) -> Any:
    """Solve the systems of all lanes. `solve` takes stacks of matrices, and of matrices of right-hand sides."""
    (own_matrix, own_side), ndims = mapped, (matrices.ndim - mapped[0], sides.ndim - mapped[1])
    if not own_matrix and ndims[0] == 2 and ndims[1] <= 2:
        # All lanes have the same matrix, so their right-hand sides become columns: one factorization.
        columns = xp.moveaxis(sides, 0, -1)
        found = solve(matrices, xp.reshape(columns, (columns.shape[0], -1)))
        return xp.moveaxis(xp.reshape(found, tuple(columns.shape)), -1, 0)
    is_vector, ndim = ndims[1] == 1, max(ndims)
    sides = sides[..., None] if is_vector else sides
    found = solve(lengthened(xp, matrices, own_matrix, ndim), lengthened(xp, sides, own_side, ndim))
    return found[..., 0] if is_vector else found


def _triangular_lanes(xp: Any, mapped: dict[str, bool], a: Any, b: Any, left_side: bool = True, **options: Any) -> Any:
    turned = (lambda x: x) if left_side else xp.matrix_transpose
    solve = lambda a, b: turned(linalg.triangular_solve(a, turned(b), left_side=left_side, **options))
    found = _lanes_of_systems(xp, solve, (mapped["a"], mapped["b"]), a, turned(b) if b.ndim - mapped["b"] > 1 else b)
    return turned(found) if b.ndim - mapped["b"] > 1 else found


BATCHING: Final[dict[str, Any]] = {
    "linalg.solve": lambda xp, mapped, x1, x2: _lanes_of_systems(xp, xp.linalg.solve, mapped, x1, x2),
    "linalg.triangular_solve": _triangular_lanes,
}


def _dtype_of_norm(namespace: Any, avals: Any, params: Any) -> Any:
    return dtype_of_result(namespace, "linalg.vector_norm", tuple(avals), {})


AXES: Final[dict[str, Axes]] = {
    "linalg.det": Axes("...[nn]->..."),
    "linalg.diagonal": Axes(
        "...[mn]->...[k]",
        sizes=lambda lengths, offset=0: {
            "k": max(min(lengths["m"] + min(offset, 0), lengths["n"] - max(offset, 0)), 0)
        },
        dtype=same,
    ),
    "linalg.inv": Axes("...[nn]->...[nn]"),
    "linalg.matrix_norm": Axes("...[mn]->...", dtype=_dtype_of_norm),
    "linalg.matrix_power": Axes(
        "...[nn]->...[nn]",
        dtype=lambda namespace, avals, params: dtypes_of_matrix_function(namespace, "inv", avals[0])[0],
    ),
    # NumPy does not broadcast tolerances.
    "linalg.matrix_rank": Axes("...[mn],...->...", same_shape=True),
    "linalg.pinv": Axes("...[mn],...->...[nm]", same_shape=True),
    "linalg.slogdet": Axes("...[nn]->...,..."),
    "linalg.solve": Axes(lambda ndims: "...[nn],[n]->...[n]" if ndims[1] < 2 else "...[nn],...[n]k->...[n]k"),
    "linalg.trace": Axes("...[mn]->...", dtype=of_example("sum")),
    "linalg.vector_norm": Axes("...[(axis)]->...", dtype=_dtype_of_norm),
    "linalg.logm": Axes("...[nn]->...[nn]"),
    "linalg.logm_along": Axes("...[nn],...[nn]->...[nn]", same_shape=True),
    "linalg.tridiagonal_solve": Axes(
        lambda ndims: f"dl:...[n],d:...[n],du:...[n],b:{'[n]->...[n]' if ndims['b'] < 2 else '...[n]k->...[n]k'}"
    ),
    "linalg.triangular_solve": Axes(
        _axes_of_solution,
        dtype=lambda namespace, avals, params: dtypes_of_matrix_function(namespace, "solve", *avals)[0],
    ),
}
