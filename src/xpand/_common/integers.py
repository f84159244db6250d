"""Python integers that an array's integer data type cannot hold: exact comparisons, and errors as values."""

from collections.abc import Callable
from typing import Any, Final

from ..typing import DType

SMALLEST, LARGEST = 0, 127
"""Every integer data type holds the integers between these. A comparison with both takes 20 ns."""

COMPARISONS: Final = {
    "equal": ("less", "greater"),
    "greater": ("greater_equal", "greater"),
    "greater_equal": ("greater_equal", "greater"),
    "less": ("less", "less_equal"),
    "less_equal": ("less", "less_equal"),
    "not_equal": ("greater_equal", "less_equal"),
}
"""Comparisons of arrays with the smallest and the largest number of their data type, which replace those with a smaller
and a larger integer."""

REFLECTED: Final = {
    "equal": "equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "less": "greater",
    "less_equal": "greater_equal",
    "not_equal": "not_equal",
}
"""For each comparison, the one with exchanged arguments."""


def overflow(function: str, number: int, dtype: DType, limits: tuple[int, int]) -> OverflowError:
    """Make the error for an integer that a data type cannot hold."""
    return OverflowError(
        f"{function}: {number} does not fit into {dtype}, which holds {limits[0]} to {limits[1]}; take a wider data "
        "type, for an array with `xp.astype`"
    )


def compare(
    function: str, number: int, limits: tuple[int, int], is_reflected: bool, find: Callable[[str], Any]
) -> tuple[Any, int]:
    """Return a function and a number that an array's data type holds, with the comparison's result."""
    name = REFLECTED[function] if is_reflected else function
    low, high = limits
    if number < low:
        return find(COMPARISONS[name][0]), low
    if number > high:
        return find(COMPARISONS[name][1]), high
    return find(name), number


def insertion(number: int, side: str, limits: tuple[int, int]) -> tuple[int, str]:
    """Return a number that an array's data type holds, and a side, with the same result of `searchsorted`."""
    if number < limits[0]:
        return limits[0], "left"
    return (limits[1], "right") if number > limits[1] else (number, side)


def check_ends(start: Any, stop: Any, step: Any, check: Callable[[int], object]) -> None:
    """Check the first and the last element of `arange`, if its arguments are Python integers."""
    if stop is None:
        start, stop = 0, start
    step = 1 if step is None else step
    if SMALLEST <= start <= LARGEST and SMALLEST <= stop <= LARGEST:
        return
    if type(start) is int and type(stop) is int and type(step) is int and step:
        elements = range(start, stop, step)
        if elements:
            check(elements[0])
            check(elements[-1])
