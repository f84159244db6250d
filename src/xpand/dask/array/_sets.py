"""Sets: membership and distinct values.

The number of distinct values depends on the data, so most results have an unknown size (NaN) until they are computed.
"""

import math
from functools import partial
from typing import Any

import dask.array as da
import numpy as np

from ..._common.limits import as_floating
from ..._common.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from ...typing import Array
from ._blocks import Core, call, gather, map_core
from ._manipulation import reshape

_INDEX = np.dtype(np.intp)


def isin(
    x1: Array | int, x2: Array | int, /, *, assume_unique: bool = False, invert: bool = False, **kwargs: Any
) -> Array:
    """Return whether each element of `x1` is in `x2`. A Python number gets the data type of a floating-point array."""
    x1, x2 = as_floating(x1, x2, np), as_floating(x2, x1, np)
    return da.isin(x1, x2, assume_unique=assume_unique, invert=invert, **kwargs)


def _unique(function: str, x: Array, *outputs: Core) -> tuple[Array, ...]:
    return map_core(function, [x], [x.ndim], outputs)


def unique_values(x: Array, /) -> Array:
    """Return the distinct values; each NaN counts. Duplicates within blocks are removed before blocks are joined."""
    flat = reshape(x, (-1,))
    distinct = da.map_blocks(
        partial(call, function="unique_values"),
        flat,
        dtype=x.dtype,
        meta=flat._meta,
        chunks=((math.nan,) * flat.numblocks[0],),
    )
    if flat.numblocks[0] == 1:
        return distinct
    return gather("unique_values", (1,), (distinct, (0,)), dtype=x.dtype, sizes={1: math.nan})


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the distinct values, and their counts. The array is merged into one chunk."""
    unknown = (math.nan,)
    return UniqueCountsResult(*_unique("unique_counts", x, (unknown, x.dtype), (unknown, _INDEX)))


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the distinct values, and the indices that rebuild `x`. The array is merged into one chunk."""
    return UniqueInverseResult(*_unique("unique_inverse", x, ((math.nan,), x.dtype), (x.shape, _INDEX)))


def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the distinct values, first indices, inverse indices and counts. The array is merged into one chunk."""
    unknown = (math.nan,)
    return UniqueAllResult(
        *_unique("unique_all", x, (unknown, x.dtype), (unknown, _INDEX), (x.shape, _INDEX), (unknown, _INDEX))
    )
