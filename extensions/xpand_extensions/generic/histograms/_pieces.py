"""Building blocks of histograms with the standard alone, for the plug-ins too."""

import builtins
import math
from collections.abc import Callable
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import DType, LibraryArray as Array, Namespace, checks
from xpand_extensions import histograms as facade, sorting
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import index_dtype
from xpand_extensions.histograms import Histogram, HistogramDD

Find: TypeAlias = Callable[[Array, Array, bool], Array]
"""Finds the bins of values of shape `(..., n)` between edges. Values in no bin get the number of bins."""


def extremes(x: Array) -> tuple[int, int]:
    """Return the smallest and largest of concrete integers, or 0 and -1 for an empty array."""
    return (0, -1) if 0 in x.shape else GenericAt.bounds(x)


def checked_length(x: Array, minlength: int, length: int | None, low: int, high: int) -> int:
    """Return the length of the result for values from `low` to `high`."""
    if low < 0:
        raise IndexError(
            f"bincount: x holds {low}, which is out of bounds; takes integers from 0 on, or choose mode='drop', "
            "'clip' or 'wrap'"
        )
    if length is None:
        return max(high + 1, minlength)
    if high >= length:
        raise IndexError(
            f"bincount: x holds {high}, which is out of bounds for length={length}; raise it, or choose mode='drop', "
            "'clip' or 'wrap'"
        )
    return length


def flat_ids(xp: Namespace, ids: Array, length: int) -> Array:
    """Number the bins of all rows consecutively. Bins beyond the last one of a row get the total number of bins."""
    if ids.ndim == 1:
        return ids
    rows = math.prod(ids.shape[:-1])
    ids = xp.reshape(ids, (rows, ids.shape[-1]))
    first = xp.arange(rows, dtype=ids.dtype, device=checks.device_of(ids))[:, None] * length
    return xp.reshape(xp.where(ids < length, ids + first, rows * length), (-1,))


def histogram_by(
    find: Find,
    x: Array,
    /,
    bins: int | Array = 10,
    *,
    range: tuple[float, float] | None = None,
    weights: Array | None = None,
    density: bool = False,
) -> Histogram:
    """Make a histogram with the function with which a library finds bins."""
    uniform = isinstance(bins, int)
    edges = facade.histogram_bin_edges.native(x)(x, bins, range=range) if uniform else bins
    return counted(find(x, edges, uniform), edges, weights, density)


def counted(ids: Array, edges: Array, weights: Array | None, density: bool) -> Histogram:
    """Make a histogram from the bins of the values."""
    xp = array_namespace(ids, weights)
    hist = facade.bincount.native(ids, weights)(ids, weights=weights, length=edges.shape[-1] - 1, mode="drop")
    if density:
        hist = normalized(xp, hist, xp.sum(hist, axis=-1, keepdims=True), widths(xp, edges))
    return Histogram(hist, edges)


def widths(xp: Namespace, edges: Array) -> Array:
    """Return the widths of bins, as floating-point numbers."""
    edges = xp.astype(edges, real_dtype(xp, edges), copy=False)
    return edges[..., 1:] - edges[..., :-1]


def normalized(xp: Namespace, hist: Array, total: Array, volume: Array) -> Array:
    """Divide by the total and by the volumes of the bins. If the total is zero, return NaN without a warning."""
    kind = checks.kind(xp, hist.dtype)
    dtype = xp.result_type(hist, volume) if kind in ("real", "complex") else volume.dtype
    hist, total = xp.astype(hist, dtype, copy=False), xp.astype(total, dtype, copy=False)
    return _quotient(xp, _quotient(xp, hist, total), xp.astype(volume, dtype, copy=False))


def _quotient(xp: Namespace, x: Array, divisor: Array) -> Array:
    """Divide without a warning: zero by zero is NaN, other numbers by zero are infinite."""
    safe = divisor != 0
    otherwise = xp.where((x == 0) | xp.isnan(x), math.nan, xp.full_like(x, math.inf))
    return xp.where(safe, x / xp.where(safe, divisor, 1), otherwise)


def edges_of_range(xp: Namespace, x: Array, bins: int, range: tuple[float, float], dtype: DType) -> Array:
    """Place edges between two numbers, in double precision, so that every library gets NumPy's edges."""
    low, high = range
    step = (high - low) / bins
    edges = [i * step + low for i in builtins.range(bins)] + [high]
    return xp.asarray(edges, dtype=dtype, device=checks.device_of(x))


def edges_of_values(xp: Namespace, x: Array, bins: int, dtype: DType) -> Array:
    """Place edges between the smallest and the largest value of each row."""
    device = checks.device_of(x)
    if x.shape[-1]:
        low = xp.astype(xp.min(x, axis=-1, keepdims=True), dtype, copy=False)
        high = xp.astype(xp.max(x, axis=-1, keepdims=True), dtype, copy=False)
    else:
        low = xp.zeros((*x.shape[:-1], 1), dtype=dtype, device=device)
        high = xp.ones_like(low)
    half = xp.astype(low == high, dtype) / 2
    low, high = low - half, high + half
    steps = xp.astype(xp.arange(bins, dtype=index_dtype(xp, device), device=device), dtype)
    return xp.concat([steps * ((high - low) / bins) + low, high], axis=-1)


def no_edges(xp: Namespace, edges: Array, bins: int) -> ValueError:
    """Make the error for a range that cannot be divided into bins of equal width."""
    if not bool(xp.all(xp.isfinite(edges))):
        return ValueError(
            "histogram: the smallest and the largest value of x, or their difference, is not finite; give a range"
        )
    return ValueError(f"histogram: no {edges.dtype} has room for {bins} bins of equal width in this range; take fewer")


def real_dtype(xp: Namespace, x: Array) -> DType:
    """Return the data type of the edges: that of the values, or for integers the widest float up to float64."""
    if checks.kind(xp, x.dtype) == "real":
        return x.dtype
    info = xp.__array_namespace_info__()
    device = checks.device_of(x)
    known = info.dtypes(device=device, kind="real floating")
    return known["float64"] if "float64" in known else info.default_dtypes(device=device)["real floating"]


def find(x: Array, edges: Array, uniform: bool) -> Array:
    xp = array_namespace(x, edges)
    bins = edges.shape[-1] - 1
    x = xp.astype(x, edges.dtype, copy=False)
    first, last = edges[..., :1], edges[..., -1:]
    inside = (x >= first) & (x <= last)
    device = checks.device_of(x)
    dtype = index_dtype(xp, device)
    if uniform:
        found = _calculated(xp, xp.where(inside, x, first), edges, bins, dtype)
    else:
        found = sorting.searchsorted.native(edges, x)(edges, x, side="right") - 1
    # The last bin includes its right edge.
    found = xp.minimum(found, xp.full((), bins - 1, dtype=dtype, device=device))
    return xp.where(inside, found, xp.full((), bins, dtype=dtype, device=device))


def _calculated(xp: Namespace, x: Array, edges: Array, bins: int, dtype: DType) -> Array:
    """Find the bins of values between the edges by arithmetic. Values on the very last edge get the number of bins."""
    first, last = edges[..., :1], edges[..., -1:]
    guess = xp.astype((x - first) / (last - first) * bins, dtype)
    guess = xp.clip(guess, 0, bins - 1)
    # The guess is wrong by at most one, from rounding. Compare with the edges.
    below = x < _at(xp, edges, guess)
    above = x >= _at(xp, edges, guess + 1)
    return guess - xp.astype(below, dtype) + xp.astype(above, dtype)


def _at(xp: Namespace, edges: Array, index: Array) -> Array:
    if edges.ndim > 1:
        return xp.take_along_axis(edges, index, axis=-1)
    return xp.reshape(xp.take(edges, xp.reshape(index, (-1,)), axis=0), index.shape)


def histogramdd_by(
    find: Find,
    sample: Array,
    /,
    bins: Any = 10,
    *,
    range: Any = None,
    weights: Array | None = None,
    density: bool = False,
) -> HistogramDD:
    """Make a histogram of points with the function with which a library finds bins."""
    xp = array_namespace(sample, weights, *bins)
    all_edges, shape = [], []
    flat: Any = None
    inside: Any = None
    for axis, (bins_here, range_here) in enumerate(zip(bins, range)):
        x = sample[..., axis]
        uniform = isinstance(bins_here, int)
        edges = facade.histogram_bin_edges.native(x)(x, bins_here, range=range_here) if uniform else bins_here
        ids = find(x, edges, uniform)
        count = edges.shape[-1] - 1
        flat = ids if flat is None else flat * count + ids
        inside = ids < count if inside is None else inside & (ids < count)
        all_edges.append(edges)
        shape.append(count)
    length = math.prod(shape)
    flat = xp.where(inside, flat, length)
    hist = facade.bincount.native(flat, weights)(flat, weights=weights, length=length, mode="drop")
    lead = tuple(sample.shape[:-2])
    if density:
        total = xp.reshape(xp.sum(hist, axis=-1), (*lead, *(1 for _ in shape)))
    hist = xp.reshape(hist, (*lead, *shape))
    if density:
        hist = normalized(xp, hist, total, _volumes(xp, all_edges))
    return HistogramDD(hist, tuple(all_edges))


def _volumes(xp: Namespace, all_edges: list[Array]) -> Array:
    """Multiply the widths of bins along each dimension. The dimensions are the last axes of the result."""
    volume: Any = None
    for axis, edges in enumerate(all_edges):
        width = widths(xp, edges)
        ones = [1] * len(all_edges)
        ones[axis] = width.shape[-1]
        width = xp.reshape(width, (*width.shape[:-1], *ones))
        volume = width if volume is None else volume * width
    return volume
