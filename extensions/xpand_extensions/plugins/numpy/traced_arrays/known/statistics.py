"""Averages, quantiles, covariances."""

from functools import cache
from typing import Any

import numpy as np

from xpand import check
from xpand_extensions import statistics
from xpand_extensions.tracing._methods import METHODS

from .._arguments import all_axes, array, common, dtype_of, floating, integers
from .._table import Implementation, implements


@implements("average")
def _average(
    xp: Any, a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    a, axis = array(xp, a), integers(axis)
    if weights is None:
        result = METHODS["mean"](a, axis, keepdims=keepdims)
        total = xp.full_like(result, a.size / max(result.size, 1))
    else:
        weights = _spread(xp, array(xp, weights), a, axis)
        a, weights = common(xp, [a, weights])
        if not xp.is_floating(a.dtype):
            a, weights = (xp.astype(x, xp.float64) for x in (a, weights))
        total = xp.sum(weights, axis=axis, keepdims=keepdims)
        check(total != 0, "np.average: the weights add up to zero", error=ZeroDivisionError)
        result = xp.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (result, total) if returned else result


def _spread(xp: Any, weights: Any, a: Any, axis: Any) -> Any:
    """Return weights of the shape of the array, of weights along some of its axes."""
    if tuple(weights.shape) == tuple(a.shape):
        return weights
    if axis is None:
        raise TypeError(
            f"np.average: weights of shape {tuple(weights.shape)} for an array of shape {tuple(a.shape)} need axis=, "
            "the axes that they belong to"
        )
    axes = all_axes(a, axis)
    if tuple(weights.shape) != tuple(a.shape[i] for i in axes):
        raise ValueError(
            f"np.average: weights must have the shape of the axes {axes} of the array, "
            f"{tuple(a.shape[i] for i in axes)}, got {tuple(weights.shape)}"
        )
    order = sorted(range(len(axes)), key=axes.__getitem__)
    shape = tuple(size if i in axes else 1 for i, size in enumerate(a.shape))
    return xp.broadcast_to(xp.reshape(xp.permute_dims(weights, tuple(order)), shape), tuple(a.shape))


def _median(name: str) -> Implementation:
    function = getattr(statistics, name)

    def compute(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return function(floating(xp, a), axis=integers(axis), keepdims=keepdims)

    return compute


def _quantile(name: str, scale: int) -> Implementation:
    function = getattr(statistics, name)

    def compute(
        xp: Any,
        a: Any,
        q: Any,
        axis: Any = None,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: Any = None,
    ) -> Any:
        a = array(xp, a)
        is_number = type(q) in (int, float)
        q = float(q) if is_number else array(xp, q)
        dtype = _quantile_dtype(a.dtype, None if is_number else q.dtype, method)
        a = xp.astype(a, np.result_type(dtype, xp.float64) if dtype.kind not in "f" else dtype, copy=False)
        options: dict[str, Any] = {"axis": integers(axis), "method": method, "keepdims": keepdims}
        if weights is not None:
            options["weights"] = xp.astype(array(xp, weights), a.dtype, copy=False)
        if is_number:
            result = function(a, q / scale, **options)
        else:
            fractions = xp.astype(q, a.dtype, copy=False) / scale
            result = function(a, xp.reshape(fractions, (-1,)) if q.ndim > 1 else fractions, **options)
            if q.ndim > 1:
                result = xp.reshape(result, (*q.shape, *result.shape[1:]))
        return xp.astype(result, dtype, copy=False)

    return compute


@cache
def _quantile_dtype(dtype: Any, dtype_of_q: Any, method: str) -> Any:
    """Return the data type of NumPy's result, which depends on whether the method interpolates."""
    q = 0.5 if dtype_of_q is None else np.asarray([0], dtype=dtype_of_q)
    return np.quantile(np.ones(2, dtype=dtype), q, method=method).dtype  # type: ignore[call-overload]


for _prefix in ("", "nan"):
    implements(f"{_prefix}median")(_median(f"{_prefix}median"))
    implements(f"{_prefix}quantile")(_quantile(f"{_prefix}quantile", 1))
    implements(f"{_prefix}percentile")(_quantile(f"{_prefix}quantile", 100))


def _variables(xp: Any, x: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """Return a matrix with a variable in each row."""
    parts = [array(xp, part) for part in ((x,) if y is None else (x, y))]
    for part in parts:
        if part.ndim > 2:
            raise ValueError(f"np.cov: the arrays of observations have at most two axes, got {part.ndim}")
    dtype = np.result_type(np.float64, *(part.dtype for part in parts)) if dtype is None else dtype_of(dtype)
    rows = []
    for i, part in enumerate(parts):
        row = xp.reshape(part, (1, -1)) if part.ndim < 2 else part
        is_column = not rowvar and (part.ndim != 1 if i == 0 else row.shape[0] != 1)
        rows.append(xp.astype(row.mT if is_column else row, dtype, copy=False))
    return xp.concat(rows, axis=0)


@implements("cov")
def _cov(
    xp: Any,
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    options: dict[str, Any] = {"correction": float(not bias) if ddof is None else float(ddof)}
    if fweights is not None:
        options["fweights"] = array(xp, fweights)
    if aweights is not None:
        options["aweights"] = floating(xp, aweights)
    result = statistics.cov(_variables(xp, m, y, rowvar, dtype), **options)
    return xp.reshape(result, ()) if result.shape == (1, 1) else result


@implements("corrcoef")
def _corrcoef(xp: Any, x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    result = statistics.corrcoef(_variables(xp, x, y, rowvar, dtype))
    return xp.reshape(result, ()) if result.shape == (1, 1) else result
