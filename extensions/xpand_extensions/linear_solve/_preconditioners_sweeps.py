"""Preconditioners that solve two triangular systems: SSOR, and incomplete factors on the pattern of the matrix."""

from typing import Any, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, LibraryArray, Namespace, checks

from .. import scatter, sparse
from ..sparse._products import csr_rows
from ._factorization import Factorization
from ._preconditioners import Preconditioner, diagonal_of, matrix_of, matrix_on_host, on_device, scaled
from ._triangular import triangular

_MOST_SWEEPS = 200
_ROUNDING = 4.0


class _Pattern(NamedTuple):
    """The positions of entries, and the products of pairs of entries that elimination subtracts."""

    rows: LibraryArray
    columns: LibraryArray
    diagonal: LibraryArray
    """The index of the diagonal entry of each row."""
    left: LibraryArray
    right: LibraryArray
    target: LibraryArray
    """For each product, the indices of its factors `left` and `right`, and of the entry that it is subtracted from."""


def incomplete(function: str, a: sparse.CSR, symmetric: bool) -> tuple[sparse.COO, LibraryArray, sparse.COO]:
    """Return the factors of `L diag(pivots) U`, with ones on the diagonals of `L` and `U`.

    Raises:
        ValueError: A pivot is zero or not finite, or not positive for a symmetric matrix.
    """
    xp = array_namespace(a.values)
    pattern = _pattern(xp, a)
    values = _symmetric(xp, a, pattern) if symmetric else a.values
    found = _fixed_point(xp, values, pattern)
    if found is None:
        found = _by_rows(xp, values, pattern)
    pivots = xp.take(found, pattern.diagonal)
    good = xp.isfinite(pivots) & (pivots != 0)
    if symmetric:
        good = good & (xp.real(pivots + 0j) > 0)
    if not bool(xp.all(good)):
        row = int(xp.argmin(xp.astype(good, xp.int8)))
        raise ValueError(
            f"{function}: the pivot of row {row} is {pivots[row]}, which no factor can be divided by; add to the "
            "diagonal of A for the preconditioner, reorder its rows, or use `ssor` or `multilevel`"
        )
    below, above = pattern.rows > pattern.columns, pattern.rows < pattern.columns
    lower = _unit(xp, a, found[below], pattern.rows[below], pattern.columns[below])
    if symmetric:
        values = found[below] if not xp.isdtype(found.dtype, "complex floating") else xp.conj(found[below])
        return lower, pivots, _unit(xp, a, values, pattern.columns[below], pattern.rows[below])
    over = found[above] / xp.take(pivots, pattern.rows[above])
    return lower, pivots, _unit(xp, a, over, pattern.rows[above], pattern.columns[above])


def _unit(xp: Namespace, a: sparse.CSR, values: LibraryArray, rows: LibraryArray, columns: LibraryArray) -> sparse.COO:
    """Return a triangle with ones on its diagonal."""
    positions = xp.arange(a.shape[0], dtype=rows.dtype)
    coords = xp.concat([rows, positions]), xp.concat([columns, positions])
    return sparse.COO(xp.concat([values, xp.ones(a.shape[0], dtype=values.dtype)]), coords, a.shape, check=False)


def _pattern(xp: Namespace, a: sparse.CSR) -> _Pattern:
    size = a.shape[0]
    rows = xp.astype(csr_rows(a.indptr, nse=a.nse), xp.int64)
    columns, starts = xp.astype(a.indices, xp.int64), xp.astype(a.indptr, xp.int64)
    keys = rows * size + columns
    diagonal = xp.searchsorted(keys, xp.arange(size, dtype=xp.int64) * (size + 1))
    # Pair each entry (i, k) below the diagonal with the entries (k, j) above the diagonal.
    (below,) = xp.nonzero(rows > columns)
    row = xp.take(columns, below)
    first = xp.take(diagonal, row) + 1
    counts = xp.take(starts, row + 1) - first
    left = xp.repeat(below, counts)
    ends = xp.cumulative_sum(counts)
    total = int(ends[-1]) if counts.shape[0] else 0
    right = xp.arange(total, dtype=xp.int64) + xp.repeat(first - (ends - counts), counts)
    position, in_pattern = _found(xp, keys, xp.take(rows, left) * size + xp.take(columns, right))
    return _Pattern(rows, columns, diagonal, left[in_pattern], right[in_pattern], position[in_pattern])


def _found(xp: Namespace, keys: LibraryArray, wanted: LibraryArray) -> tuple[LibraryArray, LibraryArray]:
    """Return the positions of numbers among sorted keys, and which numbers were found."""
    position = xp.minimum(xp.searchsorted(keys, wanted), xp.asarray(max(keys.shape[0] - 1, 0), dtype=xp.int64))
    return position, xp.take(keys, position) == wanted if keys.shape[0] else wanted < 0


def _symmetric(xp: Namespace, a: sparse.CSR, pattern: _Pattern) -> LibraryArray:
    """Return the values after copying the lower triangle to the upper one."""
    size = a.shape[0]
    keys = pattern.rows * size + pattern.columns
    mirrored = pattern.columns * size + pattern.rows
    position, there = _found(xp, keys, mirrored)
    other = xp.where(there, xp.take(a.values, position), xp.zeros_like(a.values))
    other = xp.conj(other) if xp.isdtype(other.dtype, "complex floating") else other
    return xp.where(pattern.rows >= pattern.columns, a.values, other)


def _fixed_point(xp: Namespace, values: LibraryArray, pattern: _Pattern) -> LibraryArray | None:
    """Iterate the equations of the factors to a fixed point; None if the iteration does not converge."""
    below = pattern.rows > pattern.columns
    pivot_of = xp.take(pattern.diagonal, pattern.columns)
    one = xp.ones_like(values)
    real = xp.abs(values)
    bound = _ROUNDING * float(xp.finfo(values.dtype).eps)
    found = xp.where(below, values / _safe(xp, xp.take(values, pivot_of)), values)
    for _ in range(_MOST_SWEEPS):
        products = xp.take(found, pattern.left) * xp.take(found, pattern.right)
        sums = scatter.segment_sum(products, pattern.target, num_segments=values.shape[0])
        divisor = xp.where(below, _safe(xp, xp.take(found, pivot_of)), one)
        after = (values - sums) / divisor
        change = xp.abs(after - found) * xp.abs(divisor)
        if not bool(xp.all(xp.isfinite(change))):
            return None
        found = after
        if bool(xp.all(change <= bound * (real + xp.abs(sums)))):
            return found
    return None


def _safe(xp: Namespace, pivots: LibraryArray) -> LibraryArray:
    return xp.where(pivots == 0, xp.ones_like(pivots), pivots)


def _by_rows(xp: Namespace, values: LibraryArray, pattern: _Pattern) -> LibraryArray:
    """Eliminate row by row."""
    found = [complex(x) if xp.isdtype(values.dtype, "complex floating") else float(x) for x in values]
    rows = [int(x) for x in pattern.rows]
    columns = [int(x) for x in pattern.columns]
    diagonal = [int(x) for x in pattern.diagonal]
    products: dict[int, list[tuple[int, int]]] = {}
    for left, right, target in zip(pattern.left, pattern.right, pattern.target):
        products.setdefault(int(target), []).append((int(left), int(right)))
    for position, (row, column) in enumerate(zip(rows, columns)):
        value = found[position] - sum(found[left] * found[right] for left, right in products.get(position, ()))
        if row > column:
            pivot = found[diagonal[column]]
            value = value / pivot if pivot else float("inf")
        found[position] = value
    return xp.asarray(found, dtype=values.dtype)


class Triangles(Preconditioner):
    """A preconditioner that solves with `lower`, multiplies by `scale`, and solves with `upper`."""

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
        ValueError: As `jacobi`, or an `omega` out of range.

    Sparse triangular systems are solved as in `solve_triangular`.

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
    """Build the incomplete LU factorization without fill-in, ILU(0): triangular factors on the pattern of the matrix.

    Args:
        A: A square matrix of a floating-point data type with a nonzero diagonal: a container, a library's own sparse
            matrix, or an array; the pattern of an array is that of its nonzero elements.

    Raises:
        TypeError: `A` is not a matrix, or has another data type, or abstract values (build the preconditioner outside
            of `jit`).
        ValueError: A matrix that isn't square, a batch of matrices, an element of the diagonal that is missing or zero,
            or a pivot that becomes zero.

    It is built once, on the host. Triangular systems are solved as in `solve_triangular`.

    Source: Saad, Iterative Methods for Sparse Linear Systems, 10.3. The factors are the fixed point of the sweeps in
    Chow, Patel, Fine-grained parallel incomplete LU factorization (2015).

    >>> import numpy as np
    >>> A = np.asarray([[4.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 4.0]])
    >>> bool(np.allclose(ilu(A)(A @ np.asarray([1.0, 2.0, 3.0])), np.asarray([1.0, 2.0, 3.0])))
    True
    """
    return _incomplete("ilu", A, symmetric=False)


def ic(A: Any, /) -> Triangles:
    """Build the incomplete Cholesky factorization without fill-in, IC(0), of a Hermitian positive definite matrix.

    Args:
        A: As in `ilu`. Only its lower triangle is read.

    Raises:
        TypeError: As `ilu`.
        ValueError: As `ilu`, or a pivot that is not positive, which also happens for positive definite matrices: add to
            the diagonal for the preconditioner, or use `ssor`.

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
