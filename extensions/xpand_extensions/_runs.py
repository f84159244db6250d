"""Reductions over equal indices with the standard alone: sort, then combine within runs.

The standard has no scatter. A stable sort by index brings the values of one index together in a run, in their order. A
binary search finds the ends of the runs; a scan with doubling steps combines the values of each run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from xpand import is_concrete
from xpand.extend import LibraryArray as Array, Namespace, Scalar, device_of

Combine = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Runs:
    """The positions `order[first:stop]` at which each index from 0 to `count - 1` occurs, in ascending order."""

    xp: Namespace
    sorted_index: Array
    order: Array | None
    """None if the index was sorted."""
    first: Array
    stop: Array

    @classmethod
    def of(cls, xp: Namespace, index: Array, count: int, *, is_sorted: bool = False) -> "Runs | Matches":
        """Find the runs of a non-empty index of shape `(n,)`. Indices outside `0 <= index < count` are in no run.

        If the library can't sort, compare the index with each number, in time and memory in proportion to count times
        n.
        """
        if not (hasattr(xp, "searchsorted") and (is_sorted or hasattr(xp, "argsort"))):
            return Matches.of(xp, index, count)
        order = None if is_sorted else xp.argsort(index, stable=True)
        ordered = index if order is None else xp.take(index, order)
        each = xp.arange(count, dtype=index.dtype, device=device_of(index))
        return cls(
            xp,
            ordered,
            order,
            xp.searchsorted(ordered, each, side="left"),
            xp.searchsorted(ordered, each, side="right"),
        )

    @property
    def present(self) -> Array:
        """Whether each index occurs: shape `(count,)`."""
        return self.stop > self.first

    @property
    def longest(self) -> int:
        """The length of the longest run, or a bound for it if the values of the index aren't known."""
        lengths = self.stop - self.first
        if math.prod(lengths.shape) and is_concrete(lengths):
            return int(self.xp.max(lengths))
        return int(self.sorted_index.shape[0])

    def reduce(self, values: Array, combine: Combine, neutral: Scalar) -> Array:
        """Combine the values of each index: from `(n, width)` to `(count, width)`, arbitrary for indices without
        values.

        The function must be associative, and return finite values for a finite value and `neutral`. Its first argument
        is the earlier one. Takes log(longest) passes.
        """
        xp, key = self.xp, self.sorted_index
        values = values if self.order is None else xp.take(values, self.order, axis=0)
        none = xp.full((), neutral, dtype=values.dtype, device=device_of(values))
        step, longest = 1, self.longest
        while step < longest:
            same = xp.expand_dims(key[step:] == key[:-step], axis=1)
            later = values[step:, :]
            # Never combine values of different indices: that may overflow, or make both gradients NaN.
            earlier = xp.where(same, values[:-step, :], none)
            values = xp.concat([values[:step, :], xp.where(same, combine(earlier, later), later)], axis=0)
            step *= 2
        return xp.take(values, self._within(self.stop - 1), axis=0)

    def last(self, values: Array) -> Array:
        """Pick the last value of each index: shape `(count, width)`, arbitrary if there is none."""
        return self.xp.take(values, self._positions(self.stop - 1), axis=0)

    def has_occurrence(self, number: int) -> Array:
        """Return whether each index occurs more than `number` times: shape `(count,)`."""
        return self.first + number < self.stop

    def occurrence(self, number: int, values: Array) -> Array:
        """Pick the occurrence with this number of each index: shape `(count, width)`, arbitrary if there is none."""
        return self.xp.take(values, self._positions(self.first + number), axis=0)

    def _positions(self, position: Array) -> Array:
        position = self._within(position)
        return position if self.order is None else self.xp.take(self.order, position)

    def _within(self, position: Array) -> Array:
        return self.xp.clip(position, 0, self.sorted_index.shape[0] - 1)


@dataclass(frozen=True, slots=True)
class Matches:
    """The positions at which each index from 0 to `count - 1` occurs, like `Runs`, for libraries that can't sort."""

    xp: Namespace
    index: Array
    found: Array
    """Whether each position holds each index: shape `(count, n)`."""

    @classmethod
    def of(cls, xp: Namespace, index: Array, count: int) -> "Matches":
        """Compare a non-empty index of shape `(n,)` with each number."""
        each = _numbers(xp, count, index)
        return cls(xp, index, xp.expand_dims(each, axis=1) == xp.expand_dims(index, axis=0))

    @property
    def present(self) -> Array:
        """Whether each index occurs: shape `(count,)`."""
        return self.xp.any(self.found, axis=1)

    @property
    def longest(self) -> int:
        """How often the most frequent index occurs, or a bound for it if the values of the index aren't known."""
        if math.prod(self.found.shape) and is_concrete(self.found):
            return int(self.xp.max(self.xp.sum(self.xp.astype(self.found, self.index.dtype), axis=1)))
        return int(self.index.shape[0])

    def reduce(self, values: Array, combine: Combine, neutral: Scalar) -> Array:
        """Combine the values of each index: from `(n, width)` to `(count, width)`; the function must be commutative."""
        xp = self.xp
        none = xp.full((), neutral, dtype=values.dtype, device=device_of(values))
        return _folded(xp.where(xp.expand_dims(self.found, axis=2), xp.expand_dims(values, axis=0), none), combine)

    def last(self, values: Array) -> Array:
        """Pick the last value of each index: shape `(count, width)`, arbitrary if there is none."""
        return self._picked(self._number_of(later=True) == 0, values)

    def has_occurrence(self, number: int) -> Array:
        """Return whether each index occurs more than `number` times: shape `(count,)`."""
        return self.xp.any(self._chosen(self._number_of(later=False) == number), axis=1)

    def occurrence(self, number: int, values: Array) -> Array:
        """Pick the occurrence with this number of each index: shape `(count, width)`, arbitrary if there is none."""
        return self._picked(self._number_of(later=False) == number, values)

    def _number_of(self, *, later: bool) -> Array:
        """Count the earlier or later positions with the same index, for each position: shape `(n,)`."""
        xp, index = self.xp, self.index
        positions = _numbers(xp, index.shape[0], index)
        here, there = xp.expand_dims(positions, axis=1), xp.expand_dims(positions, axis=0)
        same = xp.expand_dims(index, axis=1) == xp.expand_dims(index, axis=0)
        return xp.sum(xp.astype(same & (there > here if later else there < here), index.dtype), axis=1)

    def _chosen(self, chosen: Array) -> Array:
        return self.found & self.xp.expand_dims(chosen, axis=0)

    def _picked(self, chosen: Array, values: Array) -> Array:
        """Pick the values of the chosen positions, at most one for each index."""
        xp = self.xp
        mask = xp.expand_dims(self._chosen(chosen), axis=2)
        # Other values must not change a single bit, so don't add them: -0.0 + 0.0 is 0.0, and NaN + 0.0 is NaN.
        zero = xp.zeros((), dtype=values.dtype, device=device_of(values))
        spread = xp.where(mask, xp.expand_dims(values, axis=0), zero)
        while mask.shape[1] > 1:
            half = mask.shape[1] // 2
            rest = slice(2 * half, None)
            left, right = mask[:, :half, :], mask[:, half : 2 * half, :]
            spread = xp.concat(
                [xp.where(right, spread[:, half : 2 * half, :], spread[:, :half, :]), spread[:, rest, :]], axis=1
            )
            mask = xp.concat([left | right, mask[:, rest, :]], axis=1)
        return spread[:, 0, :]


def _numbers(xp: Namespace, count: int, like: Array) -> Array:
    """Number the positions of an axis. A library that can't sort may also lack `arange`."""
    if hasattr(xp, "arange"):
        return xp.arange(count, dtype=like.dtype, device=device_of(like))
    return xp.asarray(list(range(count)), dtype=like.dtype, device=device_of(like))


def _folded(x: Array, combine: Combine) -> Array:
    """Combine the values along the second of three axes, which is halved in each step."""
    rest: Array | None = None  # without `concat`: sparse arrays may have another fill value by now
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        if x.shape[1] % 2:
            last = x[:, 2 * half :, :]
            rest = last if rest is None else combine(last, rest)
        x = combine(x[:, :half, :], x[:, half : 2 * half, :])
    return (x if rest is None else combine(x, rest))[:, 0, :]
