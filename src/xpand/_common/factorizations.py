"""The named results of factorizations."""

from typing import NamedTuple

from ..typing import LibraryArray as Array


class EighResult(NamedTuple):
    """The eigenvalues and eigenvectors of Hermitian matrices."""

    eigenvalues: Array
    eigenvectors: Array


class EigResult(NamedTuple):
    """The eigenvalues and eigenvectors of matrices."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """The factors Q, with orthonormal columns, and R, upper triangular."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """The sign of the determinant, and the logarithm of its absolute value."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """The factors U, S (the singular values) and Vh."""

    U: Array
    S: Array
    Vh: Array
