"""Counts and histograms on PyTorch: by `torch.bincount` without weights, or by NumPy if it can read the values."""

from functools import partial
from typing import Any, Final

import torch

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import histograms as generic
from xpand_extensions.generic.histograms import _pieces as pieces
from xpand_extensions.histograms import Histogram
from xpand_extensions.plugins.numpy import histograms as host

from ._plain import is_on_host, on_host
from ._unsigned import on_ordered, ordered
from .scatter import TorchAt

# Plain values need no derivatives, which NumPy would lose.
_on_host: Final = partial(is_on_host, dtypes=(torch.float32, torch.float64, torch.int64, torch.int32))


@forwards_to(generic.bincount)
def bincount(
    x: Array, /, *, weights: Array | None = None, minlength: int = 0, length: Any = None, mode: Any = None
) -> Array:
    if mode == "raise":
        if x.ndim == 1 and weights is None and length is None and x.dtype not in SIGNED:
            try:
                return torch.bincount(x, minlength=minlength)
            except RuntimeError:
                pieces.checked_length(x, minlength, length, *_extremes(x))
                raise
        length = pieces.checked_length(x, minlength, length, *_extremes(x))
        mode = "drop"
    if mode == "drop" and x.ndim == 1 and weights is None and x.dtype not in SIGNED and is_concrete(x):
        low, high = _extremes(x)
        if low >= 0 and high <= length:  # values equal to `length` are in no bin
            return torch.bincount(x, minlength=length + 1)[:length]
    if x.dtype in SIGNED and x.dtype != torch.uint64:
        x = x.to(torch.int64)
    return generic.bincount(x, weights=weights, length=length, mode=mode)


def _extremes(x: Array) -> tuple[int, int]:
    return (0, -1) if 0 in x.shape else TorchAt.bounds(x)


@forwards_to(generic.histogram)
def histogram(x: Array, /, bins: Any = 10, *, range: Any = None, **options: Any) -> Histogram:
    if options["weights"] is None and not options["density"] and _on_host(x):
        # Measured for 100,000 values: 0.4 ms; PyTorch takes 1.4 ms for the same steps.
        if isinstance(bins, int):
            return Histogram(*map(torch.from_numpy, host.histogram(x.numpy(force=True), bins, range=range)))
        if _on_host(bins):
            return Histogram(on_host(lambda x, edges: host.histogram(x, edges).hist, x, bins), bins)
    return pieces.histogram_by(_find, x, bins, range=range, **options)


def is_ascending(edges: Array, /) -> Array:
    return on_host(host.is_ascending, edges) if _on_host(edges) else generic.is_ascending(edges)


def _find(x: Array, edges: Array, uniform: bool) -> Array:
    return pieces.find(x if uniform else ordered(x), ordered(edges), uniform)


histogramdd = partial(pieces.histogramdd_by, _find)


def histogram_bin_edges(x: Array, /, bins: int = 10, *, range: tuple[float, float] | None = None) -> Array:
    return generic.histogram_bin_edges(x.to(torch.float64) if x.dtype in SIGNED else x, bins, range=range)


_digitize = on_ordered(generic.digitize, 2)


def digitize(x: Array, edges: Array, /, *, right: bool = False) -> Array:
    if _on_host(x, edges):
        return on_host(generic.digitize, x, edges, right=right)
    return _digitize(x, edges, right=right)
