"""Grids, and parts of matrices."""

from typing import Any

import numpy as np

from xpand_extensions.tracing._methods import METHODS

from .._arguments import array, integers
from .._table import implements
from .shapes import at_least


@implements("meshgrid")
def _meshgrid(xp: Any, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"np.meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    ndim = len(xi)
    order = [1, 0, *range(2, ndim)] if indexing == "xy" and ndim > 1 else range(ndim)
    arrays = [
        xp.reshape(array(xp, x), tuple([-1 if i == axis else 1 for i in range(ndim)])) for x, axis in zip(xi, order)
    ]
    grids = arrays if sparse else xp.broadcast_arrays(*arrays)
    return tuple([xp.asarray(x, copy=True) for x in grids] if copy else grids)


@implements("ix_")
def _ix(xp: Any, *args: Any) -> Any:
    results = []
    for axis, x in enumerate([array(xp, x) for x in args]):
        if x.ndim != 1:
            raise ValueError(f"np.ix_: sequences must have one axis, got {x.ndim}")
        if x.dtype == xp.bool:
            (x,) = xp.nonzero(x)
        elif not x.size:
            x = xp.astype(x, xp.int64)
        results.append(xp.reshape(x, tuple([x.shape[0] if i == axis else 1 for i in range(len(args))])))
    return tuple(results)


@implements("tril")
def _tril(xp: Any, m: Any, k: int = 0) -> Any:
    return xp.tril(_rows(xp, m), k=integers(k))


@implements("triu")
def _triu(xp: Any, m: Any, k: int = 0) -> Any:
    return xp.triu(_rows(xp, m), k=integers(k))


def _rows(xp: Any, m: Any) -> Any:
    """Return matrices; a vector is all rows of one, as in NumPy."""
    x = array(xp, m)
    return xp.broadcast_to(x, (x.size, x.size)) if x.ndim == 1 else x


@implements("diag")
def _diag(xp: Any, v: Any, k: int = 0) -> Any:
    x, k = array(xp, v), integers(k)
    if x.ndim == 2:
        return xp.linalg.diagonal(x, offset=k)
    if x.ndim != 1:
        raise ValueError(f"np.diag: the array must have one or two axes, got {x.ndim}")
    size = x.size + abs(k)
    flat = xp.zeros((size * size,), dtype=x.dtype)
    start = k if k > 0 else -k * size
    flat[start : start + x.size * (size + 1) : size + 1] = x
    return xp.reshape(flat, (size, size))


@implements("diagflat")
def _diagflat(xp: Any, v: Any, k: int = 0) -> Any:
    return _diag(xp, xp.reshape(array(xp, v), (-1,)), k)


@implements("diagonal")
def _diagonal(xp: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return METHODS["diagonal"](at_least("diagonal", array(xp, a), 2), integers(offset), axis1, axis2)


@implements("trace")
def _trace(xp: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    dtype = None if dtype is None else np.dtype(dtype)
    return xp.sum(_diagonal(xp, a, offset, axis1, axis2), axis=-1, dtype=dtype)
