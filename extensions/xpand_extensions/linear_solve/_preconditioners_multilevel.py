"""The multilevel preconditioner: algebraic multigrid by smoothed aggregation."""

from typing import Any, Literal

from xpand import array_namespace, namespace
from xpand.extend import Array, checks

from ..devices._move import on_host
from ._aggregation import Level, hierarchy
from ._preconditioners import Preconditioner, matrix_of, matrix_on_host, on_device, scaled


class Multilevel(Preconditioner):
    """One V-cycle: `levels`, the finest first, and `coarse`, the inverse of the coarsest matrix."""

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
        A: A square matrix of a floating-point data type, symmetric and positive (semi-)definite or nearly so, as of
            elliptic equations: a container, a sparse matrix of a library's own, or an array.
        strength: Elements count as connections between unknowns if they are larger than this factor times the geometric
            mean of their diagonal elements; half of the factor on each coarser grid.
        candidate: A vector (n,) that the matrix maps to about zero. None: a constant one.
        coarsest: The number of unknowns up to which a grid is solved directly.
        builder: "own", or "pyamg": `pyamg.smoothed_aggregation_solver`, where PyAMG is installed.

    Raises:
        TypeError: No matrix, another data type, or abstract values: build it outside of `jit`.
        ValueError: A matrix that isn't square, a batch of several, or an invalid option.
        ModuleNotFoundError: `builder` is "pyamg", and PyAMG is not installed.

    It is built once, on the host, in about the time of fifty products. An application takes the time of about six
    products with the matrix, on the library's device, under `jit` and `vmap` too. The number of steps of `solve` then
    hardly grows with the size of the matrix.

    Source: Vaněk, Mandel, Brezina, Algebraic multigrid by smoothed aggregation (1996); aggregates around independent
    sets of distance two as in Bell, Dalton, Olson, Exposing fine-grained parallelism in algebraic multigrid (2012).

    >>> import numpy as np
    >>> from xpand_extensions import sparse
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
    near = namespace("numpy").ones(size, dtype="float64") if candidate is None else on_host(candidate)
    return Multilevel(*on_device(xp, A, hierarchy(host, near, strength, coarsest, builder)))
