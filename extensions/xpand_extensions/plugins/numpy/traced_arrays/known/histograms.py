"""Histograms and counts."""

from operator import index
from typing import Any

import numpy as np

from xpand_extensions import histograms
from xpand_extensions.tracing._reductions import flat

from .._arguments import array, ndim, values_of
from .._table import implements


def _limits(range: Any) -> Any:
    return None if range is None else tuple(float(x) for x in range)


def _is_number(bins: Any) -> bool:
    return ndim(bins) == 0


def _bins(xp: Any, name: str, a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """Return the number of bins, or their edges."""
    if isinstance(bins, str):  # a method that finds the number
        values = values_of(name, a, f"give the number of bins in place of bins={bins!r}")
        return len(np.histogram_bin_edges(values, bins, _limits(range), weights)) - 1
    return index(bins) if _is_number(bins) else array(xp, bins)


@implements("histogram")
def _histogram(xp: Any, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a = array(xp, a)
    edges = _bins(xp, "histogram", a, bins, range, weights)
    if weights is not None:
        weights = flat(array(xp, weights))
    result = histograms.histogram(flat(a), edges, range=_limits(range), weights=weights, density=bool(density))
    return tuple(result) if isinstance(edges, int) else (result[0], edges)


@implements("histogram_bin_edges")
def _histogram_bin_edges(xp: Any, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    a = array(xp, a)
    edges = _bins(xp, "histogram_bin_edges", a, bins, range, weights)
    if isinstance(edges, int):
        return histograms.histogram_bin_edges(flat(a), edges, range=_limits(range))
    return edges


@implements("histogramdd")
def _histogramdd(
    xp: Any, sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, list[Any]]:
    if isinstance(sample, (list, tuple)):
        points = array(xp, sample).mT
    else:
        points = array(xp, sample)
        points = xp.reshape(points, (-1, 1)) if points.ndim < 2 else points
    if range is not None or not xp.is_floating(points.dtype):
        points = xp.astype(points, xp.float64, copy=False)  # the data type of NumPy's edges
    given = [bins] * points.shape[-1] if _is_number(bins) else list(bins)
    edges = [_bins(xp, "histogramdd", points[:, i], part, None, None) for i, part in enumerate(given)]
    limits = None if range is None else [_limits(part) for part in range]
    if weights is not None:
        weights = xp.astype(array(xp, weights), xp.float64)
    found = histograms.histogramdd(points, edges, range=limits, weights=weights, density=bool(density))
    all_edges = [own if isinstance(part, int) else part for own, part in zip(found[1], edges)]
    return xp.astype(found[0], xp.float64, copy=False), all_edges


@implements("histogram2d")
def _histogram2d(
    xp: Any, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> tuple[Any, Any, Any]:
    if not _is_number(bins) and len(bins) != 2:  # edges for both
        bins = [bins[0] if len(bins) == 1 else bins] * 2
    counts, edges = _histogramdd(xp, [x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


@implements("bincount")
def _bincount(xp: Any, x: Any, weights: Any = None, minlength: Any = 0) -> Any:
    x = array(xp, x)
    values_of("bincount", x, "write `xpand_extensions.histograms.bincount(x, length=…)`")
    if weights is not None:
        weights = xp.astype(array(xp, weights), xp.float64, copy=False)
    return histograms.bincount(x, weights=weights, minlength=index(minlength))


@implements("digitize")
def _digitize(xp: Any, x: Any, bins: Any, right: bool = False) -> Any:
    return histograms.digitize(array(xp, x), array(xp, bins), right=bool(right))
