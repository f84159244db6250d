"""Rules of factorizations: Cholesky, eigenvalues, QR, singular values, LU; least squares; those of direct solvers.

Eigenvectors and singular vectors are unique up to a factor. As in JAX, this factor changes such that the derivative of
a vector is orthogonal to the vector.
"""

from typing import Any, Final

from xpand import UnsupportedError
from xpand._common.factorizations import EighResult, EigResult, QRResult, SVDResult
from xpand_extensions import linalg
from xpand_extensions.linalg import _lstsq as lstsq

from ..._bounds import index_dtype
from ...extend._derivatives import contribution, joint
from ._derived import Axes
from .fourier import fitted
from .linalg import adjoint, identity
from .products import device_of, is_complex


def _inverse_gaps(xp: Any, differences: Any) -> Any:
    """Return the inverses off the diagonal, with NaN for zeros, and zeros on the diagonal."""
    one = identity(xp, differences, differences.shape[-1])
    instead = xp.where(one == 1, one, xp.full_like(one, float("nan")))
    return 1 / xp.where(differences == 0, instead, differences) - one


def _never_zero(xp: Any, x: Any) -> Any:
    return xp.where(x == 0, xp.full_like(x, float("nan")), x)


# Cholesky


def _cholesky(xp: Any, t: Any, out: Any, x: Any, upper: bool = False) -> Any:
    """Push a tangent through Cholesky factors. Of other matrices than Hermitian ones, use the Hermitian part.

    (I. Murray, arXiv:1602.07527.)
    """
    factor = adjoint(xp, out) if upper else out
    half = linalg.triangular_solve(factor, 0.5 * (t + adjoint(xp, t)), lower=True)
    inner = xp.tril(linalg.triangular_solve(factor, adjoint(xp, half), lower=True))
    change = xp.matmul(factor, inner * (1 - 0.5 * identity(xp, x, x.shape[-1])))
    return adjoint(xp, change) if upper else change


# Eigenvalues


def _eigh(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    (t,), (values, vectors) = tangents, out
    inner = xp.matmul(xp.matmul(adjoint(xp, vectors), 0.5 * (t + adjoint(xp, t))), vectors)
    gaps = _inverse_gaps(xp, values[..., None, :] - values[..., :, None])
    return _real(xp, xp.linalg.diagonal(inner)), xp.matmul(vectors, inner * xp.astype(gaps, x.dtype))


def _real(xp: Any, x: Any) -> Any:
    return xp.real(x) if is_complex(xp, x) else x


def _eig(xp: Any, tangents: Any, out: Any, x: Any) -> Any:
    """Push a tangent through eigenvalues and eigenvectors.

    LAPACK scales each vector to length 1 with a real largest element. This determines the change of the factor.
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
    return xp.linalg.diagonal(inner), change - turn * vectors


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
    # Only the first columns determine the orthogonal factor.
    change, first = _reduced_qr(xp, t[..., :rows], q, r[..., :rows])
    rest = xp.matmul(adjoint(xp, change), x[..., rows:]) + xp.matmul(adjoint(xp, q), t[..., rows:])
    return change, xp.concat([first, rest], axis=-1)


def _reduced_qr(xp: Any, t: Any, q: Any, r: Any) -> tuple[Any, Any]:
    """Push a tangent through factors with a square second factor.

    (S. F. Walter, L. Lehmann, R. Lamour, Optim. Methods Softw. 27 (2012) 597.)
    """
    relative = linalg.triangular_solve(r, t, lower=False, left_side=False)
    inner = xp.matmul(adjoint(xp, q), relative)
    lower = xp.tril(inner, k=-1)
    turn = lower - adjoint(xp, lower)  # skew-Hermitian, like the change of a unitary matrix
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
        angle = xp.imag(xp.linalg.diagonal(inner)) / xp.where(s == 0, xp.ones_like(s), s)
        turn = xp.astype(xp.where(s == 0, xp.zeros_like(s), angle), x.dtype)[..., None, :]
        change_u = change_u + turn * (1j * u)
    # Add the part of the tangent outside of the spans of the vectors.
    if rows > columns:
        change_u = change_u + (of_v - xp.matmul(u, inner)) / _never_zero(xp, row)
    if columns > rows:
        of_u = xp.matmul(adjoint(xp, t), u)
        change_v = change_v + (of_u - xp.matmul(v, other)) / _never_zero(xp, row)
    return change_u, _real(xp, xp.linalg.diagonal(inner)), adjoint(xp, change_v)


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
    t = linalg.triangular_solve(lower, t, lower=True, unit_diagonal=True)
    t = linalg.triangular_solve(upper, t, lower=False, left_side=False)
    return xp.matmul(lower, xp.tril(t, k=-1)) + xp.matmul(xp.triu(t), upper), None


def _completed(xp: Any, x: Any, size: int, start: int) -> Any:
    """Cut or zero-fill matrices to be square, and add ones to the diagonal from a position on."""
    x = fitted(xp, fitted(xp, x, -2, size), -1, size)
    if start >= size:
        return x
    ones = xp.astype(xp.arange(size, dtype=index_dtype(xp, device_of(x)), device=device_of(x)) >= start, x.dtype)
    return x + identity(xp, x, size) * ones


# Least squares


def _least_squares(xp: Any, a: Any, b: Any, rtol: float | None = None) -> Any:
    """Solve by pseudo-inverses. Unlike singular vectors, they have finite derivatives at equal singular values."""
    a, b, finite = lstsq.finite_matrices(xp, a, b)
    if 0 in a.shape[-2:]:
        return lstsq.no_values(xp, a, b, finite)
    tolerance = lstsq.cutoff(xp, a, rtol)
    x, s = xp.matmul(xp.linalg.pinv(a, rtol=tolerance), b), xp.linalg.svdvals(a)
    return lstsq.lstsq_result(xp, a, b, x, s, s > tolerance * s[..., :1], finite)


_FACTORS: Final = {
    "factor_lu": ("matrix", "permutation"),
    "factor_cholesky": ("matrix",),
    "factor_qr": ("matrix", "matrix"),
    "factor_triangular": ("matrix",),
}
_AXES: Final = {"matrix": "...[nn]", "permutation": "...[n]", "condition": "...", "status": "..."}


def _direct(*results: str) -> Axes:
    """Describe the results of a factorization: factors, a condition number and a status."""

    def dtype(namespace: Any, avals: Any, params: Any) -> Any:
        a, base = avals[0], namespace.base
        real = a.dtype
        if is_complex(namespace, a):
            real = base.float64 if float(base.finfo(a.dtype).eps) < 1e-10 else base.float32
        index = index_dtype(base, device_of(a))
        of = {"matrix": a.dtype, "permutation": index, "condition": real, "status": base.int32}
        return tuple([of[each] for each in results])

    return Axes(f"...[nn]->{','.join(_AXES[each] for each in results)}", dtype=dtype)


DERIVATIVES: Final[dict[str, Any]] = {
    "linalg.cholesky": (contribution(_cholesky),),
    "linalg.eig": joint(_eig),
    "linalg.eigh": joint(_eigh),
    "linalg.lu_factor": joint(_lu_factor),
    "linalg.qr": joint(_qr),
    "linalg.svd": joint(_svd),
}

# Derivatives of eigenvalues and singular values need the vectors.
DECOMPOSITIONS: Final[dict[str, Any]] = {
    "linalg.eigvals": lambda xp, x: xp.linalg.eig(x).eigenvalues,
    "linalg.eigvalsh": lambda xp, x: xp.linalg.eigh(x).eigenvalues,
    "linalg.least_squares": _least_squares,
    "linalg.svdvals": lambda xp, x: xp.linalg.svd(x, full_matrices=False).S,
}

CONSTANT: Final[dict[str, str]] = {"linalg.schur_factors": "`linalg.schur` has one"}

RESULTS: Final[dict[str, Any]] = {
    "linalg.eig": EigResult,
    "linalg.eigh": EighResult,
    "linalg.qr": QRResult,
    "linalg.svd": SVDResult,
}


def _qr_sizes(lengths: Any, mode: str = "reduced") -> dict[str, int]:
    return {"k": lengths["m"] if mode == "complete" else min(lengths["m"], lengths["n"])}


def _dtype_of_order(namespace: Any, avals: Any, params: Any) -> Any:
    return index_dtype(namespace.base, device_of(avals[0]))


def _dtype_of_pivoted_qr(namespace: Any, avals: Any, params: Any) -> Any:
    return avals[0].dtype, avals[0].dtype, _dtype_of_order(namespace, avals, params)


def _dtype_of_schur(namespace: Any, avals: Any, params: Any) -> Any:
    base = namespace.base
    return (base.result_type(avals[0].dtype, base.complex64),) * 2


def _svd_sizes(lengths: Any, full_matrices: bool = True) -> dict[str, int]:
    m, n = lengths["m"], lengths["n"]
    return {"k": min(m, n), "i": m if full_matrices else min(m, n), "j": n if full_matrices else min(m, n)}


AXES: Final[dict[str, Axes]] = {
    "linalg.cholesky": Axes("...[nn]->...[nn]"),
    **dict.fromkeys(("linalg.eig", "linalg.eigh"), Axes("...[nn]->...[n],...[nn]")),
    **dict.fromkeys(("linalg.eigvals", "linalg.eigvalsh"), Axes("...[nn]->...[n]")),
    "linalg.expm": Axes("...[nn]->...[nn]"),
    "linalg.lu_factor": Axes(
        "...[mn]->...[mn],...[m]",
        dtype=lambda namespace, avals, params: (avals[0].dtype, _dtype_of_order(namespace, avals, params)),
    ),
    "linalg.column_order": Axes("...[mn]->...[n]", dtype=_dtype_of_order),
    "linalg.pivoted_qr": Axes("...[mn]->...[mk],...[kn],...[n]", sizes=_qr_sizes, dtype=_dtype_of_pivoted_qr),
    "linalg.qr": Axes("...[mn]->...[mk],...[kn]", sizes=_qr_sizes),
    **dict.fromkeys(("linalg.schur", "linalg.schur_factors"), Axes("...[nn]->...[nn],...[nn]", dtype=_dtype_of_schur)),
    "linalg.solve_sylvester": Axes("a:...[mm],b:...[nn],q:...[mn]->...[mn]"),
    "linalg.sqrtm": Axes("...[nn]->...[nn]"),
    "linalg.svd": Axes("...[mn]->...[mi],...[k],...[jn]", sizes=_svd_sizes),
    "linalg.svdvals": Axes("...[mn]->...[k]", sizes=_svd_sizes),
    **{f"linear_solve.{name}": _direct(*factors, "condition", "status") for name, factors in _FACTORS.items()},
}
