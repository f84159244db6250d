"""Factorizations of dense and sparse matrices, and the derivatives of solving with them."""

from typing import Any, ClassVar, Final, NamedTuple, Self

from xpand import array_namespace, library_name
from xpand.extend import Array, checks as _arguments

from .. import autodiff, linalg
from .._dispatch import in_one_namespace
from ..linalg import _checks as checks
from ..linalg._checks import Columns, axis_of, columns_of, stack_of
from ..sparse._containers import Sparse
from . import _factors as factors
from ._vectors import conj


class _Fields(NamedTuple):
    matrix: Any
    parts: tuple[Any, ...]
    """The factors; empty if the host factored the matrices and caches the factors."""
    condition: Array
    status: Array


class Factorization(_Fields):
    """The result of `factorize`: matrices with their factors. It is a tree, so it passes through `jit`.

    Attributes:
        matrix: The matrices.
        condition: The estimated condition number of each matrix.
        status: A `Status` code for each: CONVERGED, SINGULAR, BREAKDOWN (not positive definite), NON_FINITE.
    """

    __slots__ = ()
    _name: ClassVar[str]

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"{self._name} ({self._library()})"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrices."""
        return tuple(self.matrix.shape)

    @property
    def dtype(self) -> Any:
        """The data type of the matrices."""
        return self.matrix.dtype

    def solve(self, b: Array, /, *, axis: int = -2) -> Array:
        """Solve `A @ x = b`.

        Args:
            b: One vector, shape `(n,)`, or matrices of columns, shape `(..., n, k)`, of a floating-point data type.
                Stacks of matrices broadcast.
            axis: The axis of the vectors in `b`. With -1, `b` has the shape `(..., n)`, and the axes before the last
                broadcast with the stack of A.

        Returns:
            The solutions, in the layout of `b`, with the broadcast shape and promoted data type. They are NaN if the
            matrix has no factors or the vector isn't finite, and inaccurate if the status is SINGULAR.

        Raises:
            TypeError: `b` is not an array, or has another library or data type.
            ValueError: A shape that doesn't fit, an `axis` other than -2 and -1, another device.

        Differentiable in `b` and in the entries of the matrix, in both modes and to any order, using the same factors.
        """
        return self._implicit("solve", b, axis, transposed=False)

    def solve_transposed(self, b: Array, /, *, axis: int = -2) -> Array:
        """Solve `transpose(A) @ x = b` with the same factors. Arguments, result and errors are those of `solve`."""
        return self._implicit("solve_transposed", b, axis, transposed=True)

    def _implicit(self, name: str, b: Array, axis: int, *, transposed: bool) -> Array:
        values = self.matrix.values if isinstance(self.matrix, Sparse) else self.matrix
        columns = right_hand_side_columns(name, values, self.shape, b, axis)
        names = (_TRANSPOSED if transposed else _PLAIN, _PLAIN if transposed else _TRANSPOSED)
        (product, solve), (_, other) = names
        x = autodiff.custom_linear_solve(product, columns.array, solve=solve, transpose_solve=other, args=(self,))
        return columns.restore(x)

    @classmethod
    def _of(cls, matrix: Any, found: factors.Factors) -> Self:
        return cls(matrix, found[:-2], *found[-2:])

    def _library(self) -> str:
        """Return the name of the library of the arrays."""
        return library_name(array_namespace(self.condition))

    def _solved(self, b: Array, transposed: bool) -> Array:
        """Solve for columns, `(..., n, k)`, with the stack of matrices."""
        raise NotImplementedError


class LUFactorization(Factorization):
    """A dense matrix with its LU factors and row permutation."""

    __slots__ = ()
    _name = "lu"

    def _solved(self, b: Array, transposed: bool) -> Array:
        factors, permutation = self.parts
        return linalg.lu_solve(factors, permutation, b, transpose=transposed)


class CholeskyFactorization(Factorization):
    """A dense Hermitian positive definite matrix with its lower triangular factor."""

    __slots__ = ()
    _name = "cholesky"

    def _solved(self, b: Array, transposed: bool) -> Array:
        # The transpose of a Hermitian matrix is its conjugate.
        x = linalg.cho_solve(self.parts[0], conj(b) if transposed else b)
        return conj(x) if transposed else x


class QRFactorization(Factorization):
    """A dense matrix with its unitary and upper triangular factors."""

    __slots__ = ()
    _name = "qr"

    def _solved(self, b: Array, transposed: bool) -> Array:
        orthogonal, triangle = self.parts
        return factors.qr_solve(orthogonal, triangle, b, transpose=transposed)


class SparseFactorization(Factorization):
    """A sparse matrix that the host has factored. See `factor_sparse`."""

    __slots__ = ()
    _kind: ClassVar[str] = "general"

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        library = self._library()
        return "SuperLU" if library == "numpy" else f"SuperLU on the host, called from {library}"

    @classmethod
    def of(cls, matrix: Sparse) -> "SparseFactorization":
        """Factor matrices."""
        constant = autodiff.stop_gradient(matrix)
        options: dict[str, Any] = {"format": matrix.format, "size": matrix.shape[-1], "kind": cls._kind}
        return cls._of(matrix, factors.factor_sparse(constant.values, constant.pattern, **options))

    def _solved(self, b: Array, transposed: bool) -> Array:
        a = self.matrix
        options: dict[str, Any] = {"format": a.format, "size": a.shape[-1], "kind": self._kind}
        return factors.solve_sparse(a.values, a.pattern, b, **options, transposed=transposed)


class SymmetricSparseFactorization(SparseFactorization):
    """A sparse matrix known to be symmetric: pivots stay on the diagonal if possible."""

    __slots__ = ()
    _kind = "symmetric"


def check_square(name: str, A: Array | Sparse) -> None:
    """Check that matrices, dense or sparse, are square and of a floating-point data type.

    Raises:
        TypeError: An argument that is not an array, or has another data type.
        ValueError: Another shape.
    """
    if not isinstance(A, Sparse):
        checks.alike(name, _arguments.FLOATING, A=A)
        checks.matrices(name, "A", A, square=True)
        return
    _arguments.dtype(name, "A", array_namespace(A.values), A.values, _arguments.FLOATING)
    if A.sparse_ndim != 2 or A.dense_ndim or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: A must hold square matrices, (..., n, n), got {A!r}")


def right_hand_side_columns(name: str, values: Array, shape: tuple[int, ...], b: Array, axis: int) -> Columns:
    """Check right-hand sides; return them as columns with the shape and data type of the solutions."""
    xp = _arguments.namespace_of(name, A=values, b=b)
    _arguments.one_device(name, A=values, b=b)
    _arguments.dtype(name, "b", xp, b, _arguments.FLOATING)
    axis_of(name, axis)
    stack_of(name, "b", shape, _arguments.known_shape(name, "b", b), axis)
    _, b = in_one_namespace(*_arguments.promote(name, xp, A=values, b=b))
    columns = columns_of(b, axis, is_one_matrix=len(shape) == 2)
    x = columns.array
    stack = _arguments.broadcast(tuple(shape[:-2]), tuple(x.shape[:-2]))
    whole = x if tuple(x.shape[:-2]) == stack else xp.broadcast_to(x, (*stack, *x.shape[-2:]))
    return columns._replace(array=whole)


def _product(x: Array, a: Factorization) -> Array:
    product: Array = a.matrix @ x
    return product


def _product_transposed(x: Array, a: Factorization) -> Array:
    product: Array = transpose(a.matrix) @ x
    return product


def _solve(b: Array, a: Factorization) -> Array:
    return _of_valid(a, b, transposed=False)


def _solve_transposed(b: Array, a: Factorization) -> Array:
    return _of_valid(a, b, transposed=True)


def _of_valid(a: Factorization, b: Array, *, transposed: bool) -> Array:
    """Solve; return NaN for matrices without factors and nonfinite right-hand sides, for which libraries differ."""
    xp = array_namespace(b, a.condition)
    valid = xp.isfinite(a.condition)[..., None, None] & xp.all(xp.isfinite(b), axis=-2, keepdims=True)
    x = a._solved(xp.where(valid, b, xp.zeros_like(b)), transposed)
    return xp.where(valid, x, xp.full_like(x, float("nan")))


_PLAIN: Final = (_product, _solve)
_TRANSPOSED: Final = (_product_transposed, _solve_transposed)


def transpose(matrix: Any) -> Any:
    """Transpose matrices, dense or sparse."""
    return matrix.mT if isinstance(matrix, Sparse) else array_namespace(matrix).matrix_transpose(matrix)
