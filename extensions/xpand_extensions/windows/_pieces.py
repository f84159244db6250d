"""Building blocks of windows with the standard alone, for the plug-ins too."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace, Scalar, checks
from xpand_extensions._at import binary
from xpand_extensions._bounds import index_dtype
from xpand_extensions.scatter import segment_sum
from xpand_extensions.scatter._segments import Combination, identity
from xpand_extensions.windows._arguments import Pass, passes
from xpand_extensions.windows._passes import pad_axis, reduce_axis


def reduce_by(combination: Combination, x: Array, steps: Sequence[Pass]) -> Array:
    """Reduce the elements of each window by a sum, product, minimum or maximum."""
    xp = array_namespace(x)
    combine = binary(xp, combination, x.dtype)
    return reduce(xp, x, combine, identity(xp, x.dtype, combination), steps, idempotent=combination in ("min", "max"))


def reduce(
    xp: Namespace,
    x: Array,
    combine: Callable[[Array, Array], Array],
    fill: Array | Scalar,
    steps: Sequence[Pass],
    *,
    idempotent: bool,
) -> Array:
    for each in steps:
        count = each.count(x.shape[each.axis])
        x = reduce_axis(pad_axis(xp, x, each, fill), combine, each, count, idempotent=idempotent)
    # Windows of one element are slices of the input.
    return x if any(each.size > 1 for each in steps) else xp.asarray(x, copy=True)


def inside(xp: Namespace, each: Pass, length: int, device: Any) -> Array:
    """Count the elements of each window along an axis that lie in the array."""
    dtype = index_dtype(xp, device)
    starts = xp.arange(each.count(length), dtype=dtype, device=device) * each.stride - each.low
    # Offsets in [0, size) that lie before the array, and before its end.
    before = xp.clip(-(starts // each.dilation), 0, each.size)
    until_end = xp.clip(-((starts - length) // each.dilation), 0, each.size)
    return until_end - before


def scatter_to_extremes(
    x: Array,
    source: Array,
    initial: Array | Scalar,
    window_shape: Any,
    /,
    *,
    axis: Any = None,
    strides: Any = 1,
    padding: Any = "valid",
    largest: bool,
) -> Array:
    """Add to the positions of the extremes of windows."""
    steps = passes(window_shape, axis, strides, padding, (1,) * len(axis))
    xp = array_namespace(x, source, initial)
    positions = extreme_positions(array_namespace(x), x, steps, largest=largest)
    size = math.prod(x.shape)
    total = segment_sum(xp.reshape(source, (-1,)), xp.reshape(positions, (-1,)), num_segments=size, mode="drop")
    if not isinstance(initial, (bool, int, float, complex)):
        initial = xp.astype(initial, source.dtype)
    return xp.reshape(xp.add(total, initial), x.shape)


def extreme_positions(xp: Namespace, x: Array, steps: Sequence[Pass], *, largest: bool) -> Array:
    """Find the position of the extreme of each window, in the array written as one row; -1 where it holds no element.

    The first of equal elements is taken, and NaN before all others.
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
            # Choose the other one unless it is worse. Nothing is better than NaN.
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
    """Values with their positions; can be sliced as an array."""

    values: Array
    positions: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.values.shape)

    def __getitem__(self, key: Any) -> "_Placed":
        return _Placed(self.values[key], self.positions[key])
