"""The multilevel preconditioner: algebraic multigrid by smoothed aggregation."""

from typing import Any, Literal, NamedTuple

from xpand import array_namespace, namespace
from xpand.extend import Array, Namespace, checks

from .. import scatter, sparse
from .._optional import import_optional
from ..devices._move import on_host
from ._preconditioners import (
    Preconditioner,
    diagonal_of,
    largest_eigenvalue,
    matrix_of,
    matrix_on_host,
    on_device,
    scaled,
)

_MOST_LEVELS = 30
_LEAST_COARSENING = 0.8


class Level(NamedTuple):
    """One grid except the coarsest: its matrix, restriction and prolongation, and the smoother's weights."""

    matrix: Any
    restriction: Any
    prolongation: Any
    weights: Array


def hierarchy(
    a: sparse.CSR, candidate: Array, strength: float, coarsest: int, builder: str
) -> tuple[tuple[Level, ...], Array]:
    """Return the grids of a matrix except the coarsest, and the inverse of the coarsest matrix."""
    levels, last = (
        _aggregation(a, candidate, strength, coarsest) if builder == "own" else _pyamg(a, candidate, coarsest)
    )
    return tuple(levels), array_namespace(a.values).linalg.pinv(sparse.todense(last))


def smoother(a: sparse.CSR) -> Array:
    """Return the weights of damped Jacobi: the inverse diagonal times 4/3, divided by the largest eigenvalue."""
    inverse = 1.0 / diagonal_of("multilevel", a)
    weights: Array = inverse * (4.0 / 3.0 / largest_eigenvalue(a, inverse))
    return weights


def _pyamg(a: sparse.CSR, candidate: Array, coarsest: int) -> tuple[list[Level], sparse.CSR]:
    pyamg = import_optional("pyamg", "multilevel with builder='pyamg'")
    *levels, last = pyamg.smoothed_aggregation_solver(
        sparse.to_native(a), B=candidate[:, None], max_coarse=coarsest
    ).levels
    grids = [[_container(x) for x in (level.A, level.R, level.P)] for level in levels]
    return [Level(matrix, down, up, smoother(matrix)) for matrix, down, up in grids], _container(last.A)


def _aggregation(a: sparse.CSR, candidate: Array, strength: float, coarsest: int) -> tuple[list[Level], sparse.CSR]:
    xp = array_namespace(a.values)
    levels: list[Level] = []
    while a.shape[0] > coarsest and len(levels) < _MOST_LEVELS:
        tentative, coarse_candidate = _tentative(xp, a, candidate, strength)
        if tentative.shape[1] == 0 or tentative.shape[1] > _LEAST_COARSENING * a.shape[0]:
            break
        # Use the host's sparse arrays: no derivatives are needed.
        weights = smoother(a)
        matrix, columns = sparse.to_native(a), sparse.to_native(tentative)
        up = columns - sparse.to_native(sparse.diags([weights])) @ (matrix @ columns)
        down = up.conj().T.tocsr()
        levels.append(Level(a, _container(down), _container(up), weights))
        a, candidate = _container(down @ (matrix @ up)), coarse_candidate
        strength *= 0.5
    return levels, a


def _container(native: Any) -> sparse.CSR:
    return sparse.tocsr(sparse.from_native(native))


def _tentative(xp: Namespace, a: sparse.CSR, candidate: Array, strength: float) -> tuple[sparse.CSR, Array]:
    """Return the tentative prolongation, one normalized column per aggregate, and the candidate of the coarser grid."""
    rows, columns = _connections(xp, a, strength)
    label, count = aggregates(xp, rows, columns, a.shape[0])
    inside = label >= 0
    chosen = label[inside]
    values = candidate[inside]
    lengths = xp.sqrt(scatter.segment_sum(xp.abs(values) ** 2, chosen, num_segments=count))
    lengths = xp.where(lengths > 0, lengths, xp.ones_like(lengths))
    ends = xp.cumulative_sum(xp.astype(inside, xp.int64), include_initial=True)
    entries = xp.astype(values / xp.take(lengths, chosen), a.dtype)
    return sparse.CSR(entries, chosen, ends, (a.shape[0], count), is_sorted=True, is_unique=True, check=False), lengths


def _connections(xp: Namespace, a: sparse.CSR, strength: float) -> tuple[Array, Array]:
    """Return the pairs of different, strongly connected unknowns, sorted by the first."""
    coo = sparse.tocoo(a)
    rows, columns = coo.coords
    diagonal = xp.sqrt(xp.abs(sparse.diagonal(a)))
    bound = strength * xp.take(diagonal, rows) * xp.take(diagonal, columns)
    strong = (rows != columns) & (xp.abs(coo.values) > bound)
    first, second = rows[strong], columns[strong]
    ones = xp.ones(first.shape[0], dtype=xp.float64)
    one_way = sparse.to_native(sparse.COO(ones, (first, second), a.shape, check=False)).tocsr()
    # Add both directions: the matrix may not be exactly symmetric.
    both = sparse.tocoo(_container(one_way + one_way.T.tocsr()))
    return both.coords[0], both.coords[1]


def aggregates(xp: Namespace, rows: Array, columns: Array, size: int) -> tuple[Array, int]:
    """Divide the nodes of a graph into groups around nodes that are more than two edges apart.

    Returns:
        The group of each node, -1 for nodes without edges; and the number of groups.
    """

    def largest_of_neighbours(x: Array) -> Array:
        """Return, for each node, the largest value of its neighbours and itself."""
        return xp.maximum(x, scatter.segment_max(xp.take(x, columns), rows, num_segments=size, indices_are_sorted=True))

    number = xp.arange(size, dtype=xp.int64)
    connected = xp.zeros(size, dtype=xp.int64)
    connected = scatter.at(connected)[rows].set(1) > 0
    # A pseudo-random order, the same each time: multiplication modulo a prime.
    order = xp.argsort((number * 1640531513 + 12345) % 2147483647, stable=True)
    rank = scatter.at(xp.zeros(size, dtype=xp.int64))[order].set(number + 1)
    # 0: not a root; up to `size`: undecided; above: a root.
    key = xp.where(connected, rank, xp.zeros_like(rank))
    while True:
        undecided = (key > 0) & (key <= size)
        if not bool(xp.any(undecided)):
            break
        around = largest_of_neighbours(largest_of_neighbours(key))
        rooted = undecided & (around == key)
        key = xp.where(undecided & (around > size), xp.zeros_like(key), key)
        key = xp.where(rooted, key + size, key)
    roots = key > size
    count = int(xp.sum(xp.astype(roots, xp.int64)))
    label = xp.where(roots, xp.cumulative_sum(xp.astype(roots, xp.int64)), xp.zeros_like(number))
    for _ in range(2):
        label = xp.where(label > 0, label, largest_of_neighbours(label))
    return label - 1, count


class Multilevel(Preconditioner):
    """One V-cycle of `levels`, from fine to coarse; `coarse` is the inverse of the coarsest matrix."""

    __slots__ = _trees = ("levels", "coarse")
    levels: tuple[Level, ...]
    coarse: Array

    def _shape(self) -> tuple[int, ...]:
        return (self.levels[0].weights.shape[-1] if self.levels else self.coarse.shape[-1],)

    def _applied(self, r: Array, transposed: bool) -> Array:
        return self._cycle(0, r, transposed)

    def _cycle(self, depth: int, r: Array, transposed: bool) -> Array:
        if depth == len(self.levels):
            xp = array_namespace(r)
            return xp.matmul(xp.matrix_transpose(self.coarse) if transposed else self.coarse, r)
        level = self.levels[depth]
        matrix, down, up = level.matrix, level.restriction, level.prolongation
        if transposed:
            matrix, down, up = matrix.mT, up.mT, down.mT
        x = scaled(r, level.weights)
        x = x + up @ self._cycle(depth + 1, down @ (r - matrix @ x), transposed)
        return x + scaled(r - matrix @ x, level.weights)


def multilevel(
    A: Any,
    /,
    *,
    strength: float = 0.08,
    candidate: Array | None = None,
    coarsest: int = 200,
    builder: Literal["own", "pyamg"] = "own",
) -> Multilevel:
    """Build a multilevel preconditioner: a V-cycle of algebraic multigrid by smoothed aggregation.

    Args:
        A: A square matrix of a floating-point data type, (nearly) symmetric and positive (semi-)definite, such as that
            of an elliptic equation: a container, a library's own sparse matrix, or an array.
        strength: An element connects two unknowns if it is larger than this factor times the geometric mean of their
            diagonal elements. The factor is halved on each coarser grid.
        candidate: A vector (n,) that the matrix maps to approximately zero. None: a constant vector.
        coarsest: Grids with at most this number of unknowns are solved directly.
        builder: "own", or "pyamg" for `pyamg.smoothed_aggregation_solver`, which needs PyAMG.

    Raises:
        TypeError: `A` is not a matrix, or has another data type, or abstract values (build the preconditioner outside
            of `jit`).
        ValueError: A matrix that isn't square, a batch of matrices, or an invalid option.
        ModuleNotFoundError: `builder` is "pyamg", and PyAMG is not installed.

    It is built once, on the host, in about the time of 200 products with the matrix. It is applied on the library's
    device, also under `jit` and `vmap`, in about the time of five products. With it, the number of steps of `solve`
    hardly grows with the size of the matrix.

    Source: Vaněk, Mandel, Brezina, Algebraic multigrid by smoothed aggregation (1996); aggregates around independent
    sets of distance two as in Bell, Dalton, Olson, Exposing fine-grained parallelism in algebraic multigrid (2012).

    >>> import numpy as np
    >>> from xpand import sparse
    >>> A = sparse.from_dense(2.0 * np.eye(300) - np.eye(300, k=1) - np.eye(300, k=-1))
    >>> M = multilevel(A)
    >>> [level.matrix.shape[0] for level in M.levels], M.coarse.shape[0]
    ([300], 71)
    """
    xp, A = matrix_of("multilevel", A)
    checks.choice("multilevel", "builder", builder, ("own", "pyamg"))
    coarsest = checks.integer("multilevel", "coarsest", coarsest, minimum=1)
    if not 0.0 <= strength < 1.0:
        raise ValueError(f"multilevel: strength must be from 0 to below 1, got {strength}")
    host, size = matrix_on_host("multilevel", A), A.shape[-1]
    if candidate is not None and not (checks.is_array(candidate) and tuple(candidate.shape) == (size,)):
        raise ValueError(f"multilevel: candidate must be an array of shape ({size},)")
    near_null = namespace("numpy").ones(size, dtype="float64") if candidate is None else on_host(candidate)
    return Multilevel(*on_device(xp, A, hierarchy(host, near_null, strength, coarsest, builder)))
