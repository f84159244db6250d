"""Linear algebra on NumPy: BLAS and LAPACK without copies, and NumPy's loops for tiny matrices."""

import math
import warnings
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import scipy.linalg
from scipy.linalg import get_blas_funcs, get_lapack_funcs

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions.generic.linalg import (
    _distances as distances,
    _factorizations as generic,
    _functions as functions,
    _schur as schur_forms,
    _spectra as spectra,
    _structured as structured,
)
from xpand_extensions.generic.linalg._products import execute, product
from xpand_extensions.linalg import _checks as checks, _lstsq as lstsq
from xpand_extensions.linalg._factorizations import LUFactors, PivotedQRResult
from xpand_extensions.linalg._lstsq import LstsqResult
from xpand_extensions.linalg._plan import Pair, Single, plan_of
from xpand_extensions.linalg._spectra import SchurResult

from ._pivots import order_of

_TINY: Final = 16
"""Up to this number of elements, one loop over a stack of products with vectors is faster than `np.matmul`."""

_METHODS: Final[Any] = SimpleNamespace(
    matmul=np.matmul,
    multiply=np.multiply,
    permute_dims=lambda x, axes: x.transpose(axes),
    reshape=lambda x, shape: x.reshape(shape),
)
"""The namespace for `product`: methods of arrays take a third of the time of NumPy's functions."""

_SCHUR: Final = 48
"""The matrix size from which SciPy's logarithm, by a Schur form, is faster than the generic one."""
_EPS: Final = 2.0**-52
_FAR: Final = 1e100
"""Matrices with larger pivots must be scaled first, which SciPy does not do."""


def einsum(subscripts: str, /, *operands: Array, optimize: bool | str = True) -> Array:
    plan = plan_of(subscripts, tuple([x.shape for x in operands]), optimize)
    return execute(plan, operands, _pair, _single)


def _single(step: Single, x: Array) -> Array:
    return np.asarray(np.einsum(step.subscripts, x if step.shape is None else x.reshape(step.shape)))


def _pair(step: Pair, x1: Array, x2: Array) -> Array:
    if step.batch_axes[0] and step.axes[0] and _is_tiny(step, x1, x2):
        return np.asarray(np.einsum(step.subscripts, x1, x2))
    return product(_METHODS, step.product, x1, x2)


def _is_tiny(step: Pair, x1: Array, x2: Array) -> bool:
    """Return whether a stack consists of small products with vectors, which have no axis of their own in the result."""
    shared = len(step.axes[0]) + len(step.batch_axes[0])
    stack = math.prod([x1.shape[axis] for axis in step.batch_axes[0]])
    return shared in (x1.ndim, x2.ndim) and bool(max(x1.size, x2.size) <= _TINY * stack)


diagonal = np.diagonal


def triangular_solve(
    a: Array,
    b: Array,
    /,
    *,
    lower: bool = True,
    transpose: bool = False,
    conjugate: bool = False,
    unit_diagonal: bool = False,
    left_side: bool = True,
) -> Array:
    _known("triangular_solve", a)
    # Call BLAS, because LAPACK's function does not solve if the diagonal has zeros.
    (solve,) = get_blas_funcs(("trsm",), (a, b))
    is_complex = a.dtype.kind == "c"
    if conjugate and not transpose:
        # BLAS gets the transpose of `a`. Only one of its operations conjugates.
        a, conjugate = np.conj(a), False
    operation = (2 if conjugate and is_complex else 1) if transpose else 0
    vector = b.ndim == 1
    if vector:
        b = b[:, None] if left_side else b[None, :]
    a, b = checks.broadcast_stacks(xp, a, b)
    options = {"side": int(left_side), "lower": not lower, "trans_a": operation, "diag": unit_diagonal}
    if b.size == 0:
        x = np.zeros_like(b)
    elif b.ndim == 2:
        # BLAS reads in Fortran order, in which C arrays are transposed. So it needs no copy.
        x = solve(1.0, a.T, b.T, **options).T
    else:
        x = np.empty(b.shape, b.dtype)
        for index in np.ndindex(b.shape[:-2]):
            x[index] = solve(1.0, a[index].T, b[index].T, **options).T
    if vector:
        return x[..., 0] if left_side else x[..., 0, :]
    return x


def _known(function: str, x: Array) -> None:
    """Raise for longdouble, for which SciPy would call the routine for float64."""
    if x.dtype.char not in "fdFD":
        raise TypeError(f"{function}: LAPACK does not support {x.dtype}; convert it with `xp.astype` first")


def lu_factor(x: Array, /) -> LUFactors:
    _known("lu_factor", x)
    (factor,) = get_lapack_funcs(("getrf",), (x,))
    if x.ndim == 2 and x.size:
        factors, pivots, _ = factor(x)
        return LUFactors(factors, np.asarray(order_of(pivots, len(x)), dtype=np.int64))
    factors = np.empty_like(x, order="C")
    permutation = np.empty(x.shape[:-1], dtype=np.int64)
    permutation[...] = np.arange(x.shape[-2])
    for index in np.ndindex(x.shape[:-2]) if x.size else ():
        factors[index], pivots, _ = factor(x[index])
        permutation[index] = order_of(pivots, x.shape[-2])
    return LUFactors(factors, permutation)


def lu_solve(
    factors: Array, permutation: Array, b: Array, /, *, transpose: bool = False, conjugate: bool = False
) -> Array:
    if factors.ndim > 2 or b.ndim > 2 or transpose:
        return generic.lu_solve(factors, permutation, b, transpose=transpose, conjugate=conjugate)
    x = triangular_solve(factors, b[permutation], unit_diagonal=True, conjugate=conjugate)
    return triangular_solve(factors, x, lower=False, conjugate=conjugate)


def column_order(x: Array, /) -> Array:
    _known("column_order", x)
    (factor,) = get_lapack_funcs(("geqp3",), (x,))
    order = np.empty((*x.shape[:-2], x.shape[-1]), dtype=np.int64)
    order[...] = np.arange(x.shape[-1])
    for index in np.ndindex(x.shape[:-2]) if x.size else ():
        order[index] = factor(x[index])[1] - 1
    return order


def pivoted_qr(x: Array, /, *, mode: str = "reduced") -> PivotedQRResult:
    if x.ndim > 2 or not x.size or x.dtype.char not in "fdFD" or not np.isfinite(x).all():
        return generic.pivoted_qr(x, mode=mode)
    mode = "full" if mode == "complete" else "economic"
    orthogonal, upper, order = scipy.linalg.qr(x, mode=mode, pivoting=True, check_finite=False)
    return PivotedQRResult(orthogonal, upper, order.astype(np.int64))


def schur_factors(x: Array, /) -> SchurResult:
    if x.dtype.char not in "FD":
        return schur_forms.schur_factors(x)
    triangle, unitary = np.empty_like(x, order="C"), np.empty_like(x, order="C")
    for index in np.ndindex(x.shape[:-2]) if x.size else ():
        triangle[index], unitary[index] = scipy.linalg.schur(x[index], check_finite=False)
    return SchurResult(triangle, unitary)


def sqrtm(x: Array, /) -> Array:
    if x.ndim > 2 or not x.size or x.dtype.char not in "fdFD" or not np.isfinite(x).all():
        return spectra.sqrtm(x)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")  # SciPy warns of singular matrices
            found: Array = scipy.linalg.sqrtm(x)
    except (ValueError, Warning, scipy.linalg.LinAlgError):
        return spectra.sqrtm(x)
    # The root of a real matrix with negative eigenvalues is complex, also if they are rounding errors.
    return found if found.dtype == x.dtype and np.isfinite(found).all() else spectra.sqrtm(x)


def solve_sylvester(a: Array, b: Array, q: Array, /) -> Array:
    is_one = a.ndim == b.ndim == q.ndim == 2 and q.size and q.dtype.char in "fdFD"
    if not is_one or not all(np.isfinite(x).all() for x in (a, b, q)):
        return spectra.solve_sylvester(a, b, q)
    x: Array = scipy.linalg.solve_sylvester(a, b, q)
    return x


def toeplitz(c: Array, r: Array | None = None, /) -> Array:
    r = c.conj() if r is None else r
    if not c.size or not r.size or c.shape[:-1] != r.shape[:-1]:
        return structured.toeplitz(c, r)
    # Rows are windows of all diagonals, from the lower left to the upper right corner.
    diagonals = np.concatenate([c[..., ::-1], r[..., 1:]], axis=-1)
    return np.lib.stride_tricks.sliding_window_view(diagonals, r.shape[-1], axis=-1)[..., ::-1, :].copy()


def tridiagonal_solve(dl: Array, d: Array, du: Array, b: Array, /) -> Array:
    if b.ndim > 2 or max(dl.ndim, d.ndim, du.ndim) > 1 or not b.size or len(d) < 2 or d.dtype.char not in "fdFD":
        return structured.tridiagonal_solve(dl, d, du, b)
    (solve,) = get_lapack_funcs(("gtsv",), (d, b))
    # A vector keeps its own layout: LAPACK would read rows as columns.
    *_, x, status = solve(dl[1:], d, du[:-1], b if b.ndim > 1 else b[:, None])
    if status > 0:  # LAPACK stops at a pivot of 0
        return structured.tridiagonal_solve(dl, d, du, b)
    return x if b.ndim > 1 else x[:, 0]


def least_squares(a: Array, b: Array, /, *, rtol: float | None = None) -> LstsqResult:
    if a.ndim > 2 or b.ndim > 2 or 0 in a.shape or not (np.isfinite(a).all() and np.isfinite(b).all()):
        return generic.least_squares(a, b, rtol=rtol)
    # A singular value decomposition that only applies the vectors, without computing them.
    x, _, rank, s = np.linalg.lstsq(a, b, rcond=lstsq.cutoff(xp, a, rtol))
    residual = b - a @ x
    with np.errstate(over="ignore"):  # sums of squares may be infinite
        squares = residual.real**2 + residual.imag**2 if a.dtype.kind == "c" else residual**2
        squares = np.asarray(np.sum(squares, axis=0))
    return LstsqResult(x, squares, np.asarray(rank, dtype=np.int64), s)


def expm(x: Array, /) -> Array:
    # For stacks of small matrices, SciPy's loop takes three times as long as the generic version.
    if x.ndim == 2 and x.dtype.char in "fdFD" and np.isfinite(x).all():
        with np.errstate(all="ignore"):
            found: Array = scipy.linalg.expm(x)
        if np.isfinite(found).all():
            return found
    return functions.expm(x)


def logm(x: Array, /) -> Array:
    if x.size and x.dtype.char in "fdFD" and np.isfinite(x).all():
        adjoint = x.swapaxes(-1, -2).conj()
        if np.array_equal(x, adjoint):
            values, vectors = np.linalg.eigh(x)
            if values.min() > 0.0:
                weighted = vectors * np.log(values)[..., None, :]
                return np.matmul(weighted, vectors.swapaxes(-1, -2).conj())
        if x.shape[-1] >= _SCHUR and x.dtype.char in "dD":
            found = np.empty_like(x)
            for index in np.ndindex(x.shape[:-2]):
                one = _logarithm(x[index])
                found[index] = functions.logm(x[index]) if one is None else one
            return found
    return functions.logm(x)


def _logarithm(x: Array) -> Array | None:
    """Compute the logarithm by SciPy, or return None if it may not be the principal one."""
    (factor,) = get_lapack_funcs(("getrf",), (x,))
    pivots = np.abs(factor(x)[0].diagonal())
    least, most = float(pivots.min()), float(pivots.max())
    if not (least > len(x) * _EPS * most and most < _FAR and least > 1.0 / _FAR):
        return None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # SciPy warns if results may be inaccurate
        found: Array = scipy.linalg.logm(x)
    # The logarithm of a real matrix with negative eigenvalues is complex.
    is_right = found.dtype == x.dtype and np.isfinite(found).all()
    return found if is_right else None


def cdist(x1: Array, x2: Array, /, metric: str = "euclidean", *, p: float = 2.0) -> Array:
    # SciPy's maximum ignores NaN.
    is_unsafe = metric == "chebyshev" and not (np.isfinite(x1).all() and np.isfinite(x2).all())
    if metric == "cosine" or x1.dtype.itemsize < 4 or is_unsafe:
        return distances.cdist(x1, x2, metric, p=p)
    from scipy.spatial import distance  # slow to import

    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    options = {"p": p} if metric == "minkowski" else {}
    if not batch:
        return np.asarray(distance.cdist(x1, x2, metric, **options)).astype(x1.dtype, copy=False)
    out = np.empty((*batch, x1.shape[-2], x2.shape[-2]), dtype=x1.dtype)
    x1, x2 = np.broadcast_to(x1, (*batch, *x1.shape[-2:])), np.broadcast_to(x2, (*batch, *x2.shape[-2:]))
    for lane in np.ndindex(batch):
        out[lane] = distance.cdist(x1[lane], x2[lane], metric, **options)
    return out
