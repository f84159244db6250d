"""Counts and histograms on JAX: the generic versions, compiled."""

from functools import partial
from typing import Any

import jax
import numpy as np

import xpand.jax as xp
from xpand import is_concrete
from xpand.extend import LibraryArray as Array, checks
from xpand_extensions.generic import histograms as generic
from xpand_extensions.generic.histograms import _pieces as pieces
from xpand_extensions.histograms import Histogram

from ._rows import bounds

is_ascending = jax.jit(generic.is_ascending)
digitize = jax.jit(generic.digitize, static_argnames=("right",))
_count = jax.jit(generic.bincount, static_argnames=("minlength", "length", "mode"))


def bincount(x: Array, /, *, weights: Any = None, minlength: int = 0, length: Any = None, mode: Any = None) -> Array:
    if mode == "raise":
        length = pieces.checked_length(x, minlength, length, *(bounds(x) if x.size else pieces.extremes(x)))
        mode = "drop"
    return _count(x, weights=weights, length=length, mode=mode)


def histogram(x: Array, /, bins: Any = 10, *, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    if not isinstance(bins, int):
        return Histogram(_histogram(x, bins, weights, False, density)[0], bins)
    if range is None:
        edges = histogram_bin_edges(x, bins)
    else:  # the compiled function puts them on the device of `x`, ten times faster than JAX does
        edges = _edges_of_range(bins, range, pieces.real_dtype(xp, x))
    return Histogram(*_histogram(x, edges, weights, True, density))


@partial(jax.jit, static_argnums=(3, 4))
def _histogram(x: Array, edges: Array, weights: Array | None, uniform: bool, density: bool) -> tuple[Array, Array]:
    return pieces.counted(pieces.find(x, edges, uniform), edges, weights, density).hist, edges


def histogram_bin_edges(x: Array, /, bins: int = 10, *, range: tuple[float, float] | None = None) -> Array:
    dtype = pieces.real_dtype(xp, x)
    if range is not None:
        return xp.asarray(_edges_of_range(bins, range, dtype), device=checks.device_of(x))
    edges = _edges_of_values(x, bins, dtype)
    if is_concrete(edges):
        _check_edges(np.asarray(edges), bins)
    return edges


def _edges_of_range(bins: int, range: tuple[float, float], dtype: Any) -> Any:
    """Compute the edges on the host."""
    edges = np.linspace(*range, bins + 1, dtype=dtype)
    _check_edges(edges, bins)
    return edges


def _check_edges(edges: Any, bins: int) -> None:
    if not (edges[..., 1:] > edges[..., :-1]).all():
        raise pieces.no_edges(np, edges, bins)


_edges_of_values = jax.jit(partial(pieces.edges_of_values, xp), static_argnums=(1, 2))


histogramdd = partial(pieces.histogramdd_by, jax.jit(pieces.find, static_argnums=2))
