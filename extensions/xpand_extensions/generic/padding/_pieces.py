"""Building blocks of padding with the standard alone, for the plug-ins too."""

from collections.abc import Iterator
from typing import Any, NamedTuple


def ends(values: Any, axis: int) -> tuple[Any, Any]:
    """Return the values for the two ends of an axis."""
    return values[axis] if isinstance(values, tuple) else (values, values)


class Run(NamedTuple):
    """Consecutive elements of an axis, taken in order or in reverse."""

    start: int
    stop: int
    reverse: bool


def runs(mode: str, size: int, start: int, end: int) -> Iterator[Run]:
    """Yield the elements from `start` to `end` of the axis that the mode extends infinitely."""
    period, mirror = period_of(mode, size)
    while start < end:
        position = start % period
        if position < size:
            run = Run(position, min(size, position + end - start), False)
        else:
            last = mirror - position
            run = Run(max(last - (end - start) + 1, mirror - period + 1), last + 1, True)
        yield run
        start += run.stop - run.start


def period_of(mode: str, size: int) -> tuple[int, int]:
    """Return the period with which the elements of the extended axis repeat, and the axis of the reflection.

    In the reflected part of a period, the element at position `p` is that with the index `reflection - p`.
    """
    if mode == "wrap" or size == 1:
        return size, 0
    return (2 * size, 2 * size - 1) if mode == "symmetric" else (2 * size - 2, 2 * size - 2)
