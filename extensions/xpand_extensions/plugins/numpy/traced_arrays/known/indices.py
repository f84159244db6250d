"""Indices of arrays, and the bits of integers."""

from typing import Any

import numpy as np

from xpand_extensions import bits, indexing

from .._arguments import array, array_list, integers, shape_of
from .._table import Implementation, find, implements


def _triangle(name: str) -> Implementation:
    indices = find(name.removesuffix("_from"))

    def compute(xp: Any, arr: Any, k: Any = 0) -> Any:
        arr = array(xp, arr)
        if arr.ndim != 2:
            raise ValueError(f"np.{name}: the array must have two axes, got {arr.ndim}")
        return indices(arr.shape[0], k=integers(k), m=arr.shape[1])

    return compute


for _name in ("tril_indices_from", "triu_indices_from"):
    implements(_name)(_triangle(_name))


@implements("diag_indices_from")
def _diag_indices_from(xp: Any, arr: Any) -> Any:
    arr = array(xp, arr)
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ValueError(
            f"np.diag_indices_from: the array must have two or more axes of one size, got {tuple(arr.shape)}"
        )
    return np.diag_indices(arr.shape[0], arr.ndim)


@implements("ravel_multi_index")
def _ravel_multi_index(xp: Any, multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    parts, sizes = array_list(xp, multi_index), shape_of(dims)
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    if order == "F":
        parts, sizes, modes = parts[::-1], sizes[::-1], modes[::-1]
    # Other modes than "raise" bring each index within its axis first.
    bounded = [
        part % size if how == "wrap" else xp.clip(part, 0, size - 1) if how == "clip" else part
        for part, size, how in zip(parts, sizes, modes)
    ]
    return indexing.ravel_multi_index(bounded, sizes)


@implements("unravel_index")
def _unravel_index(xp: Any, indices: Any, shape: Any, order: str = "C") -> Any:
    sizes = shape_of(shape)
    if order == "F":
        return indexing.unravel_index(array(xp, indices), sizes[::-1])[::-1]
    return indexing.unravel_index(array(xp, indices), sizes)


@implements("packbits")
def _packbits(xp: Any, a: Any, axis: Any = None, bitorder: Any = "big") -> Any:
    return bits.packbits(array(xp, a), axis=integers(axis), bitorder=bitorder)


@implements("unpackbits")
def _unpackbits(xp: Any, a: Any, axis: Any = None, count: Any = None, bitorder: Any = "big") -> Any:
    return bits.unpackbits(array(xp, a), axis=integers(axis), count=integers(count), bitorder=bitorder)
