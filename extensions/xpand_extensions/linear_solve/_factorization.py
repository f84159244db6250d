"""Factorisations as objects: what all have in common, and how solving with one is differentiated."""

import math
from collections.abc import Callable
from typing import Any, Final, cast

from xpand import _arguments, array_namespace
from xpand._typing import Array

from .. import autodiff, linalg
from .._dispatch import in_one_namespace
from ..linalg import _checks as checks
from ..sparse._containers import Sparse


class Factorization:
    """What `factorize` returns: a matrix, or a stack of them, with its factors. A tree, so it passes through `jit`.

    Attributes:
        matrix: The matrices.
        condition: An estimate of the condition number of each.
        status: A `Status` code for each: CONVERGED, SINGULAR, BREAKDOWN (not positive definite), NON_FINITE.
    """

    __slots__ = ()

    matrix: Any
    condition: Array
    status: Array

    @property
    def method(self) -> str:
        """Who did it, in words."""
        raise NotImplementedError

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrices."""
        return tuple(self.matrix.shape)

    @property
    def dtype(self) -> Any:
        """The data type of the matrices."""
        return self.matrix.dtype

    def solve(self, b: Array, /) -> Array:
        """Solve `A x = b`.

        Args:
            b: Vectors along the last axis, shape `(..., n)`, of a floating-point data type. The axes before broadcast
                with those of the matrices.

        Returns:
            The solutions, of the broadcast shape and promoted data type. NaN for a matrix without factors, and for a
            right side that isn't finite; of no accuracy where the status is SINGULAR.

        Raises:
            TypeError: No array, another library's, another data type.
            ValueError: A shape that doesn't fit, another device.

        Differentiable in `b` and in the entries of the matrix, in both modes and to any order, by the same factors.
        """
        return self._implicit(self._right_sides("solve", b), transposed=False)

    def solve_transposed(self, b: Array, /) -> Array:
        """Solve `transpose(A) x = b`, by the same factors. Arguments, result and errors are those of `solve`."""
        return self._implicit(self._right_sides("solve_transposed", b), transposed=True)

    def _implicit(self, b: Array, *, transposed: bool) -> Array:
        names = (_TRANSPOSED if transposed else _PLAIN, _PLAIN if transposed else _TRANSPOSED)
        (product, solve), (_, other) = names
        return cast(Array, autodiff.custom_linear_solve(product, b, solve=solve, transpose_solve=other, args=(self,)))

    def _right_sides(self, name: str, b: Array) -> Array:
        values = self.matrix.values if isinstance(self.matrix, Sparse) else self.matrix
        return right_sides(name, values, self.shape, b)

    def _times(self, x: Array, transposed: bool) -> Array:
        return matvec(transpose(self.matrix) if transposed else self.matrix, x)

    def _solved(self, b: Array, transposed: bool) -> Array:
        raise NotImplementedError


def check_square(name: str, A: Array) -> None:
    """Check for square matrices of a floating-point data type.

    Raises:
        TypeError: No array, or another data type.
        ValueError: Another shape.
    """
    checks.alike(name, _arguments.FLOATING, A=A)
    checks.matrices(name, "A", A, square=True)


def right_sides(name: str, values: Array, shape: tuple[int, ...], b: Array) -> Array:
    """Check right sides for matrices of a shape, and bring them to the shape and data type of the solutions."""
    xp = _arguments.namespace_of(name, A=values, b=b)
    _arguments.one_device(name, A=values, b=b)
    _arguments.dtype(name, "b", xp, b, _arguments.FLOATING)
    size, given = shape[-2], _arguments.known_shape(name, "b", b)
    if not given or given[-1] != size:
        raise ValueError(
            f"{name}: b must hold vectors of size {size} along its last axis, (..., {size}), got the shape {given}; "
            "the columns of a matrix are meant by `xp.matrix_transpose(b)`"
        )
    batch = _arguments.broadcast_shapes(name, A=shape[:-2], b=given[:-1])
    _, b = in_one_namespace(*_arguments.promote(name, xp, A=values, b=b))
    return b if (*batch, size) == given else xp.broadcast_to(b, (*batch, size))


def _product(x: Array, a: Factorization) -> Array:
    return a._times(x, False)


def _product_transposed(x: Array, a: Factorization) -> Array:
    return a._times(x, True)


def _solve(b: Array, a: Factorization) -> Array:
    return _of_valid(a, b, transposed=False)


def _solve_transposed(b: Array, a: Factorization) -> Array:
    return _of_valid(a, b, transposed=True)


def _of_valid(a: Factorization, b: Array, *, transposed: bool) -> Array:
    """Solve; put NaN where a matrix has no factors, and where a right side isn't finite, which libraries differ in."""
    xp = array_namespace(b, a.condition)
    valid = (xp.isfinite(a.condition) & xp.all(xp.isfinite(b), axis=-1))[..., None]
    x = a._solved(xp.where(valid, b, xp.zeros_like(b)), transposed)
    return xp.where(valid, x, xp.full_like(x, float("nan")))


_PLAIN: Final = (_product, _solve)
_TRANSPOSED: Final = (_product_transposed, _solve_transposed)


def matvec(matrix: Any, x: Array) -> Array:
    """Multiply matrices, dense or sparse, with vectors along the last axis; the axes before broadcast."""
    if matrix.ndim == 2 and x.ndim > 1:
        rows, shape = _rows(x)
        product = array_namespace(x).matrix_transpose(matrix @ array_namespace(x).matrix_transpose(rows))
        return array_namespace(x).reshape(product, (*shape[:-1], product.shape[-1]))
    if isinstance(matrix, Sparse):
        return (matrix @ x[..., None])[..., 0] if x.ndim > 1 or matrix.ndim > 2 else matrix @ x
    return linalg.matvec(matrix, x)


def transpose(matrix: Any) -> Any:
    """Transpose matrices, dense or sparse."""
    return matrix.mT if isinstance(matrix, Sparse) else array_namespace(matrix).matrix_transpose(matrix)


def _rows(x: Array) -> tuple[Array, tuple[int, ...]]:
    """Write vectors along the last axis as the rows of one matrix; return the shape they had."""
    shape = tuple(x.shape)
    return array_namespace(x).reshape(x, (math.prod(shape[:-1]), shape[-1])), shape


def by_columns(factors: Array, b: Array, solve: Callable[[Array], Array]) -> Array:
    """Solve for vectors along the last axis by a function of columns; all at once where there is one matrix."""
    if factors.ndim > 2 or b.ndim == 1:
        return solve(b[..., None])[..., 0]
    rows, shape = _rows(b)
    xp = array_namespace(b)
    return xp.reshape(xp.matrix_transpose(solve(xp.matrix_transpose(rows))), shape)


def conjugate(x: Array) -> Array:
    """Conjugate complex numbers; real ones are as they are."""
    xp = array_namespace(x)
    return xp.conj(x) if xp.isdtype(x.dtype, "complex floating") else x
