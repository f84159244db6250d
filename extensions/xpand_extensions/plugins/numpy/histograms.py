"""Counts and histograms on NumPy: `np.bincount`, and bins of equal width by arithmetic, in blocks for the cache."""

from typing import Any, Final

import numpy as np

from xpand.extend import LibraryArray as Array
from xpand_extensions.generic import histograms as generic
from xpand_extensions.generic.histograms import _pieces as pieces
from xpand_extensions.histograms import Histogram

_BLOCK: Final = 1 << 14
"""This number of values and their results fit into the second-level cache."""


def bincount(x: Array, /, *, weights: Any = None, minlength: int = 0, length: Any = None, mode: Any = None) -> Array:
    plain = x.ndim == 1 and x.size and (weights is None or weights.dtype.kind in "fc")
    if not plain or mode in ("clip", "wrap") or x.dtype == np.uint64:
        return generic.bincount(x, weights=weights, minlength=minlength, length=length, mode=mode)
    if length is None:
        try:
            return _counted(x, weights, minlength)
        except ValueError:
            pieces.checked_length(x, minlength, length, *pieces.extremes(x))
            raise
    low, high = int(x.min()), int(x.max())
    if mode == "raise":
        pieces.checked_length(x, minlength, length, low, high)
    elif low < 0 or high >= length:
        inside = (x >= 0) & (x < length)
        x, weights = x[inside], None if weights is None else weights[inside]
    return _counted(x, weights, length)


def _counted(x: Array, weights: Array | None, length: int) -> Array:
    if weights is None:
        return np.bincount(x, minlength=length)
    if weights.dtype.kind == "f":
        return np.bincount(x, weights, length).astype(weights.dtype, copy=False)
    parts = (np.bincount(x, part, length) for part in (weights.real, weights.imag))
    real, imaginary = parts
    total = np.empty(real.shape, dtype=weights.dtype)
    total.real, total.imag = real, imaginary
    return total


def histogram(x: Array, /, bins: Any = 10, *, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    if x.ndim > 1 or not isinstance(bins, int) or weights is not None or density or not x.size:
        return generic.histogram(x, bins, range=range, weights=weights, density=density)
    edges = histogram_bin_edges(x, bins, range=range)
    return Histogram(_count_between(x, edges, all_inside=range is None), edges)


def _count_between(x: Array, edges: Array, *, all_inside: bool) -> Array:
    bins = len(edges) - 1
    hist: Array = np.zeros(bins + 1, dtype=np.intp)
    first, last = edges[0], edges[-1]
    # The last bin includes its right edge. So no element is too large for it, and elements in the bin after it are
    # moved back.
    lower: Array = np.append(edges[:-1], edges.dtype.type(np.inf))
    upper = np.concatenate([edges[1:-1], np.full(2, np.inf, dtype=edges.dtype)])
    scale = last - first
    start = 0
    while start < len(x):
        part = x[start : start + _BLOCK].astype(edges.dtype, copy=False)
        start += _BLOCK
        if not all_inside:
            inside = (part >= first) & (part <= last)
            if not inside.all():
                part = part[inside]
        guess = part - first
        guess /= scale
        guess *= bins
        found = guess.astype(np.intp)
        found -= part < lower[found]
        found += part >= upper[found]
        hist += np.bincount(found, minlength=bins + 1)
    return hist[:bins]


def histogram_bin_edges(x: Array, /, bins: int = 10, *, range: tuple[float, float] | None = None) -> Array:
    dtype = np.dtype(np.float64) if x.dtype.kind in "iu" else x.dtype
    if range is not None:
        edges = np.linspace(*range, bins + 1, dtype=dtype)
    else:
        with np.errstate(over="ignore", invalid="ignore"):  # NumPy raises below for other objects and too large numbers
            edges = pieces.edges_of_values(np, x, bins, dtype)
    if not (edges[..., 1:] > edges[..., :-1]).all():
        raise pieces.no_edges(np, edges, bins)
    return edges


def is_ascending(edges: Array, /) -> Any:
    return (edges[..., :-1] <= edges[..., 1:]).all() if edges.shape[-1] > 1 else (edges == edges).all()
