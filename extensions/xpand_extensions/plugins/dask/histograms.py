"""Counts and histograms on Dask: each block's library counts, then the counts of all blocks are summed."""

from functools import partial
from typing import Any

import dask.array as da

import xpand.dask.array as xp
from xpand.dask.array._blocks import gather
from xpand.extend import LibraryArray as Array
from xpand_extensions import histograms as facade
from xpand_extensions._bounds import Mode
from xpand_extensions.generic.histograms import _pieces as pieces


def bincount(x: Array, /, *, weights: Any = None, minlength: int = 0, length: Any = None, mode: Any = None) -> Array:
    axes = tuple(range(x.ndim))
    arrays = (x, axes) if weights is None else (x, axes, weights, axes)
    dtype = "int64" if weights is None else weights.dtype
    blocks = da.blockwise(
        _count_block,
        (*axes, x.ndim),
        *arrays,
        length=length,
        mode=mode,
        new_axes={x.ndim: length},
        adjust_chunks={x.ndim - 1: 1},
        meta=da.utils.meta_from_array(x, ndim=x.ndim + 1, dtype=dtype),
    )
    return xp.sum(blocks, axis=-2, dtype=blocks.dtype)


def _count_block(x: Array, weights: Array | None = None, *, length: int, mode: Mode) -> Array:
    return facade.bincount(x, weights=weights, length=length, mode=mode)[..., None, :]


def _find(x: Array, edges: Array, uniform: bool) -> Array:
    axes = tuple(i + 1 for i, _ in enumerate(x.shape))
    of_edges = (0,) if edges.ndim == 1 else (*axes[:-1], 0)
    return gather(pieces.find, axes, (x, axes), (edges, of_edges), dtype="int64", uniform=uniform)


histogram = partial(pieces.histogram_by, _find)
histogramdd = partial(pieces.histogramdd_by, _find)
