"""Linear algebra: systems, factorizations, norms."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xpand_extensions import linalg
from xpand_extensions.tracing._core import bind

from .._arguments import all_axes, array, common, floating, integers, operand
from .._table import NO_VALUE, implements

_ONE: Final = np.ones((1, 1))
_CLASSES: Final[dict[str, Any]] = {
    name: type(getattr(np.linalg, name)(_ONE)) for name in ("eig", "eigh", "qr", "slogdet", "svd")
}
"""NumPy's classes of several results."""


def _of_one_matrix(name: str) -> Callable[..., Any]:
    return lambda xp, a: getattr(xp.linalg, name)(floating(xp, a))


for _name in ("det", "inv"):
    implements(f"linalg.{_name}")(_of_one_matrix(_name))


@implements("linalg.slogdet")
def _slogdet(xp: Any, a: Any) -> Any:
    return _CLASSES["slogdet"](*xp.linalg.slogdet(floating(xp, a)))


@implements("linalg.solve")
def _solve(xp: Any, a: Any, b: Any) -> Any:
    return xp.linalg.solve(*common(xp, [floating(xp, a), floating(xp, b)]))


@implements("linalg.tensorsolve")
def _tensorsolve(xp: Any, a: Any, b: Any, axes: Any = None) -> Any:
    x, y = floating(xp, a), floating(xp, b)
    if axes is not None:
        last = all_axes(x, axes)
        x = xp.permute_dims(x, (*[i for i in range(x.ndim) if i not in last], *last))
    shape = tuple(x.shape[y.ndim :])
    if x.size != y.size**2 or math.prod(shape) != y.size:
        raise np.linalg.LinAlgError(
            f"np.linalg.tensorsolve: the last axes of a must have as many elements as b, {y.size}, got "
            f"the shape {shape}"
        )
    return xp.reshape(_solve(xp, xp.reshape(x, (y.size, y.size)), xp.reshape(y, (-1,))), shape)


@implements("linalg.tensorinv")
def _tensorinv(xp: Any, a: Any, ind: int = 2) -> Any:
    x, ind = floating(xp, a), integers(ind)
    if ind <= 0:
        raise ValueError(f"np.linalg.tensorinv: ind must be positive, got {ind}")
    first, last = tuple(x.shape[:ind]), tuple(x.shape[ind:])
    return xp.reshape(xp.linalg.inv(xp.reshape(x, (math.prod(last), -1))), (*last, *first))


# Hermitian matrices: NumPy reads one triangle


def hermitian(xp: Any, x: Any, upper: bool) -> Any:
    """Return the Hermitian matrices that have one triangle of `x`; derivatives in the other are zero."""
    if x.ndim < 2:
        raise np.linalg.LinAlgError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    part = xp.triu(x, k=1) if upper else xp.tril(x, k=-1)
    other = xp.matrix_transpose(part)
    real = x
    if xp.is_complex(x.dtype):
        other, real = xp.conj(other), xp.astype(xp.real(x), x.dtype)
    return xp.where(xp.eye(x.shape[-1], dtype=xp.bool), real, part + other)


def _is_upper(UPLO: str) -> bool:
    if str(UPLO).upper() not in ("L", "U"):
        raise ValueError(f"UPLO argument must be 'L' or 'U', got {UPLO!r}")
    return UPLO.upper() == "U"


@implements("linalg.cholesky")
def _cholesky(xp: Any, a: Any, *, upper: bool = False) -> Any:
    return xp.linalg.cholesky(hermitian(xp, floating(xp, a), upper), upper=upper)


@implements("linalg.eigh")
def _eigh(xp: Any, a: Any, UPLO: str = "L") -> Any:
    upper = _is_upper(UPLO)
    x = hermitian(xp, floating(xp, a), upper)
    if not upper or xp.own_class is not np.ndarray:
        return _CLASSES["eigh"](*xp.linalg.eigh(x))
    lower = xp.operations["linalg.eigh"]
    rules = {name: getattr(lower, name) for name in ("batching", "derivative", "result", "shape")}
    op = xp.operation("linalg.eigh_of_upper", _eigh_of_upper, **rules)
    return _CLASSES["eigh"](*[xp.wrap(part) for part in bind(op, (x,), {})])


def _eigh_of_upper(x: Any) -> Any:
    """LAPACK's vectors for the other triangle may have other signs."""
    return np.linalg.eigh(x, UPLO="U")


@implements("linalg.eigvalsh")
def _eigvalsh(xp: Any, a: Any, UPLO: str = "L") -> Any:
    return xp.linalg.eigvalsh(hermitian(xp, floating(xp, a), _is_upper(UPLO)))


def _real_if_known(xp: Any, x: Any, values: Any, *others: Any) -> Any:
    """Return real arrays if all eigenvalues of real matrices are real, as NumPy does, where values are concrete."""
    if xp.is_complex(x.dtype) or values.is_traced or bool(xp.any(xp.imag(values) != 0)):
        return [values, *others]
    return [xp.real(part) for part in (values, *others)]


@implements("linalg.eig")
def _eig(xp: Any, a: Any) -> Any:
    x = floating(xp, a)
    return _CLASSES["eig"](*_real_if_known(xp, x, *xp.linalg.eig(x)))


@implements("linalg.eigvals")
def _eigvals(xp: Any, a: Any) -> Any:
    x = floating(xp, a)
    return _real_if_known(xp, x, xp.linalg.eigvals(x))[0]


# Singular values and orthogonal factors


@implements("linalg.svd")
def _svd(xp: Any, a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    x = floating(xp, a)
    if hermitian:
        return _svd_of_hermitian(xp, x, compute_uv)
    if not compute_uv:
        return xp.linalg.svdvals(x)
    return _CLASSES["svd"](*xp.linalg.svd(x, full_matrices=full_matrices))


def _svd_of_hermitian(xp: Any, x: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        return xp.sort(xp.abs(_eigvalsh(xp, x)), axis=-1)[..., ::-1]
    values, vectors = _eigh(xp, x)
    order = xp.argsort(xp.abs(values), axis=-1, stable=False)[..., ::-1]
    values = xp.take_along_axis(values, order, axis=-1)
    vectors = xp.take_along_axis(vectors, order[..., None, :], axis=-1)
    signs = xp.astype(xp.where(xp.signbit(values), -1.0, xp.ones_like(values)), vectors.dtype)
    right = xp.matrix_transpose(vectors * signs[..., None, :])
    return _CLASSES["svd"](vectors, xp.abs(values), xp.conj(right) if xp.is_complex(right.dtype) else right)


@implements("linalg.svdvals")
def _svdvals(xp: Any, x: Any) -> Any:
    return xp.linalg.svdvals(floating(xp, x))


@implements("linalg.qr")
def _qr(xp: Any, a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"np.linalg.qr: mode must be 'reduced', 'complete' or 'r' for traced arrays, got {mode!r}")
    factors = xp.linalg.qr(floating(xp, a), mode="reduced" if mode == "r" else mode)
    return factors[1] if mode == "r" else _CLASSES["qr"](*factors)


def _tolerance(xp: Any, x: Any) -> float:
    return max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)


@implements("linalg.pinv")
def _pinv(xp: Any, a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NO_VALUE) -> Any:
    x = floating(xp, a)
    if rcond is not None and rtol is not NO_VALUE:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if rcond is None:
        rcond = 1e-15 if rtol is NO_VALUE else _tolerance(xp, x) if rtol is None else rtol
    return xp.linalg.pinv(_one_triangle(xp, x) if hermitian else x, rtol=operand(xp, rcond))


def _one_triangle(xp: Any, x: Any) -> Any:
    return hermitian(xp, x, False)


@implements("linalg.matrix_rank")
def _matrix_rank(xp: Any, A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    x = array(xp, A)
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    if x.ndim < 2:
        return xp.astype(xp.any(x != 0), xp.int64)
    x = floating(xp, x)
    if 0 in x.shape[-2:]:
        return xp.zeros(tuple(x.shape[:-2]), dtype=xp.int64)
    values = xp.abs(_eigvalsh(xp, x)) if hermitian else xp.linalg.svdvals(x)
    if tol is None:
        relative = _tolerance(xp, x) if rtol is None else array(xp, rtol)[..., None]
        cutoff = xp.max(values, axis=-1, keepdims=True) * relative
    else:
        cutoff = array(xp, tol)[..., None]
    return xp.count_nonzero(values > cutoff, axis=-1)


@implements("linalg.matrix_power")
def _matrix_power(xp: Any, a: Any, n: int) -> Any:
    x, n = array(xp, a), integers(n)
    return xp.linalg.matrix_power(floating(xp, x) if n < 0 else x, n)


@implements("linalg.lstsq")
def _lstsq(xp: Any, a: Any, b: Any, rcond: Any = None) -> Any:
    x, y = common(xp, [floating(xp, a), floating(xp, b)])
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise np.linalg.LinAlgError(
            f"np.linalg.lstsq: a must be one matrix and b one vector or matrix, got {x.ndim} and {y.ndim} axes"
        )
    rows, columns = x.shape
    rtol = None if rcond is None else max(float(rcond), 0.0)
    if rcond is not None and float(rcond) < 0:
        rtol = float(np.finfo(x.dtype).eps)
    result: Any = linalg.lstsq(x, y, rtol=rtol)
    residuals = xp.reshape(result.residuals, (-1,))
    if rows <= columns or (not result.rank.is_traced and int(result.rank) < columns):
        residuals = residuals[:0]
    elif result.rank.is_traced:  # of a lower rank, NumPy's result is empty
        residuals = xp.where(result.rank < columns, math.nan, residuals)
    return result.x, residuals, xp.astype(result.rank, np.dtype("int32")), result.singular_values


# Norms and numbers of matrices


_OF_MATRICES: Final = ("fro", "nuc")


@implements("linalg.norm")
def _norm(xp: Any, x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x = floating(xp, x)
    if axis is None and (ord is None or (ord == "fro" and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        return xp.linalg.vector_norm(x, axis=None, keepdims=keepdims)
    axes = all_axes(x, axis)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"Invalid norm order '{ord}' for vectors")
        return xp.linalg.vector_norm(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ValueError("Improper number of dimensions to norm.")
    if ord is None:
        return xp.linalg.vector_norm(x, axis=axes, keepdims=keepdims)
    if ord not in (1, -1, 2, -2, math.inf, -math.inf, *_OF_MATRICES):
        raise ValueError(f"Invalid norm order {ord!r} for matrices.")
    if axes[0] == axes[1]:
        raise ValueError("Duplicate axes given.")
    norm = xp.linalg.matrix_norm(xp.moveaxis(x, axes, (-2, -1)), ord=ord)
    return xp.reshape(norm, tuple([1 if i in axes else n for i, n in enumerate(x.shape)])) if keepdims else norm


@implements("linalg.matrix_norm")
def _matrix_norm(xp: Any, x: Any, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return _norm(xp, x, "fro" if ord is None else ord, (-2, -1), keepdims)


@implements("linalg.vector_norm")
def _vector_norm(xp: Any, x: Any, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    axis = integers(axis)
    return xp.linalg.vector_norm(floating(xp, x), axis=axis, keepdims=keepdims, ord=2 if ord is None else ord)


@implements("linalg.cond")
def _cond(xp: Any, x: Any, p: Any = None) -> Any:
    x = floating(xp, x)
    has_nan = xp.any(xp.isnan(x), axis=(-2, -1))
    if p in (None, 2, -2):
        values = xp.linalg.svdvals(x)
        ends = (values[..., -1], values[..., 0]) if p == -2 else (values[..., 0], values[..., -1])
        return _quotient(xp, *ends, has_nan)
    one = xp.eye(x.shape[-1], dtype=x.dtype)
    matrices = xp.where(has_nan[..., None, None], one, x)
    is_singular = xp.linalg.slogdet(matrices)[0] == 0
    inverse = xp.linalg.inv(xp.where(is_singular[..., None, None], one, matrices))
    norm, other = _norm(xp, x, p, (-2, -1)), _norm(xp, inverse, p, (-2, -1))
    product = norm * xp.where(xp.isinf(norm) & (other == 0), 1.0, other)
    return _infinite(xp, xp.where(is_singular, math.inf, xp.where(has_nan, math.nan, product)), has_nan)


def _quotient(xp: Any, x: Any, y: Any, has_nan: Any) -> Any:
    """Return quotients of norms without a division by zero, which is infinite."""
    is_zero = (y == 0) & ~has_nan
    return _infinite(xp, xp.where(is_zero, math.inf, x / xp.where(is_zero, xp.ones_like(y), y)), has_nan)


def _infinite(xp: Any, x: Any, has_nan: Any) -> Any:
    """Return condition numbers, which as in NumPy are infinite if they are undefined."""
    return xp.where(xp.isnan(x) & ~has_nan, math.inf, x)


@implements("linalg.diagonal")
def _diagonal(xp: Any, x: Any, *, offset: int = 0) -> Any:
    return xp.linalg.diagonal(array(xp, x), offset=integers(offset))


@implements("linalg.trace")
def _trace(xp: Any, x: Any, *, offset: int = 0, dtype: Any = None) -> Any:
    dtype = None if dtype is None else np.dtype(dtype)
    return xp.sum(_diagonal(xp, x, offset=offset), axis=-1, dtype=dtype)
