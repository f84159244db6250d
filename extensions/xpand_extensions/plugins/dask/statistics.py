"""Statistics on Dask: each block by its own library, and Dask's cumulative reductions.

The generic versions sort, or pass over the array log(size) times. Both take very many tasks.
"""

from functools import partial
from typing import Any

from dask.array.reductions import cumreduction

import xpand.dask.array as xp
from xpand.dask.array._blocks import gather
from xpand.extend import LibraryArray as Array
from xpand_extensions import statistics as facade
from xpand_extensions.generic._last_axis import as_last
from xpand_extensions.generic.statistics._order import arranged, as_array
from xpand_extensions.statistics._arguments import identity, with_initial


def _quantile(
    function: Any, x: Array, /, q: Any, *, axis: Any = None, method: Any = "linear", keepdims: bool = False
) -> Array:
    q = as_array(xp, x, q)
    flat = as_last(xp, x, axis)
    axes, of_q = tuple(range(flat.ndim)), flat.ndim
    operands = (flat, axes), (q.reshape(-1).rechunk(-1), (of_q,))
    result = gather(_of_a_block, (*axes[:-1], of_q), *operands, dtype=flat.dtype, quantile=function, method=method)
    return arranged(xp, result, x, q, axis, keepdims)


def _of_a_block(x: Array, q: Array, *, quantile: Any, method: Any) -> Array:
    # Fractions out of bounds give NaN: the facade can't check lazy ones.
    found = quantile.native(x)(x, q, axis=(x.ndim - 1,), method=method)
    return found.transpose(*range(1, found.ndim), 0)


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
