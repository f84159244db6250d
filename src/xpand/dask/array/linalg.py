"""Linear algebra over (stacks of) matrices.

A factorization needs whole matrices, so the last two axes are merged into one chunk. Blocks of the stack are computed
in parallel. For one large chunked matrix, Dask's algorithms are used if they are stable: QR and SVD of tall matrices,
and Cholesky for square chunks of equal size. Dask's blockwise LU is not stable: it does not exchange rows between
blocks, and fails for some regular matrices. So `solve` and `inv` also merge a matrix into one chunk.
"""

import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np
from array_api_compat.dask.array.linalg import *
from array_api_compat.dask.array.linalg import EighResult, QRResult, SlogdetResult, SVDResult, __all__ as _compat_names
from numpy.lib.array_utils import normalize_axis_tuple

from ..._common.factorizations import EigResult
from ...typing import Axis, DType, LibraryArray as Array
from . import _statistics
from ._blocks import Core, map_core
from ._creation import eye
from ._info import finfo, result_type
from ._manipulation import matrix_transpose


def _matrices(function: str, x: Array, name: str = "x", *, square: bool = False) -> tuple[int, int]:
    """Check that an array has (square) matrices, and return their numbers of rows and columns."""
    if x.ndim < 2 or (square and x.shape[-1] != x.shape[-2]):
        kind = "square matrices, (..., n, n)" if square else "matrices, (..., m, n)"
        raise ValueError(f"{function}: {name} must be {kind}, got shape {x.shape}")
    return x.shape[-2], x.shape[-1]


def _floating(*arrays: Array) -> Any:
    """Return the data type with which LAPACK computes."""
    dtype = np.result_type(*(x.dtype for x in arrays))
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _real(dtype: Any) -> Any:
    return np.empty(0, dtype=dtype).real.dtype


def _complex(dtype: Any) -> Any:
    return np.result_type(dtype, np.complex64)


def _of_matrices(function: str, x: Array, *outputs: Core, **kwargs: Any) -> tuple[Array, ...]:
    return map_core(f"linalg.{function}", [x], [2], outputs, **kwargs)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices, or a matrix and a vector, chunk by chunk."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError(f"matmul: x1 and x2 must have one or more axes, got shapes {x1.shape} and {x2.shape}")
    inner = (x1.shape[-1], x2.shape[-1 if x2.ndim == 1 else -2])
    if _differ(*inner):
        # Dask would broadcast a size of 1.
        raise ValueError(f"matmul: shapes {x1.shape} and {x2.shape} do not fit; the inner sizes are {inner}")
    dtype = result_type(x1, x2)
    result = da.matmul(x1, x2)
    return result if result.dtype == dtype else result.astype(dtype)


def _differ(size: float, other: float) -> bool:
    """Return whether two sizes are known to be different. Unknown sizes are checked when blocks are computed."""
    return size != other and not (math.isnan(size) or math.isnan(other))


def tensordot(x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Sum the products over the last axes of `x1` and the first of `x2`, or over two lists of axes.

    The arguments promote to the data type of the result. Sums of small integers have no wider type.
    """
    left, right = axes if isinstance(axes, (tuple, list)) else (range(-axes, 0), range(axes))
    # Dask's function returns wrong results for negative axes.
    left, right = normalize_axis_tuple(left, x1.ndim), normalize_axis_tuple(right, x2.ndim)
    sizes = [x1.shape[a] for a in left], [x2.shape[a] for a in right]
    if len(left) != len(right) or any(map(_differ, *sizes)):
        raise ValueError(
            f"tensordot: shapes {x1.shape} and {x2.shape} do not fit along axes {left} and {right}, "
            f"whose sizes are {sizes[0]} and {sizes[1]}"
        )
    dtype = result_type(x1, x2)
    return da.tensordot(x1, x2, axes=(left, right)).astype(dtype)


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the dot product of vectors along an axis, with `x1` conjugated; the other axes broadcast."""
    if min(x1.ndim, x2.ndim) < max(-axis, 1) or _differ(x1.shape[axis], x2.shape[axis]):
        raise ValueError(f"vecdot: shapes {x1.shape} and {x2.shape} must have the same size along axis {axis}")
    dtype = result_type(x1, x2)
    if x1.dtype.kind == "c":
        x1 = da.conj(x1)
    return da.sum(x1 * x2, axis=axis, dtype=dtype)


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the cross product along an axis of size 3; the other axes broadcast."""
    if min(x1.ndim, x2.ndim) == 0 or not x1.shape[axis] == x2.shape[axis] == 3:
        raise ValueError(f"cross: x1 and x2 must have size 3 along axis {axis}, got shapes {x1.shape} and {x2.shape}")
    a, b = (da.moveaxis(x, axis, 0) for x in da.broadcast_arrays(x1, x2))
    parts = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
    return da.stack(parts, axis=axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return the diagonals of (stacks of) matrices."""
    _matrices("diagonal", x)
    return da.diagonal(x, offset=offset, axis1=-2, axis2=-1)


def trace(x: Array, /, *, offset: int = 0, dtype: DType | None = None) -> Array:
    """Return the sums of the diagonals of (stacks of) matrices."""
    return da.sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def det(x: Array, /) -> Array:
    """Return the determinants of square matrices."""
    _matrices("det", x, square=True)
    return _of_matrices("det", x, ((), _floating(x)))[0]


def slogdet(x: Array, /) -> SlogdetResult:
    """Return the signs of the determinants, and the logarithms of their absolute values."""
    _matrices("slogdet", x, square=True)
    dtype = _floating(x)
    return SlogdetResult(*_of_matrices("slogdet", x, ((), dtype), ((), _real(dtype))))


def inv(x: Array, /) -> Array:
    """Return the inverses of square matrices."""
    shape = _matrices("inv", x, square=True)
    return _of_matrices("inv", x, (shape, _floating(x)))[0]


def solve(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
    """Solve square systems for one vector, or for the columns of matrices.

    With keywords, this is `dask.array.linalg.solve`, which does not exchange rows between chunks.
    """
    if kwargs:
        return da.linalg.solve(x1, x2, **kwargs)
    n, _ = _matrices("solve", x1, "x1", square=True)
    core = min(x2.ndim, 2)
    if core == 0 or _differ(x2.shape[-core], n):
        raise ValueError(f"solve: x2 must have {n} rows for x1 of shape {x1.shape}, got shape {x2.shape}")
    return map_core("linalg.solve", [x1, x2], [2, core], [(x2.shape[-core:], _floating(x1, x2))])[0]


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return the Cholesky factors of positive definite matrices. A matrix in equal chunks is not merged."""
    shape = _matrices("cholesky", x, square=True)
    if x.ndim == 2 and x.numblocks[0] > 1 and len({*x.chunks[0], *x.chunks[1]}) == 1 and x.dtype.kind == "f":
        return da.linalg.cholesky(x, lower=not upper)
    return _of_matrices("cholesky", x, (shape, _floating(x)), upper=upper)[0]


def eigh(x: Array, /) -> EighResult:
    """Return the eigenvalues and eigenvectors of Hermitian matrices."""
    n, _ = _matrices("eigh", x, square=True)
    dtype = _floating(x)
    return EighResult(*_of_matrices("eigh", x, ((n,), _real(dtype)), ((n, n), dtype)))


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of Hermitian matrices."""
    n, _ = _matrices("eigvalsh", x, square=True)
    return _of_matrices("eigvalsh", x, ((n,), _real(_floating(x))))[0]


def eig(x: Array, /) -> EigResult:
    """Return the eigenvalues and eigenvectors of square matrices, which are always complex."""
    n, _ = _matrices("eig", x, square=True)
    dtype = _complex(_floating(x))
    return EigResult(*_of_matrices("eig", x, ((n,), dtype), ((n, n), dtype)))


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices, which are always complex."""
    n, _ = _matrices("eigvals", x, square=True)
    return _of_matrices("eigvals", x, ((n,), _complex(_floating(x))))[0]


def _is_tall(x: Array) -> bool:
    """Return whether a matrix has the chunks that Dask's QR needs: one column of chunks.

    Each must have at least as many rows as columns, or an unknown number of rows, as in a data frame.
    """
    if x.ndim != 2 or x.numblocks[0] < 2 or x.numblocks[1] > 1:
        return False
    return math.isnan(x.shape[0]) or bool(min(x.chunks[0]) >= x.shape[1] > 0)


def qr(x: Array, /, mode: str = "reduced", **kwargs: Any) -> QRResult:
    """Return the QR decomposition. With `mode="reduced"`, a tall matrix in chunks of rows is factored in a tree."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', got {mode!r}")
    m, n = _matrices("qr", x)
    if mode == "reduced" and (kwargs or _is_tall(x)):
        return QRResult(*da.linalg.qr(x, **kwargs))
    dtype = _floating(x)
    k = m if mode == "complete" else min(m, n)
    return QRResult(*_of_matrices("qr", x, ((m, k), dtype), ((k, n), dtype), mode=mode))


def svd(x: Array, /, full_matrices: bool = True, **kwargs: Any) -> SVDResult:
    """Return the singular value decomposition.

    With `full_matrices=False`, tall and wide chunked matrices are reduced to a small one first. With keywords, this is
    `dask.array.linalg.svd`.
    """
    m, n = _matrices("svd", x)
    if kwargs:
        return SVDResult(*da.linalg.svd(x, full_matrices=full_matrices, **kwargs))
    if not full_matrices and _is_tall(x):
        q, r = qr(x)
        u, s, vh = svd(r, full_matrices=False)
        return SVDResult(matmul(q, u), s, vh)
    if not full_matrices and _is_tall(x.T):
        u, s, vh = svd(x.T, full_matrices=False)
        return SVDResult(vh.T, s, u.T)
    dtype, k = _floating(x), min(m, n)
    left, right = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
    outputs: list[Core] = [(left, dtype), ((k,), _real(dtype)), (right, dtype)]
    return SVDResult(*_of_matrices("svd", x, *outputs, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """Return the singular values in descending order."""
    shape = _matrices("svdvals", x)
    if _is_tall(x) or _is_tall(x.T):
        return svd(x, full_matrices=False).S
    return _of_matrices("svdvals", x, ((min(shape),), _real(_floating(x))))[0]


def _cutoff(x: Array, s: Array, rtol: float | Array | None) -> Array:
    """Return the threshold: singular values up to it count as zero. The last axis has size 1."""
    largest = _statistics.max(s, axis=-1, keepdims=True)
    if rtol is None:
        return largest * float(max(x.shape[-2:]) * finfo(s.dtype).eps)
    return largest * (rtol if isinstance(rtol, (int, float)) else da.asarray(rtol)[..., None])


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the ranks of matrices: the number of singular values above `rtol` times the largest."""
    if 0 in _matrices("matrix_rank", x):
        return da.zeros(x.shape[:-2], dtype=np.intp, chunks=x.chunks[:-2])
    s = svdvals(x)
    return da.sum(s > _cutoff(x, s, rtol), axis=-1, dtype=np.intp)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the Moore-Penrose inverses. Singular values up to `rtol` times the largest count as zero."""
    m, n = _matrices("pinv", x)
    if 0 in (m, n):
        return da.zeros((*x.shape[:-2], n, m), dtype=_floating(x), chunks=(*x.chunks[:-2], (n,), (m,)))
    u, s, vh = svd(x, full_matrices=False)
    significant = s > _cutoff(x, s, rtol)
    reciprocal = da.where(significant, 1 / da.where(significant, s, 1), 0).astype(s.dtype)
    return matmul(da.conj(matrix_transpose(vh)) * reciprocal[..., None, :], da.conj(matrix_transpose(u)))


def matrix_power(x: Array, n: int, /) -> Array:
    """Return integer powers of square matrices, by repeated squaring; negative powers are of the inverse."""
    size, _ = _matrices("matrix_power", x, square=True)
    if n < 0:
        x, n = inv(x), -n
    if n == 0:
        return da.broadcast_to(eye(size, dtype=x.dtype), x.shape)
    result: Array | None = None
    while True:
        if n & 1:
            result = x if result is None else matmul(result, x)
        n >>= 1
        if n == 0:
            return result
        x = matmul(x, x)


def _largest(size: Array, **where: Any) -> Array:
    """Return the largest of nonnegative numbers, or 0 if there are none."""
    return da.sum(size, **where) if 0 in size.shape else da.max(size, **where)


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: float | str | None = "fro") -> Array:
    """Return the norms of matrices: "fro", "nuc", or 1, -1, 2, -2, inf and -inf."""
    _matrices("matrix_norm", x)
    pick = _largest if ord in (1, 2, math.inf) else _statistics.min
    if ord is None or ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc":
        result = da.sum(svdvals(x), axis=-1)
    elif ord in (2, -2):
        result = pick(svdvals(x), axis=-1)
    elif ord in (1, -1):
        result = pick(da.sum(abs(x), axis=-2), axis=-1)
    elif ord in (math.inf, -math.inf):
        result = pick(da.sum(abs(x), axis=-1), axis=-1)
    else:
        raise ValueError(f"matrix_norm: ord must be 'fro', 'nuc', 1, -1, 2, -2, inf or -inf, got {ord!r}")
    return result[..., None, None] if keepdims else result


def vector_norm(x: Array, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """Return the norms of vectors along one axis, several, or all; `ord` is any number, also inf or -inf."""
    if isinstance(axis, list):
        axis = tuple(axis)
    size = abs(x)
    where: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if ord == math.inf:
        return _largest(size, **where)
    if ord == -math.inf:
        return _statistics.min(size, **where)
    if ord == 0:
        return da.sum((size != 0).astype(size.dtype), **where)
    if ord == 1:
        return da.sum(size, **where)
    if ord == 2:
        return da.sqrt(da.sum(size * size, **where))
    return da.sum(size**ord, **where) ** (1 / ord)


__all__ = sorted(
    {
        *_compat_names,
        *("EigResult", "cholesky", "cross", "det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matrix_power"),
        *("pinv", "slogdet", "solve"),
    }
)


def __dir__() -> list[str]:
    return __all__
