"""Reductions of windows on all libraries: axis by axis, in O(log(size)) passes over the array each.

For libraries with functions that write into arrays, the passes run over tiles that fit into the cache. So the array is
read once, the result is written once, and only a few tiles need additional memory.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, Final, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, ArrayLike, LibraryArray, Namespace, Scalar, checks

from .._at import binary
from .._bounds import index_dtype
from ..scatter import segment_sum
from ..scatter._segments import Combination, identity
from ._arguments import Pass, passes

Combine: TypeAlias = Callable[[Any, Any], Any]
"""Combines each element with a later one; must be associative."""

_FEW: Final = 8
"""The maximum size of windows that may be summed one by one; in larger windows rounding errors would add up."""

_TILE: Final = 65536
"""The approximate number of elements of a tile. With a quarter of it, windows on two axes took twice the time."""

_ROW: Final = 64
"""The minimum length of a tile along the last axis, whose elements are contiguous in memory."""


def reduce_axis(
    x: Any, combine: Combine, each: Pass, count: int, *, idempotent: bool, last: Combine | None = None
) -> Any:
    """Reduce the windows along one axis.

    Args:
        x: An array, or an object with a `shape` that can be sliced like an array. It is padded.
        combine: Combines two of these objects, element by element.
        each: The windows; their padding is ignored.
        count: The number of windows.
        idempotent: Whether an element may be combined more than once, which saves passes.
        last: Called instead of `combine` for the final result, unless that is just a slice.
    """
    axis, size, stride, _, _, dilation = each
    before = (slice(None),) * axis
    if not count:
        return x[(*before, slice(0, 0), ...)]
    starts = (count - 1) * stride + 1

    def windows(x: Any, offset: int) -> Any:
        """Return the elements at an offset in each window."""
        return x[(*before, slice(offset * dilation, offset * dilation + starts, stride), ...)]

    last = last or combine
    if 1 < size <= _FEW and (size - 1) * count <= (size.bit_length() - 1) * starts:
        # For example adjacent windows, which need each element about once.
        done = windows(x, 0)
        for offset in range(1, size - 1):
            done = combine(done, windows(x, offset))
        return last(done, windows(x, size - 1))

    # Combine windows of 1, 2, 4, … elements to windows of `size`.
    done, span = None, 1
    while 2 * span <= size:
        if size & span and not idempotent:
            part = windows(x, size & (span - 1))
            done = part if done is None else combine(done, part)
        step = span * dilation
        length = x.shape[axis] - step
        span *= 2
        function = last if span == size and stride == 1 else combine
        x = function(x[(*before, slice(0, length), ...)], x[(*before, slice(step, step + length), ...)])
    if span == size:
        return x if stride == 1 and size > 1 else windows(x, 0)
    return last(windows(x, 0) if idempotent else done, windows(x, size - span))


def pad_axis(xp: Namespace, x: Array, each: Pass, fill: ArrayLike) -> Array:
    """Pad both ends of an axis with the value of elements outside of the array."""
    if not each.low and not each.high:
        return x

    def piece(length: int) -> Array:
        shape = (*x.shape[: each.axis], length, *x.shape[each.axis + 1 :])
        if isinstance(fill, (bool, int, float, complex)):
            return xp.full(shape, fill, dtype=x.dtype, device=checks.device_of(x))
        return xp.broadcast_to(fill, shape)

    pieces = [piece(each.low)] if each.low else []
    pieces.append(x)
    if each.high:
        pieces.append(piece(each.high))
    return xp.concat(pieces, axis=each.axis)


def reduce_by(combination: Combination, x: LibraryArray, steps: Sequence[Pass]) -> LibraryArray:
    """Reduce the elements of each window by a sum, product, minimum or maximum."""
    xp = array_namespace(x)
    combine = binary(xp, combination, x.dtype)
    return reduce(xp, x, combine, identity(xp, x.dtype, combination), steps, idempotent=combination in ("min", "max"))


def reduce(
    xp: Namespace,
    x: LibraryArray,
    combine: Callable[[LibraryArray, LibraryArray], LibraryArray],
    fill: LibraryArray | Scalar,
    steps: Sequence[Pass],
    *,
    idempotent: bool,
) -> LibraryArray:
    for each in steps:
        count = each.count(x.shape[each.axis])
        x = reduce_axis(pad_axis(xp, x, each, fill), combine, each, count, idempotent=idempotent)
    # Windows of one element are slices of the input, so copy them.
    return x if any(each.size > 1 for each in steps) else xp.asarray(x, copy=True)


def inside(xp: Namespace, each: Pass, length: int, device: Any) -> LibraryArray:
    """Count the elements of each window along an axis that are in the array."""
    dtype = index_dtype(xp, device)
    starts = xp.arange(each.count(length), dtype=dtype, device=device) * each.stride - each.low
    # The numbers of offsets in [0, size) before the array, and before its end.
    before = xp.clip(-(starts // each.dilation), 0, each.size)
    until_end = xp.clip(-((starts - length) // each.dilation), 0, each.size)
    return until_end - before


def scatter_to_extremes(
    x: LibraryArray,
    source: LibraryArray,
    initial: LibraryArray | Scalar,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
    largest: bool,
) -> LibraryArray:
    """Add to the positions of the extremes of windows."""
    steps = passes(window_shape, axis, strides, padding, (1,) * len(axis))
    xp = array_namespace(x, source, initial)
    positions = extreme_positions(array_namespace(x), x, steps, largest=largest)
    size = math.prod(x.shape)
    total = segment_sum(xp.reshape(source, (-1,)), xp.reshape(positions, (-1,)), num_segments=size, mode="drop")
    if not isinstance(initial, (bool, int, float, complex)):
        initial = xp.astype(initial, source.dtype)
    return xp.reshape(xp.add(total, initial), x.shape)


def extreme_positions(xp: Namespace, x: LibraryArray, steps: Sequence[Pass], *, largest: bool) -> LibraryArray:
    """Return the flat position of the extreme of each window; -1 for a window without elements.

    Of equal elements the first is selected, and NaN before all numbers.
    """
    device = checks.device_of(x)
    if checks.kind(xp, x.dtype) == "bool":
        x = xp.astype(x, xp.uint8)
    floating = checks.kind(xp, x.dtype) == "real"
    positions = xp.reshape(xp.arange(math.prod(x.shape), dtype=index_dtype(xp, device), device=device), x.shape)

    has_ends = any(each.low or each.high for each in steps)
    better_one = binary(xp, "max" if largest else "min", x.dtype)

    def combine(a: _Placed, b: _Placed) -> _Placed:
        if floating:
            # Choose the other one unless it is worse. No number is better than NaN.
            better = ~(b.values <= a.values if largest else b.values >= a.values) & (a.values == a.values)
        else:
            better = b.values > a.values if largest else b.values < a.values
        if has_ends:
            better = (b.positions >= 0) & (better | (a.positions < 0))
        return _Placed(better_one(a.values, b.values), xp.where(better, b.positions, a.positions))

    fill = identity(xp, x.dtype, "max" if largest else "min")
    found = _Placed(x, positions)
    for each in steps:
        count = each.count(x.shape[each.axis])
        padded = _Placed(pad_axis(xp, found.values, each, fill), pad_axis(xp, found.positions, each, -1))
        found = reduce_axis(padded, combine, each, count, idempotent=True)
    return found.positions


@dataclass(frozen=True, slots=True)
class _Placed:
    """Values with their positions, which can be sliced like an array."""

    values: LibraryArray
    positions: LibraryArray

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __getitem__(self, key: Any) -> "_Placed":
        return _Placed(self.values[key], self.positions[key])


@dataclass(frozen=True, slots=True)
class Tiles:
    """A library's functions that make and combine tiles."""

    combine: Callable[..., Any]
    """Combines two arrays into `out`, such as NumPy's `add`."""
    empty: Callable[[list[int]], LibraryArray]
    """Makes an array of a shape, of the data type of the input."""
    fill: Any
    """The values outside of the array."""
    idempotent: bool

    def reduce(self, x: LibraryArray, steps: Sequence[Pass]) -> LibraryArray:
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
        self, x: LibraryArray, out: LibraryArray, steps: Sequence[Pass], starts: Sequence[int], ends: Sequence[int]
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

    def _elements(self, x: LibraryArray, need: Sequence[tuple[int, int]]) -> LibraryArray:
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
        room = _TILE // math.prod(map(extent, range(len(shape))))
        if room > 1:
            tile[k] = min(shape[k], tile[k] * room)
    return tile
