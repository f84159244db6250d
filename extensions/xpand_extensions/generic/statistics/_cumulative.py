"""Cumulative operations with the standard alone: partial results over twice as many elements each time."""

import math
from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions.statistics._initial import with_initial

from .._last_axis import from_last, to_last


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    return with_initial(_accumulated(xp, xp.maximum, x, axis), "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    return with_initial(_accumulated(xp, xp.minimum, x, axis), "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    xp = array_namespace(x)
    # NaN is kept out of the sums, since NumPy warns of it there, and put back from the first one on.
    nan = xp.isnan(x)
    total = _accumulated(xp, xp.logaddexp, xp.where(nan, xp.zeros_like(x), x), axis)
    seen = xp.cumulative_sum(xp.astype(nan, index_dtype(xp, checks.device_of(x))), axis=axis) > 0
    total = xp.where(seen, xp.full((), math.nan, dtype=x.dtype, device=checks.device_of(x)), total)
    return with_initial(total, "logcumsumexp", axis, include_initial)


def _accumulated(xp: Namespace, function: Callable[[Array, Array], Array], x: Array, axis: int) -> Array:
    rows = to_last(xp, x, axis)
    shift = 1
    while shift < rows.shape[-1]:
        rows = xp.concat([rows[..., :shift], function(rows[..., :-shift], rows[..., shift:])], axis=-1)
        shift *= 2
    return from_last(xp, rows, axis)
