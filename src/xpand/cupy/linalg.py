"""Linear algebra: `solve` with broadcasting, and `eig` with a named result."""

from typing import TYPE_CHECKING, Any

import cupy as cp
from array_api_compat.cupy import linalg as _compat
from array_api_compat.cupy.linalg import *

from .._common.factorizations import EigResult, QRResult, SVDResult, qr_result, svd_result
from ..typing import Array

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def solve(x1: Array, x2: Array, /) -> Array:
    """Solve `x1 @ result = x2`. `x2` is a vector if it has one dimension, else a stack of matrices.

    "x2 must be broadcast compatible" with the stack of `x1`. CuPy only accepts stacks of equal shape.
    """
    if x1.ndim == 2 and x2.ndim <= 2:
        return cp.linalg.solve(x1, x2)
    columns = x2[:, None] if x2.ndim == 1 else x2
    stack = cp.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    x1 = cp.broadcast_to(x1, stack + x1.shape[-2:])
    columns = cp.broadcast_to(columns, stack + columns.shape[-2:])
    if columns.size == 0:
        result = cp.zeros(columns.shape, cp.result_type(x1.dtype, x2.dtype))
    else:
        result = cp.linalg.solve(cp.ascontiguousarray(x1), cp.ascontiguousarray(columns))
    return result[..., 0] if x2.ndim == 1 else result


def eig(x: Array, /) -> EigResult:
    """Return the eigenvalues and eigenvectors, which are always complex."""
    return EigResult(*cp.linalg.eig(x))


def qr(x: Array, /, *, mode: Any = "reduced") -> QRResult:
    """Return the factors Q, with orthonormal columns, and R, upper triangular; with CuPy's mode "r", R alone."""
    return qr_result(cp.linalg.qr(x, mode), mode)


def svd(x: Array, /, *, full_matrices: bool = True, compute_uv: bool = True) -> SVDResult:
    """Return the factors U, S (the singular values, in descending order) and Vh; or S alone without `compute_uv`."""
    return svd_result(cp.linalg.svd(x, full_matrices, compute_uv), compute_uv)


__all__ = sorted({*_compat.__all__, "EigResult", "eig", "eigvals", "qr", "solve", "svd"})


def __dir__() -> list[str]:
    return __all__
