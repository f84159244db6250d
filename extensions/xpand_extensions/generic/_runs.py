"""Reductions over equal indices with the standard alone: sort, then combine within runs.

The standard has no scatter. Sorted by index (stably, so that the order of duplicates is kept), the values of one index
are a run, whose ends a binary search finds; a scan by doubling steps combines each run.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from xpand import is_concrete
from xpand._arguments import device_of
from xpand._typing import Array, Namespace, Scalar

Combine = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Runs:
    """Where each index from 0 to `count - 1` is among many: the positions `order[first:stop]`, in their own order."""

    xp: Namespace
    sorted_index: Array
    order: Array | None
    """None: the index was sorted."""
    first: Array
    stop: Array

    @classmethod
    def of(cls, xp: Namespace, index: Array, count: int, *, is_sorted: bool = False) -> "Runs":
        """Find the runs of a non-empty index of shape `(n,)`. What isn't within `0 <= index < count` is in none."""
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
        """The length of the longest run, or a bound for it where the values of the index aren't known."""
        lengths = self.stop - self.first
        if math.prod(lengths.shape) and is_concrete(lengths):
            return int(self.xp.max(lengths))
        return int(self.sorted_index.shape[0])

    def reduce(self, values: Array, combine: Combine, neutral: Scalar) -> Array:
        """Combine the values of each index: from `(n, width)` to `(count, width)`, arbitrary where there are none.

        The function must be associative, and leave finite values finite when one is `neutral`; it gets what comes
        earlier first. Takes log(longest) passes.
        """
        xp, key = self.xp, self.sorted_index
        values = values if self.order is None else xp.take(values, self.order, axis=0)
        none = xp.full((), neutral, dtype=values.dtype, device=device_of(values))
        step, longest = 1, self.longest
        while step < longest:
            same = xp.expand_dims(key[step:] == key[:-step], axis=1)
            later = values[step:, :]
            # Values of two indices never meet: together they may overflow, or make the gradients of both NaN.
            earlier = xp.where(same, values[:-step, :], none)
            values = xp.concat([values[:step, :], xp.where(same, combine(earlier, later), later)], axis=0)
            step *= 2
        return xp.take(values, self._within(self.stop - 1), axis=0)

    def last(self, values: Array) -> Array:
        """Pick the last value of each index: shape `(count, width)`, arbitrary where there is none."""
        return self.xp.take(values, self._positions(self.stop - 1), axis=0)

    def occurrence(self, number: int, values: Array) -> Array:
        """Pick the occurrence with this number of each index: shape `(count, width)`, arbitrary where there is none."""
        return self.xp.take(values, self._positions(self.first + number), axis=0)

    def _positions(self, place: Array) -> Array:
        place = self._within(place)
        return place if self.order is None else self.xp.take(self.order, place)

    def _within(self, place: Array) -> Array:
        return self.xp.clip(place, 0, self.sorted_index.shape[0] - 1)
