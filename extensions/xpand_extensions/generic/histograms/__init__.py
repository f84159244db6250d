"""Counts and histograms with the standard alone: find bins by arithmetic or bisection, then scatter."""

import math
from functools import partial
from typing import Any

from xpand import array_namespace, is_concrete
from xpand.extend import Array
from xpand_extensions import scatter, sorting
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import resolve

from ._pieces import (
    checked_length,
    edges_of_range,
    edges_of_values,
    extremes,
    find,
    flat_ids,
    histogram_by,
    histogramdd_by,
    no_edges,
    real_dtype,
)


def bincount(x: Array, /, *, weights: Any = None, minlength: int = 0, length: Any = None, mode: Any = None) -> Array:
    xp = array_namespace(x, weights)
    if mode == "raise":
        length = checked_length(x, minlength, length, *extremes(x))
        mode = "drop"
    rows = math.prod(x.shape[:-1])
    ids, _ = resolve("bincount", xp, x, length, mode, GenericAt.bounds, axis=None, from_end=False)
    ids = flat_ids(xp, ids, length)
    if weights is None:
        weights = xp.ones_like(ids)
    total = scatter.segment_sum(xp.reshape(weights, (-1,)), ids, num_segments=rows * length, mode="drop")
    return xp.reshape(total, (*x.shape[:-1], length))


histogram = partial(histogram_by, find)
histogramdd = partial(histogramdd_by, find)


def histogram_bin_edges(x: Array, /, bins: int = 10, *, range: tuple[float, float] | None = None) -> Array:
    xp = array_namespace(x)
    dtype = real_dtype(xp, x)
    edges = edges_of_range(xp, x, bins, range, dtype) if range is not None else edges_of_values(xp, x, bins, dtype)
    if is_concrete(edges) and not bool(xp.all(edges[..., 1:] > edges[..., :-1])):
        raise no_edges(xp, edges, bins)
    return edges


def is_ascending(edges: Array, /) -> Array:
    xp = array_namespace(edges)
    if edges.shape[-1] <= 1:
        return xp.all(xp.equal(edges, edges))  # NaN has no order
    return xp.all(xp.less_equal(edges[..., :-1], edges[..., 1:]))


def digitize(x: Array, edges: Array, /, *, right: bool = False) -> Array:
    xp = array_namespace(x, edges)
    side: sorting.Side = "left" if right else "right"
    count = edges.shape[0]
    if count < 2:
        return sorting.searchsorted.native(edges, x)(edges, x, side=side)
    descending = edges[0] > edges[-1]
    if is_concrete(descending):
        if not bool(descending):
            return sorting.searchsorted.native(edges, x)(edges, x, side=side)
        return count - sorting.searchsorted.native(edges, x)(xp.flip(edges), x, side=side)
    found = sorting.searchsorted.native(edges, x)(xp.where(descending, xp.flip(edges), edges), x, side=side)
    return xp.where(descending, count - found, found)
