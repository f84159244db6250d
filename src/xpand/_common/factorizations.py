"""The named results of factorizations."""

from typing import Any, NamedTuple

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


def qr_result(found: Any, mode: str) -> Any:
    """Name the factors of a library's `qr`. Modes that are not in the standard, such as "r", have no factor Q."""
    return QRResult(*found) if mode in ("reduced", "complete") else found


def svd_result(found: Any, compute_uv: bool) -> Any:
    """Name the factors of a library's `svd`, which returns an array without `compute_uv`."""
    return SVDResult(*found) if compute_uv else found
