"""Rules of factorizations: Cholesky, eigenvalues, QR, singular values, LU; triangular systems, least squares.

Eigenvectors and singular vectors are determined but for a factor each; what the derivatives assume of it is what JAX's
do: its change is such that the vector's is orthogonal to the vector.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from xpand import UnsupportedError
from xpand._arguments import device_of
from xpand_extensions import linalg
from xpand_extensions.generic.linalg import _factorizations as generic

from ..._bounds import index_dtype
from .._core import Aval
from .._derivatives import LINEAR, contribution, joint
from .._matrices import block
from .._rows import applied
from .linalg import adjoint, dtypes_of_matrix_function, identity, matrices, solve_shape, stacked
from .products import is_complex, widened


class EigResult(NamedTuple):
    """What `eig` returns."""

    eigenvalues: Any
    eigenvectors: Any


class EighResult(NamedTuple):
    """What `eigh` returns."""

    eigenvalues: Any
    eigenvectors: Any


class QRResult(NamedTuple):
    """What `qr` returns."""

    Q: Any
    R: Any


class SVDResult(NamedTuple):
    """What `svd` returns."""

    U: Any
    S: Any
    Vh: Any


def _diagonal(xp: Any, x: Any) -> Any:
    return xp.linalg.diagonal(x)


def _inverse_gaps(xp: Any, differences: Any) -> Any:
    """Return inverses off the diagonal, where zeros become NaN; zeros on it."""
    one = identity(xp, differences, differences.shape[-1])
    instead = xp.where(one == 1, one, xp.full_like(one, float("nan")))
    return 1 / xp.where(differences == 0, instead, differences) - one


def _never_zero(xp: Any, x: Any) -> Any:
    return xp.where(x == 0, xp.full_like(x, float("nan")), x)


# Cholesky


def _cholesky(xp: Any, t: Any, out: Any, x: Any, upper: bool = False) -> Any:
    """Push a tangent through factors; of matrices that aren't Hermitian, that of the Hermitian part.

    (I. Murray, arXiv:1602.07527.)
    """
    factor = adjoint(xp, out) if upper else out
    half = _solve(factor, 0.5 * (t + adjoint(xp, t)), lower=True)
    inner = xp.tril(_solve(factor, adjoint(xp, half), lower=True))
    change = xp.matmul(factor, inner * (1 - 0.5 * identity(xp, x, x.shape[-1])))
    return adjoint(xp, change) if upper else change


def _solve(a: Any, b: Any, **options: Any) -> Any:
    return linalg.triangular_solve(a, b, **options)


# Eigenvalues


def _eigh(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    (t,), (values, vectors) = tangents, out
    inner = xp.matmul(xp.matmul(adjoint(xp, vectors), 0.5 * (t + adjoint(xp, t))), vectors)
    gaps = _inverse_gaps(xp, values[..., None, :] - values[..., :, None])
    return _real(xp, _diagonal(xp, inner)), xp.matmul(vectors, inner * xp.astype(gaps, x.dtype))


def _real(xp: Any, x: Any) -> Any:
    return xp.real(x) if is_complex(xp, x) else x


def _eig(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    """Push a tangent through eigenvalues and eigenvectors.

    LAPACK makes each vector one of length 1 whose largest element is real, which says how its factor changes.
    """
    (t,), (values, vectors) = tangents, out
    inner = xp.linalg.solve(vectors, xp.matmul(xp.astype(t, vectors.dtype), vectors))
    gaps = _inverse_gaps(xp, values[..., None, :] - values[..., :, None])
    change = xp.matmul(vectors, inner * gaps)
    size = xp.abs(vectors)
    rows = xp.arange(size.shape[-2], dtype=index_dtype(xp, device_of(x)), device=device_of(x))[:, None]
    is_largest = rows == xp.argmax(size, axis=-2, keepdims=True)
    zeros = xp.zeros_like(vectors)
    largest = xp.real(xp.sum(xp.where(is_largest, vectors, zeros), axis=-2, keepdims=True))
    along = xp.real(xp.sum(change * xp.conj(vectors), axis=-2, keepdims=True))
    across = xp.imag(xp.sum(xp.where(is_largest, change, zeros), axis=-2, keepdims=True)) / largest
    turn = xp.astype(along, vectors.dtype) + 1j * xp.astype(across, vectors.dtype)
    return _diagonal(xp, inner), change - turn * vectors


# QR


def _qr(xp: Any, tangents: Any, out: Any, x: Any, mode: str = "reduced") -> Any:
    (t,), (q, r) = tangents, out
    rows, columns = x.shape[-2:]
    if mode == "complete" and rows > columns:
        raise UnsupportedError(
            f"linalg.qr: the derivative of the complete factor of matrices of shape {(rows, columns)}, with more rows "
            "than columns, isn't determined; use `mode='reduced'`"
        )
    if rows >= columns:
        return _reduced_qr(xp, t, q, r)
    # The first columns alone determine the orthogonal factor.
    change, first = _reduced_qr(xp, t[..., :rows], q, r[..., :rows])
    rest = xp.matmul(adjoint(xp, change), x[..., rows:]) + xp.matmul(adjoint(xp, q), t[..., rows:])
    return change, xp.concat([first, rest], axis=-1)


def _reduced_qr(xp: Any, t: Any, q: Any, r: Any) -> tuple[Any, Any]:
    """Push a tangent through factors, of which the second is square.

    (S. F. Walter, L. Lehmann, R. Lamour, Optim. Methods Softw. 27 (2012) 597.)
    """
    relative = _solve(r, t, lower=False, left_side=False)
    inner = xp.matmul(adjoint(xp, q), relative)
    lower = xp.tril(inner, k=-1)
    turn = lower - adjoint(xp, lower)  # skew-Hermitian, as the change of a unitary matrix is
    if is_complex(xp, q):
        turn = turn + (inner - xp.conj(inner)) * (0.5 * identity(xp, q, q.shape[-1]))
    return xp.matmul(q, turn - inner) + relative, xp.matmul(inner - turn, r)


# Singular values


def _svd(xp: Any, tangents: Any, out: Any, x: Any, full_matrices: bool = True) -> Any:
    """Push a tangent through singular values and vectors.

    (J. Townsend, Differentiating the singular value decomposition, 2016.)
    """
    (t,), (u, s, vh) = tangents, out
    rows, columns = x.shape[-2:]
    if full_matrices and rows != columns:
        raise UnsupportedError(
            f"linalg.svd: the derivative of the full factors of matrices of shape {(rows, columns)}, which aren't "
            "square, isn't determined; use `full_matrices=False`"
        )
    uh, v = adjoint(xp, u), adjoint(xp, vh)
    of_v = xp.matmul(t, v)
    inner = xp.matmul(uh, of_v)
    other = adjoint(xp, inner)
    row, column = s[..., None, :], s[..., :, None]
    gaps = xp.astype(_inverse_gaps(xp, (row - column) * (row + column)), x.dtype)
    row, column = (xp.astype(side, x.dtype) for side in (row, column))
    change_u = xp.matmul(u, (inner * row + other * column) * gaps)
    change_v = xp.matmul(v, (inner * column + other * row) * gaps)
    if is_complex(xp, x):
        angle = xp.imag(_diagonal(xp, inner)) / xp.where(s == 0, xp.ones_like(s), s)
        turn = xp.astype(xp.where(s == 0, xp.zeros_like(s), angle), x.dtype)[..., None, :]
        change_u = change_u + turn * (1j * u)
    # What of the tangent is outside of the spaces of the vectors
    if rows > columns:
        change_u = change_u + (of_v - xp.matmul(u, inner)) / _never_zero(xp, row)
    if columns > rows:
        of_u = xp.matmul(adjoint(xp, t), u)
        change_v = change_v + (of_u - xp.matmul(v, other)) / _never_zero(xp, row)
    return change_u, _real(xp, _diagonal(xp, inner)), adjoint(xp, change_v)


# Triangular systems


def _triangle(
    xp: Any,
    t: Any,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    """Return what a triangular system reads of a matrix."""
    t = xp.tril(t, k=-int(unit_diagonal)) if lower else xp.triu(t, k=int(unit_diagonal))
    t = xp.matrix_transpose(t) if transpose else t
    return xp.conj(t) if conjugate and is_complex(xp, t) else t


def _triangular_matrix(xp: Any, t: Any, out: Any, a: Any, b: Any, left_side: bool = True, **options: Any) -> Any:
    """Push a tangent of the matrix through a solution."""
    t = _triangle(xp, t, **options)
    if left_side:
        change = xp.matmul(t, out[..., None] if b.ndim == 1 else out)
    else:
        change = xp.matmul(out[..., None, :] if b.ndim == 1 else out, t)
    found = _solve(a, -change, left_side=left_side, **options)
    return found if b.ndim > 1 else found[..., 0] if left_side else found[..., 0, :]


def _triangular_transposed(
    xp: Any, ct: Any, a: Any, b: Any, transpose: bool = False, left_side: bool = True, **options: Any
) -> Any:
    is_vector = b.ndim == 1
    if is_vector:
        ct = ct[..., None] if left_side else ct[..., None, :]
    found = _solve(a, ct, transpose=not transpose, left_side=left_side, **options)
    return found if not is_vector else found[..., 0] if left_side else found[..., 0, :]


def _triangular_members(
    xp: Any, mapped: dict[str, bool], a: Any, b: Any, left_side: bool = True, **options: Any
) -> Any:
    of_a, of_b = mapped["a"], mapped["b"]
    ndim_a, ndim_b = a.ndim - of_a, b.ndim - of_b
    is_vector = ndim_b == 1
    if is_vector:
        if not of_b:
            return _solve(a, b, left_side=left_side, **options)
        b = b[..., None] if left_side else b[..., None, :]
    if not of_a and ndim_a == 2 and ndim_b <= 2:
        # One matrix: all right sides are columns of another.
        rows = xp.matrix_transpose(b) if left_side else b
        side = xp.reshape(rows, (-1, rows.shape[-1]))
        side = _solve(a, xp.matrix_transpose(side) if left_side else side, left_side=left_side, **options)
        rows = xp.reshape(xp.matrix_transpose(side) if left_side else side, tuple(rows.shape))
        found = xp.matrix_transpose(rows) if left_side else rows
    else:
        ndim = max(ndim_a, ndim_b)
        a, b = widened(xp, a, of_a, ndim), widened(xp, b, of_b, ndim)
        found = _solve(a, b, left_side=left_side, **options)
    return found if not is_vector else found[..., 0] if left_side else found[..., 0, :]


# LU


def _lu_factor(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    """Push a tangent through both triangles.

    (F. R. de Hoog, R. S. Anderssen, M. A. Lukas, Bull. Aust. Math. Soc. 84 (2011) 253.)
    """
    t, (factors, permutation) = tangents["x"], out
    rows, columns = x.shape[-2:]
    order = xp.broadcast_to(permutation[..., None], tuple(x.shape))
    t = xp.take_along_axis(t, order, axis=-2)
    lower = _completed(xp, xp.tril(factors, k=-1), rows, 0)
    upper = _completed(xp, xp.triu(factors), columns, rows)
    t = _solve(lower, t, lower=True, unit_diagonal=True)
    t = _solve(upper, t, lower=False, left_side=False)
    return xp.matmul(lower, xp.tril(t, k=-1)) + xp.matmul(xp.triu(t), upper), None


def _completed(xp: Any, x: Any, size: int, start: int) -> Any:
    """Cut matrices or fill them with zeros to be square, and add ones to the diagonal from a place on."""
    rows, columns = x.shape[-2:]
    x = x[..., : min(size, rows), : min(size, columns)]
    for axis in (-2, -1):
        missing = size - x.shape[axis]
        if missing > 0:
            shape = [*x.shape[:-2], missing, size] if axis == -2 else [*x.shape[:-1], missing]
            x = xp.concat([x, xp.zeros(tuple(shape), dtype=x.dtype, device=device_of(x))], axis=axis)
    if start >= size:
        return x
    ones = xp.astype(xp.arange(size, dtype=index_dtype(xp, device_of(x)), device=device_of(x)) >= start, x.dtype)
    return x + identity(xp, x, size) * ones


# Least squares


def _lstsq(xp: Any, a: Any, b: Any, rtol: float | None = None) -> Any:
    """Solve by pseudo-inverses: their derivatives are finite where singular values are equal, unlike the vectors'."""
    is_vector = b.ndim == 1
    a, matrix, finite = generic.finite_matrices(xp, a, b[:, None] if is_vector else b)
    if 0 in a.shape[-2:]:
        return generic.no_values(xp, a, matrix, is_vector)
    tolerance = generic.cutoff(xp, a, rtol)
    x, s = xp.matmul(xp.linalg.pinv(a, rtol=tolerance), matrix), xp.linalg.svdvals(a)
    return generic.least_squares(xp, a, matrix, x, s, s > tolerance * s[..., :1], finite, is_vector)


# The logarithm


def _logm(xp: Any, t: Any, out: Any, x: Any) -> Any:
    return applied(xp, "linalg.logm_along", (x, t), {})


def _logm_along(xp: Any, t: Any, out: Any, x: Any, e: Any) -> Any:
    """Push a tangent of the matrix through the derivative along another."""
    size, zeros = x.shape[-1], xp.zeros_like(x)
    t = xp.concat([xp.concat([t, zeros], axis=-1), xp.concat([zeros, t], axis=-1)], axis=-2)
    return applied(xp, "linalg.logm_along", (block(xp, x, e), t), {})[..., :size, size:]


def _logm_along_transposed(xp: Any, ct: Any, x: Any, e: Any) -> Any:
    return applied(xp, "linalg.logm_along", (xp.matrix_transpose(x), ct), {})


def _logm_along_members(xp: Any, mapped: tuple[bool, ...], x: Any, e: Any) -> Any:
    return applied(xp, "linalg.logm_along", xp.broadcast_arrays(x, e), {})


DERIVATIVES: Final[dict[str, Any]] = {
    "linalg.cholesky": (contribution(_cholesky),),
    "linalg.eig": joint(_eig),
    "linalg.eigh": joint(_eigh),
    "linalg.logm": {"x": contribution(_logm)},
    "linalg.logm_along": (contribution(_logm_along), LINEAR),
    "linalg.lu_factor": joint(_lu_factor),
    "linalg.qr": joint(_qr),
    "linalg.svd": joint(_svd),
    "linalg.triangular_solve": {"a": contribution(_triangular_matrix), "b": LINEAR},
}

TRANSPOSES: Final[dict[str, Any]] = {
    "linalg.logm_along": (None, _logm_along_transposed),
    "linalg.triangular_solve": {"b": _triangular_transposed},
}

# The values alone have no vectors, which their derivatives need.
DECOMPOSITIONS: Final[dict[str, Any]] = {
    "linalg.eigvals": lambda xp, x: xp.linalg.eig(x).eigenvalues,
    "linalg.eigvalsh": lambda xp, x: xp.linalg.eigh(x).eigenvalues,
    "linalg.lstsq": _lstsq,
    "linalg.svdvals": lambda xp, x: xp.linalg.svd(x, full_matrices=False).S,
}

RESULTS: Final[dict[str, Any]] = {
    "linalg.eig": EigResult,
    "linalg.eigh": EighResult,
    "linalg.qr": QRResult,
    "linalg.svd": SVDResult,
}


def _facade_members(name: str) -> Callable[..., Any]:
    def rule(xp: Any, mapped: dict[str, bool], x: Any) -> Any:
        return getattr(linalg, name)(x)

    return rule


BATCHING: Final[dict[str, Any]] = {
    **{
        f"linalg.{name}": stacked(name)
        for name in ("cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals")
    },
    **{f"linalg.{name}": _facade_members(name) for name in ("expm", "logm", "lu_factor")},
    "linalg.logm_along": _logm_along_members,
    "linalg.triangular_solve": _triangular_members,
}


def _square(name: str) -> Callable[..., Any]:
    """Make the rule for shapes where every result is square matrices, or a vector for each."""

    def rule(namespace: Any, x: Any, **params: Any) -> Any:
        stack, size, _ = matrices(name, x, square=True)
        dtypes = dtypes_of_matrix_function(namespace, name, x)
        if name.endswith(("vals", "valsh")):
            return Aval((*stack, size), dtypes[0], device_of(x))
        if len(dtypes) == 1:
            return Aval(x.shape, dtypes[0], device_of(x))
        return Aval((*stack, size), dtypes[0], device_of(x)), Aval(x.shape, dtypes[1], device_of(x))

    return rule


def _qr_shape(namespace: Any, x: Any, mode: str = "reduced") -> Any:
    stack, rows, columns = matrices("qr", x)
    between = rows if mode == "complete" else min(rows, columns)
    of_q, of_r = dtypes_of_matrix_function(namespace, "qr", x)
    return Aval((*stack, rows, between), of_q, device_of(x)), Aval((*stack, between, columns), of_r, device_of(x))


def _svd_shape(namespace: Any, x: Any, full_matrices: bool = True) -> Any:
    stack, rows, columns = matrices("svd", x)
    size = min(rows, columns)
    left, right = (rows, columns) if full_matrices else (size, size)
    shapes = (*stack, rows, left), (*stack, size), (*stack, right, columns)
    dtypes = dtypes_of_matrix_function(namespace, "svd", x)
    return tuple(Aval(shape, dtype, device_of(x)) for shape, dtype in zip(shapes, dtypes))


def _svdvals_shape(namespace: Any, x: Any) -> Any:
    return _svd_shape(namespace, x)[1]


def _triangular_shape(namespace: Any, a: Any, b: Any, left_side: bool = True, **options: Any) -> Any:
    # As of systems with any matrices.
    if left_side or b.ndim == 1:
        return solve_shape(namespace, a, b)
    found = solve_shape(namespace, a, Aval((*b.shape[:-2], b.shape[-1], b.shape[-2]), b.dtype, device_of(b)))
    return Aval((*found.shape[:-2], found.shape[-1], found.shape[-2]), found.dtype, device_of(found))


def _lu_factor_shape(namespace: Any, x: Any) -> Any:
    matrices("lu_factor", x)
    integer = index_dtype(namespace.base, device_of(x))
    return x, Aval(x.shape[:-1], integer, device_of(x))


SHAPES: Final[dict[str, Any]] = {
    **{f"linalg.{name}": _square(name) for name in ("cholesky", "eig", "eigh", "eigvals", "eigvalsh")},
    **{f"linalg.{name}": lambda namespace, x: x for name in ("expm", "logm")},
    "linalg.logm_along": lambda namespace, x, e: x,
    "linalg.lu_factor": _lu_factor_shape,
    "linalg.qr": _qr_shape,
    "linalg.svd": _svd_shape,
    "linalg.svdvals": _svdvals_shape,
    "linalg.triangular_solve": _triangular_shape,
}
