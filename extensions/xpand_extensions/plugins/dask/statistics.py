"""Statistics on Dask: each block by its own library, and Dask's cumulative reductions.

The generic versions sort, or pass over the array log(size) times. Both take very many tasks.
"""

from functools import partial
from typing import Any

import numpy as np
from dask.array.reductions import cumreduction

import xpand.dask.array as xp
from xpand.dask.array._blocks import along_axis, gather, map_core
from xpand.extend import LibraryArray as Array
from xpand_extensions import statistics as facade
from xpand_extensions.generic._last_axis import as_last
from xpand_extensions.generic.statistics._order import arranged, as_array
from xpand_extensions.statistics._arguments import identity, with_initial


def _quantile(
    function: Any,
    x: Array,
    /,
    q: Any,
    *,
    axis: Any = None,
    method: Any = "linear",
    keepdims: bool = False,
    weights: Any = None,
) -> Array:
    q = as_array(xp, x, q)
    flat = as_last(xp, x, axis)
    axes, of_q = tuple(range(flat.ndim)), flat.ndim
    operands = [(flat, axes), (q.reshape(-1).rechunk(-1), (of_q,))]
    if weights is not None:
        whole = weights.ndim == x.ndim
        operands.append((as_last(xp, weights, axis) if whole else weights, axes if whole else axes[-1:]))
    result = gather(_of_a_block, (*axes[:-1], of_q), *operands, dtype=flat.dtype, quantile=function, method=method)
    return arranged(xp, result, x, q, axis, keepdims)


def _of_a_block(x: Array, q: Array, weights: Array | None = None, *, quantile: Any, method: Any) -> Array:
    # Fractions out of bounds give NaN: the facade can't check lazy ones.
    options = {} if weights is None else {"weights": weights}
    found = quantile.native(x)(x, q, axis=(x.ndim - 1,), method=method, **options)
    return found.transpose(*range(1, found.ndim), 0)


def rankdata(x: Array, /, method: Any = "average", *, axis: Any = None) -> Array:
    dtype = np.dtype(np.float64 if method == "average" or x.dtype.kind == "f" else np.int64)
    rows = as_last(xp, x, range(x.ndim)) if axis is None else x
    return along_axis(_rankdata, rows, axis or 0, dtype=dtype, method=method)


def _rankdata(block: Array, *, axis: int, method: Any) -> Array:
    return facade.rankdata(block, method, axis=axis)


def mode(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> facade.Mode:
    rows = as_last(xp, x, axis)
    found = map_core(_mode, [rows], [1], [((), x.dtype), ((), np.dtype(np.int64))])
    if keepdims:
        shape = tuple([1 if i in axis else size for i, size in enumerate(x.shape)])
        return facade.Mode(*[part.reshape(shape) for part in found])
    return facade.Mode(*found)


def _mode(block: Array) -> Any:
    return facade.mode(block, axis=-1)


def _cumulative(function: Any, combine: Any, x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    name = function.__name__
    result = x
    if x.size:
        result = cumreduction(function, lambda a, b: combine(a, b), identity(xp, x, name), x, axis=axis, dtype=x.dtype)
    return with_initial(result, name, axis, include_initial)


quantile = partial(_quantile, facade.quantile)
nanquantile = partial(_quantile, facade.nanquantile)
cumulative_max = partial(_cumulative, facade.cumulative_max, xp.maximum)
cumulative_min = partial(_cumulative, facade.cumulative_min, xp.minimum)
logcumsumexp = partial(_cumulative, facade.logcumsumexp, xp.logaddexp)
