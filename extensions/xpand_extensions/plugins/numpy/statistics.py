"""Statistics on NumPy: partitions for quantiles, and reductions and accumulations of ufuncs."""

from typing import Any

import numpy as np

from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions.generic import statistics as generic
from xpand_extensions.generic._last_axis import as_last
from xpand_extensions.generic.statistics import _order as order
from xpand_extensions.generic.statistics._ranks import longest, mode_by, rank_by
from xpand_extensions.statistics import Mode
from xpand_extensions.statistics._arguments import with_initial

from .scatter import WIDE


def quantile(
    x: Array, /, q: Any, *, axis: Any = None, method: Any = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    flat = as_last(np, x, axis)
    if isinstance(q, float) and method == "linear" and flat.shape[-1]:
        return _quantile(flat, q).reshape(order.shape(x, (), axis, keepdims))
    return generic.quantile(x, q, axis=axis, method=method, keepdims=keepdims, weights=weights)


def _quantile(x: Array, q: float) -> Array:
    """Interpolate with a known fraction. Arrays of one value would take most of the time."""
    low, high, part = order.position(q, x.shape[-1])
    ordered = np.partition(x, (low, high), axis=-1)
    first, second = ordered[..., low], ordered[..., high]
    last = np.max(ordered[..., high:], axis=-1)
    if part:
        with np.errstate(invalid="ignore"):  # between opposite infinities
            between = first * x.dtype.type(1 - part) + second * x.dtype.type(part)
        first = np.where(first == second, first, between)
    return np.asarray(np.where(np.isnan(last), last, first))


def mode(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Mode:
    return mode_by(np.sort, _longest, x, axis, keepdims)  # a stable sort takes ten times as long


def _longest(xp: Namespace, new: Array) -> tuple[Array, Array]:
    if new.ndim > 1:
        return longest(xp, new)
    starts = np.flatnonzero(new)
    counts = np.diff(starts, append=new.size)
    most = counts.argmax(keepdims=True)
    return starts[most], counts[most]


def rankdata(x: Array, /, method: str = "average", *, axis: Any = None) -> Array:
    return rank_by(_placed, x, method, axis)


def _placed(order: Array, values: Array) -> Array:
    placed = np.empty(values.shape, values.dtype)
    np.put_along_axis(placed, order, values, axis=-1)
    return placed


def nanmin(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    if 0 in x.shape or not x.ndim:
        return generic.nanmin(x, axis=axis, keepdims=keepdims)
    return np.fmin.reduce(x, axis=axis, keepdims=keepdims)


def nanmax(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    if 0 in x.shape or not x.ndim:
        return generic.nanmax(x, axis=axis, keepdims=keepdims)
    return np.fmax.reduce(x, axis=axis, keepdims=keepdims)


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(np.maximum.accumulate(x, axis=axis), "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(np.minimum.accumulate(x, axis=axis), "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    with np.errstate(invalid="ignore"):  # NaN, on some platforms
        total = np.logaddexp.accumulate(x, axis=axis, dtype=WIDE.get(x.dtype.char)).astype(x.dtype, copy=False)
        return with_initial(total, "logcumsumexp", axis, include_initial)
