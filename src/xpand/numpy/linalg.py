"""Linear algebra: thin wrappers of the functions that do not conform to the standard in NumPy 2."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import matmul, matrix_transpose, outer, tensordot, vecdot
from numpy.linalg import LinAlgError, cholesky, diagonal, matrix_norm, solve, svdvals, vector_norm

from .._common.factorizations import EighResult, EigResult, QRResult, SlogdetResult, SVDResult, qr_result, svd_result
from ..typing import DType, LibraryArray as Array
from ._copied import copy_names

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def cross(x1: Array, x2: Array, /, *, axis: int = -1, **kwargs: Any) -> Array:
    """Return the cross product of vectors of three elements. The other keywords are the same as for `np.cross`."""
    return np.cross(x1, x2, axis=axis, **kwargs)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None, **kwargs: Any) -> Array:
    """Return the sum of a diagonal of each matrix, always as an array."""
    result = np.trace(x, offset, -2, -1, dtype, **kwargs)
    return np.asarray(result) if isinstance(result, np.generic) else result


def eigh(x: Array, /, **kwargs: Any) -> EighResult:
    """Return the eigenvalues, in ascending order, and eigenvectors of Hermitian matrices."""
    return EighResult(*np.linalg.eigh(x, **kwargs))


def eig(x: Array, /) -> EigResult:
    """Return the eigenvalues and eigenvectors of matrices, which are always complex."""
    return EigResult(*map(_as_complex, np.linalg.eig(x)))


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of matrices, which are always complex."""
    return _as_complex(np.linalg.eigvals(x))


def _as_complex(x: Array) -> Array:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def qr(x: Array, /, *, mode: Any = "reduced", **kwargs: Any) -> QRResult:
    """Return the factors Q, with orthonormal columns, and R, upper triangular; `mode` is "reduced" or "complete".

    With NumPy's other modes, return what NumPy does: R alone for "r".
    """
    return qr_result(np.linalg.qr(x, mode, **kwargs), mode)


def slogdet(x: Array, /, **kwargs: Any) -> SlogdetResult:
    """Return the sign of the determinant and the logarithm of its absolute value."""
    return SlogdetResult(*np.linalg.slogdet(x, **kwargs))


def svd(x: Array, /, *, full_matrices: bool = True, compute_uv: bool = True, **kwargs: Any) -> SVDResult:
    """Return the factors U, S (the singular values, in descending order) and Vh; or S alone without `compute_uv`."""
    native: Any = np.linalg.svd
    return svd_result(native(x, full_matrices, compute_uv, **kwargs), compute_uv)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None, **kwargs: Any) -> Array:
    """Return the number of singular values above `rtol` (by default `max(M, N) * eps`) times the largest."""
    if x.ndim < 2:
        raise LinAlgError(f"matrix_rank: x has {x.ndim} dimensions; it must have two or more")
    if 0 in x.shape[-2:]:  # NumPy 2.1 raises an error
        return np.zeros(x.shape[:-2], np.intp)[()]
    return np.linalg.matrix_rank(x, rtol=rtol, **kwargs)


def pinv(x: Array, /, *, rtol: float | Array | None = None, **kwargs: Any) -> Array:
    """Return the Moore-Penrose inverse. Singular values up to `rtol` times the largest count as zero."""
    return np.linalg.pinv(x, rtol=rtol, **kwargs)


copy_names(np.linalg, globals())
__all__ = sorted(
    {
        *(name for name in dir(np.linalg) if not name.startswith("_")),
        *("EigResult", "EighResult", "QRResult", "SVDResult", "SlogdetResult", "__builtins__"),
    }
)


def __dir__() -> list[str]:
    return __all__
