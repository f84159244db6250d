"""Python integers that an array's integer data type cannot hold: exact comparisons, and errors as values."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from ..typing import DType, LibraryArray as Array

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

FLOATING: Final = frozenset(("atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter"))
"""Functions whose results are floating-point. Next to integers, they compute with a number as a float."""

LOGICAL: Final = frozenset(("logical_and", "logical_or", "logical_xor"))
"""Functions for which a number is true or false."""

BINARY: Final = sorted(
    {
        *COMPARISONS,
        *FLOATING,
        *LOGICAL,
        "add",
        "bitwise_and",
        "bitwise_left_shift",
        "bitwise_or",
        "bitwise_right_shift",
        "bitwise_xor",
        "floor_divide",
        "maximum",
        "minimum",
        "multiply",
        "pow",
        "remainder",
        "subtract",
    }
)
"""The standard's elementwise functions of two arguments."""

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


class Integers:
    """Functions of arrays and Python integers, for a library that wraps integers around or refuses valid ones.

    Args:
        find: Return the library's own function by its name in the standard.
        limits_of: Return the smallest and the largest number of an integer data type, and None for others.
        accepted: Return the range of the Python integers that the library accepts next to arrays of a data type.
    """

    def __init__(
        self,
        find: Callable[[str], Any],
        limits_of: Callable[[DType], tuple[int, int] | None],
        accepted: Callable[[DType], tuple[int, int]],
    ) -> None:
        self._find, self._limits_of, self._accepted = find, limits_of, accepted

    def check_fits(self, function: str, number: int, dtype: DType) -> None:
        """Raise `OverflowError` for an integer out of the range of an integer data type."""
        limits = self._limits_of(dtype)
        if limits is not None and not limits[0] <= number <= limits[1]:
            raise overflow(function, number, dtype, limits)

    def converted(self, number: int, dtype: DType) -> Any:
        """Convert an integer to a number that the library accepts next to arrays of a data type that holds it."""
        low, high = self._accepted(dtype)
        if low <= number <= high:
            return number
        return float(number) if self._limits_of(dtype) is None else dtype.type(number)

    def _call(self, function: str, x: Any, number: int, is_reflected: bool, native: Callable[..., Array]) -> Array:
        """Call a function of an array and an integer, which is the first argument if `is_reflected`."""
        dtype = getattr(x, "dtype", None)
        argument: Any = number
        if dtype is not None:
            limits = self._accepted(dtype) if dtype.kind == "b" else self._limits_of(dtype)
            if function in LOGICAL:
                argument = bool(number)
            elif limits is None or function in FLOATING:
                low, high = self._accepted(dtype)
                argument = number if low <= number <= high else float(number)
            elif function in COMPARISONS:
                native, number = compare(function, number, limits, is_reflected, self._find)
                return native(x, self.converted(number, dtype))
            elif not limits[0] <= number <= limits[1]:
                raise overflow(function, number, dtype, limits)
            else:
                argument = self.converted(number, dtype)
        return native(argument, x) if is_reflected else native(x, argument)

    def correct(self, name: str, native: Callable[..., Array]) -> Callable[..., Array]:
        """Return an elementwise function of two arguments. One of them may be a Python integer of any size."""

        @wraps(native)
        def function(x1: Array, x2: Array, /, *args: Any, **kwargs: Any) -> Array:
            if type(x2) is int:
                if not SMALLEST <= x2 <= LARGEST:
                    return self._call(name, x1, x2, False, native)
            elif type(x1) is int and not SMALLEST <= x1 <= LARGEST:
                return self._call(name, x2, x1, True, native)
            return native(x1, x2, *args, **kwargs)

        for method in ("accumulate", "at", "identity", "nargs", "nin", "nout", "outer", "reduce", "reduceat"):
            if hasattr(native, method):
                setattr(function, method, getattr(native, method))
        return function

    def element(self, function: str, number: Any, x: Any) -> Any:
        """Return an argument that becomes an element of an array like `x`, as the library accepts it."""
        if type(number) is not int or SMALLEST <= number <= LARGEST or not hasattr(x, "dtype"):
            return number
        if x.dtype.kind == "b":
            low, high = limits = self._accepted(x.dtype)
            if not low <= number <= high:
                raise overflow(function, number, x.dtype, limits)
        else:
            self.check_fits(function, number, x.dtype)
        return self.converted(number, x.dtype)

    def bound(self, number: Any, x: Any) -> Any:
        """Return a bound of `clip`. An integer beyond the data type becomes its smallest or largest number."""
        if type(number) is not int or SMALLEST <= number <= LARGEST or not hasattr(x, "dtype"):
            return number
        limits = self._limits_of(x.dtype)
        if limits is not None:
            number = max(limits[0], min(number, limits[1]))
        return self.converted(number, x.dtype)

    def sought(self, number: Any, x: Any) -> Any:
        """Return an argument of `isin`, or None for an integer that arrays like `x` cannot hold."""
        if type(number) is not int or SMALLEST <= number <= LARGEST or not hasattr(x, "dtype"):
            return number
        limits = self._limits_of(x.dtype)
        return None if limits and not limits[0] <= number <= limits[1] else self.converted(number, x.dtype)
