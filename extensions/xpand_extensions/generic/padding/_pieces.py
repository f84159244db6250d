"""Building blocks of padding with the standard alone, for the plug-ins too."""

from collections.abc import Iterator
from typing import Any, NamedTuple


def ends(values: Any, axis: int) -> tuple[Any, Any]:
    """Return the values for the ends of an axis."""
    return values[axis] if isinstance(values, tuple) else (values, values)


class Run(NamedTuple):
    """Elements of an axis that follow each other, to be taken as they are or in reverse."""

    start: int
    stop: int
    reverse: bool


def runs(mode: str, size: int, start: int, end: int) -> Iterator[Run]:
    """Say which elements there are at positions of an axis that continues for ever, as the mode says."""
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
    """Return after how many positions elements repeat, and which position plus element are the same in reverse."""
    if mode == "wrap" or size == 1:
        return size, 0
    return (2 * size, 2 * size - 1) if mode == "symmetric" else (2 * size - 2, 2 * size - 2)
