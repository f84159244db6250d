"""LU, Cholesky and QR factorisations of dense matrices."""

from typing import NamedTuple

from xpand import array_namespace, library_name
from xpand.extend import Array

from .. import linalg
from ._factorization import Factorization, conjugate


class _LUFields(NamedTuple):
    matrix: Array
    factors: Array
    permutation: Array
    condition: Array
    status: Array


class LUFactorization(_LUFields, Factorization):
    """A dense matrix with its LU factors and row permutation."""

    __slots__ = ()

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"lu ({library_name(array_namespace(self.factors))})"

    def _solved(self, b: Array, transposed: bool) -> Array:
        return linalg.lu_solve(self.factors, self.permutation, b, transpose=transposed)


class _CholeskyFields(NamedTuple):
    matrix: Array
    factor: Array
    condition: Array
    status: Array


class CholeskyFactorization(_CholeskyFields, Factorization):
    """A dense Hermitian positive definite matrix with its lower triangular factor."""

    __slots__ = ()

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"cholesky ({library_name(array_namespace(self.factor))})"

    def _solved(self, b: Array, transposed: bool) -> Array:
        # The transpose of a Hermitian matrix is its conjugate.
        b = conjugate(b) if transposed else b
        x = linalg.cho_solve(self.factor, b)
        return conjugate(x) if transposed else x


class _QRFields(NamedTuple):
    matrix: Array
    orthogonal: Array
    triangle: Array
    condition: Array
    status: Array


class QRFactorization(_QRFields, Factorization):
    """A dense matrix with its unitary and its upper triangular factor."""

    __slots__ = ()

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        return f"qr ({library_name(array_namespace(self.triangle))})"

    def _solved(self, b: Array, transposed: bool) -> Array:
        xp = array_namespace(b)
        if transposed:
            inner = linalg.triangular_solve(self.triangle, b, lower=False, transpose=True)
            return xp.matmul(conjugate(self.orthogonal), inner)
        adjoint = conjugate(xp.matrix_transpose(self.orthogonal))
        return linalg.triangular_solve(self.triangle, xp.matmul(adjoint, b), lower=False)
