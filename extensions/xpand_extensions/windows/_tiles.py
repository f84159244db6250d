"""Reductions of windows in tiles that fit into the cache, for libraries with functions that write into arrays.

The O(log(size)) passes for each windowed axis run over a tile, not over the array. So the array is read once, the
result is written once, and only a few tiles need additional memory.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import prod
from typing import Any, Final

from xpand.extend import LibraryArray as Array

from ._arguments import Pass
from ._passes import reduce_axis

_TILE: Final = 65536
"""The approximate number of elements of a tile. With a quarter of it, windows on two axes took twice the time."""

_ROW: Final = 64
"""The minimum length of a tile along the last axis, whose elements are contiguous in memory."""


@dataclass(frozen=True, slots=True)
class Tiles:
    """A library's functions that make and combine tiles."""

    combine: Callable[..., Any]
    """Combines two arrays into `out`, such as NumPy's `add`."""
    empty: Callable[[list[int]], Array]
    """Makes an array of a shape, of the data type of the input."""
    fill: Any
    """The values outside of the array."""
    idempotent: bool

    def reduce(self, x: Array, steps: Sequence[Pass]) -> Array:
        """Reduce windows; return a new array."""
        shape = list(x.shape)
        for each in steps:
            shape[each.axis] = each.count(shape[each.axis])
        out = self.empty(shape)
        if 0 not in shape:
            tile = _tile_shape(shape, steps)
            for starts in product(*(range(0, size, length) for size, length in zip(shape, tile))):
                ends = [min(start + length, size) for start, length, size in zip(starts, tile, shape)]
                self._reduce_tile(x, out[tuple(map(slice, starts, ends))], steps, starts, ends)
        return out

    def _reduce_tile(
        self, x: Array, out: Array, steps: Sequence[Pass], starts: Sequence[int], ends: Sequence[int]
    ) -> None:
        """Compute a tile of the result: the windows from `starts` to `ends`."""
        need = list(zip(starts, ends))
        for each in steps:
            start, end = need[each.axis]
            first = start * each.stride - each.low
            need[each.axis] = first, first + (end - start - 1) * each.stride + each.span
        tile = self._elements(x, need)
        for each in steps:
            final = each is steps[-1]
            last = partial(self.combine, out=out) if final else None
            count = out.shape[each.axis]
            tile = reduce_axis(tile, self.combine, each, count, idempotent=self.idempotent, last=last)
        if tile is not out:
            out[...] = tile

    def _elements(self, x: Array, need: Sequence[tuple[int, int]]) -> Array:
        """Return a slice of an array that may extend beyond its ends."""
        have = [(min(max(first, 0), end), max(min(end, size), first)) for (first, end), size in zip(need, x.shape)]
        inside = x[tuple([slice(*each) for each in have])]
        if have == need:
            return inside
        tile = self.empty([end - first for first, end in need])
        tile[...] = self.fill
        if all(first < end for first, end in have):
            tile[tuple([slice(h[0] - n[0], h[1] - n[0]) for h, n in zip(have, need)])] = inside
        return tile


def _tile_shape(shape: Sequence[int], steps: Sequence[Pass]) -> list[int]:
    """Choose the shape of tiles of the result: several times the size of the overlap of neighbouring tiles."""
    tile = [1] * len(shape)
    tile[-1] = min(shape[-1], _ROW)
    across = {each.axis: each for each in steps}
    for k, each in across.items():
        tile[k] = min(shape[k], max(4 * (each.span // each.stride + 1), tile[k]))

    def extent(k: int) -> int:
        return (tile[k] - 1) * across[k].stride + across[k].span if k in across else tile[k]

    for k in range(len(shape) - 1, -1, -1):
        room = _TILE // prod(map(extent, range(len(shape))))
        if room > 1:
            tile[k] = min(shape[k], tile[k] * room)
    return tile
