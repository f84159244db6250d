"""Rules of triangular systems."""

from typing import Any, Final

from xpand_extensions import linalg

from ...extend._derivatives import LINEAR, contribution
from ._derived import Axes, dtypes_of_matrix_function
from .products import is_complex, widened


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


def _lanes(xp: Any, mapped: dict[str, bool], a: Any, b: Any, left_side: bool = True, **options: Any) -> Any:
    of_a, of_b = mapped["a"], mapped["b"]
    ndim_a, ndim_b = a.ndim - of_a, b.ndim - of_b
    is_vector = ndim_b == 1
    if is_vector:
        if not of_b:
            return linalg.triangular_solve(a, b, left_side=left_side, **options)
        b = b[..., None] if left_side else b[..., None, :]
    if not of_a and ndim_a == 2 and ndim_b <= 2:
        # All lanes have the same matrix, so their right-hand sides become columns.
        rows = xp.matrix_transpose(b) if left_side else b
        side = xp.reshape(rows, (-1, rows.shape[-1]))
        side = linalg.triangular_solve(
            a, xp.matrix_transpose(side) if left_side else side, left_side=left_side, **options
        )
        rows = xp.reshape(xp.matrix_transpose(side) if left_side else side, tuple(rows.shape))
        found = xp.matrix_transpose(rows) if left_side else rows
    else:
        ndim = max(ndim_a, ndim_b)
        a, b = widened(xp, a, of_a, ndim), widened(xp, b, of_b, ndim)
        found = linalg.triangular_solve(a, b, left_side=left_side, **options)
    return found if not is_vector else found[..., 0] if left_side else found[..., 0, :]


DERIVATIVES: Final[dict[str, Any]] = {"linalg.triangular_solve": {"a": contribution(_of_matrix), "b": LINEAR}}

TRANSPOSES: Final[dict[str, Any]] = {"linalg.triangular_solve": {"b": _transposed}}

BATCHING: Final[dict[str, Any]] = {"linalg.triangular_solve": _lanes}

REASONS: Final[dict[str, str]] = {
    "linalg.triangular_solve": "right-hand sides of one matrix are columns of another: one solution"
}


def _axes_of_solution(ndims: Any, left_side: bool = True, **options: Any) -> str:
    if ndims["b"] < 2:
        return "a:...[nn],b:[n]->...[n]"
    return "a:...[nn],b:...[n]k->...[n]k" if left_side else "a:...[nn],b:...k[n]->...k[n]"


AXES: Final[dict[str, Axes]] = {
    "linalg.triangular_solve": Axes(
        _axes_of_solution,
        dtype=lambda namespace, avals, params: dtypes_of_matrix_function(namespace, "solve", *avals)[0],
    )
}
