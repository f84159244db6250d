"""Factorisations of sparse matrices, which the host computes and caches."""

from typing import Any, ClassVar, NamedTuple

from xpand import array_namespace, library_name
from xpand.extend import Array, checks

from ..sparse._containers import Sparse
from . import _factors as factors
from ._factorization import Factorization


def square_container(name: str, a: Sparse) -> None:
    """Check for square matrices of a floating-point data type.

    Raises:
        TypeError: Another data type.
        ValueError: Another shape.
    """
    checks.dtype(name, "A", array_namespace(a.values), a.values, checks.FLOATING)
    if a.sparse_ndim != 2 or a.dense_ndim or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{name}: A must hold square matrices, (..., n, n), got {a!r}")


class _SparseFields(NamedTuple):
    matrix: Any
    condition: Array
    status: Array


class SparseFactorization(_SparseFields, Factorization):
    """A sparse matrix that the host has factored. See `factor_sparse`."""

    __slots__ = ()
    _kind: ClassVar[str] = "general"

    @property
    def method(self) -> str:
        """Return the method and the library, as text."""
        library = library_name(array_namespace(self.matrix.values))
        return "SuperLU" if library == "numpy" else f"SuperLU on the host, called from {library}"

    @classmethod
    def of(cls, matrix: Sparse, constant: Sparse) -> "SparseFactorization":
        """Factor matrices; `constant` is the same without derivatives."""
        options: dict[str, Any] = {"format": matrix.format, "size": matrix.shape[-1], "kind": cls._kind}
        return cls(matrix, *factors.factor_sparse(constant.values, constant.pattern, **options))

    def _solved(self, b: Array, transposed: bool) -> Array:
        a = self.matrix
        options: dict[str, Any] = {"format": a.format, "size": a.shape[-1], "kind": self._kind}
        return factors.solve_sparse(a.values, a.pattern, b, **options, transposed=transposed)


class SymmetricSparseFactorization(SparseFactorization):
    """The same of a matrix known to be symmetric: pivots stay on the diagonal where they can."""

    __slots__ = ()
    _kind = "symmetric"
