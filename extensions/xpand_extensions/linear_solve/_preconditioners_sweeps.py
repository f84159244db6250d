"""Preconditioners of two triangular systems: SSOR, and incomplete factors on the pattern of the matrix."""

from typing import Any

from xpand.extend import Array, Namespace, checks

from .. import sparse
from ._factorization import Factorization
from ._incomplete import incomplete
from ._preconditioners import Preconditioner, diagonal_of, matrix_of, matrix_on_host, on_device, scaled
from ._triangular import triangular


class Triangles(Preconditioner):
    """A lower triangular solution, a product with `scale`, and an upper triangular solution."""

    __slots__ = _trees = ("lower", "scale", "upper")
    lower: Factorization
    scale: Array
    upper: Factorization

    def _shape(self) -> tuple[int, ...]:
        return self.lower.shape[:-1]

    def _applied(self, r: Array, transposed: bool) -> Array:
        if transposed:
            return self.lower.solve_transposed(scaled(self.upper.solve_transposed(r), self.scale))
        return self.upper.solve(scaled(self.lower.solve(r), self.scale))


def ssor(A: Any, /, omega: float = 1.0) -> Triangles:
    """Build the symmetric successive over-relaxation preconditioner: a forward and a backward sweep through the rows.

    Args:
        A: As in `jacobi`.
        omega: The relaxation, above 0 and below 2. 1 is symmetric Gauss-Seidel.

    Raises:
        TypeError: As `jacobi`.
        ValueError: As `jacobi`, or an `omega` out of its range.

    Triangular systems of sparse matrices are solved on the host, see `solve_triangular`.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 10.2.

    >>> import numpy as np
    >>> A = np.asarray([[2.0, -1.0], [-1.0, 2.0]])
    >>> L, D = np.tril(A), np.diag(np.diag(A))
    >>> bool(np.allclose(ssor(A)(L @ np.linalg.inv(D) @ L.T @ np.ones(2)), np.ones(2)))
    True
    """
    xp, A = matrix_of("ssor", A)
    given: Any = omega
    if not isinstance(given, (int, float)) or not 0.0 < given < 2.0:
        raise ValueError(f"ssor: omega must be a number above 0 and below 2, got {omega!r}")
    diagonal = diagonal_of("ssor", A)
    scaled = _off_diagonal_times(xp, A, float(omega))
    lower = triangular(scaled, lower=True, unit_diagonal=False)
    upper = triangular(scaled, lower=False, unit_diagonal=False)
    return Triangles(lower, diagonal * (omega * (2.0 - omega)), upper)


def _off_diagonal_times(xp: Namespace, A: Any, factor: float) -> Any:
    """Multiply the off-diagonal elements by a factor."""
    if isinstance(A, sparse.Sparse):
        coo = sparse.tocoo(A)
        rows, columns = coo.coords
        return coo.with_values(xp.where(rows == columns, coo.values, factor * coo.values))
    here = xp.eye(A.shape[-1], dtype=xp.bool, device=checks.device_of(A))
    return xp.where(here, A, factor * A)


def ilu(A: Any, /) -> Triangles:
    """Build the incomplete LU factorisation without fill-in, ILU(0): triangular factors on the pattern of the matrix.

    Args:
        A: A square matrix of a floating-point data type, with a diagonal: a container, a sparse matrix of a library's
            own, or an array, whose pattern are its nonzero elements.

    Raises:
        TypeError: No matrix, another data type, or abstract values: build it outside of `jit`.
        ValueError: A matrix that isn't square, a batch of several, an element of the diagonal that is missing or zero,
            or a pivot that becomes zero.

    It is built once, on the host. Triangular systems are solved there too, see `solve_triangular`.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 10.3; the factors by sweeps as in Chow, Patel,
    Fine-grained parallel incomplete LU factorization (2015), to their fixed point.

    >>> import numpy as np
    >>> A = np.asarray([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
    >>> bool(np.allclose(ilu(A)(A @ np.asarray([1.0, 2.0, 3.0])), np.asarray([1.0, 2.0, 3.0])))
    True
    """
    return _incomplete("ilu", A, symmetric=False)


def ic(A: Any, /) -> Triangles:
    """Build the incomplete Cholesky factorisation without fill-in, IC(0), of a Hermitian positive definite matrix.

    Args:
        A: As in `ilu`. Only its lower triangle is read.

    Raises:
        TypeError: As `ilu`.
        ValueError: As `ilu`, or a pivot that is not positive: a matrix may be positive definite and have no such
            factors; add to its diagonal for the preconditioner, or use `ssor`.

    >>> import numpy as np
    >>> A = np.asarray([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
    >>> bool(np.allclose(ic(A)(A @ np.asarray([1.0, 2.0, 3.0])), np.asarray([1.0, 2.0, 3.0])))
    True
    """
    return _incomplete("ic", A, symmetric=True)


def _incomplete(function: str, A: Any, *, symmetric: bool) -> Triangles:
    xp, A = matrix_of(function, A)
    host = matrix_on_host(function, A)
    diagonal_of(function, host)
    lower, pivots, upper = incomplete(function, host, symmetric)
    lower, pivots, upper = on_device(xp, A, (lower, 1.0 / pivots, upper))
    first = triangular(lower, lower=True, unit_diagonal=False)
    return Triangles(first, pivots, triangular(upper, lower=False, unit_diagonal=False))
