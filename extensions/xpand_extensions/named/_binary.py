"""Functions of two arrays that broadcast by name, element by element.

An axis that one array lacks is repeated for it. The result has the axes of the array that has all of them, in its
order; where neither does, those of the first, then the others of the second. Numbers go with any array; an array with
axes but without names raises a `TypeError`, an axis of different sizes a `ValueError`. Source: the functions of the
same names in NumPy.
"""

from typing import Any

from . import _elementwise as _elementwise  # fills the table
from ._calls import call

__all__ = [
    "add",
    "arctan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "divide",
    "divmod",
    "equal",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "greater",
    "greater_equal",
    "hypot",
    "left_shift",
    "less",
    "less_equal",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "power",
    "remainder",
    "right_shift",
    "subtract",
    "true_divide",
]


def add(x1: Any, x2: Any) -> Any:
    """Add two arrays."""
    return call.add(x1, x2)


def arctan2(x1: Any, x2: Any) -> Any:
    """Compute the angle of the point (x2, x1), from -pi to pi."""
    return call.arctan2(x1, x2)


def bitwise_and(x1: Any, x2: Any) -> Any:
    """Compute the bitwise and of integers or booleans."""
    return call.bitwise_and(x1, x2)


def bitwise_left_shift(x1: Any, x2: Any) -> Any:
    """Shift the bits of integers to the left."""
    return call.bitwise_left_shift(x1, x2)


def bitwise_or(x1: Any, x2: Any) -> Any:
    """Compute the bitwise or of integers or booleans."""
    return call.bitwise_or(x1, x2)


def bitwise_right_shift(x1: Any, x2: Any) -> Any:
    """Shift the bits of integers to the right."""
    return call.bitwise_right_shift(x1, x2)


def bitwise_xor(x1: Any, x2: Any) -> Any:
    """Compute the bitwise exclusive or of integers or booleans."""
    return call.bitwise_xor(x1, x2)


def divide(x1: Any, x2: Any) -> Any:
    """Divide two arrays."""
    return call.divide(x1, x2)


def equal(x1: Any, x2: Any) -> Any:
    """Return whether elements are equal."""
    return call.equal(x1, x2)


def float_power(x1: Any, x2: Any) -> Any:
    """Compute powers in double precision or better."""
    return call.float_power(x1, x2)


def floor_divide(x1: Any, x2: Any) -> Any:
    """Divide two arrays and round down."""
    return call.floor_divide(x1, x2)


def fmax(x1: Any, x2: Any) -> Any:
    """Return the larger of two elements; where one is NaN, the other."""
    return call.fmax(x1, x2)


def fmin(x1: Any, x2: Any) -> Any:
    """Return the smaller of two elements; where one is NaN, the other."""
    return call.fmin(x1, x2)


def fmod(x1: Any, x2: Any) -> Any:
    """Compute the remainder of a division, with the sign of the dividend."""
    return call.fmod(x1, x2)


def greater(x1: Any, x2: Any) -> Any:
    """Return whether elements of the first array are greater."""
    return call.greater(x1, x2)


def greater_equal(x1: Any, x2: Any) -> Any:
    """Return whether elements of the first array are greater or equal."""
    return call.greater_equal(x1, x2)


def hypot(x1: Any, x2: Any) -> Any:
    """Compute the length of the hypotenuse."""
    return call.hypot(x1, x2)


def left_shift(x1: Any, x2: Any) -> Any:
    """Shift the bits of integers to the left."""
    return call.left_shift(x1, x2)


def less(x1: Any, x2: Any) -> Any:
    """Return whether elements of the first array are less."""
    return call.less(x1, x2)


def less_equal(x1: Any, x2: Any) -> Any:
    """Return whether elements of the first array are less or equal."""
    return call.less_equal(x1, x2)


def logaddexp(x1: Any, x2: Any) -> Any:
    """Compute log(exp(x1) + exp(x2))."""
    return call.logaddexp(x1, x2)


def logaddexp2(x1: Any, x2: Any) -> Any:
    """Compute log2(2**x1 + 2**x2)."""
    return call.logaddexp2(x1, x2)


def logical_and(x1: Any, x2: Any) -> Any:
    """Compute the logical and of booleans."""
    return call.logical_and(x1, x2)


def logical_or(x1: Any, x2: Any) -> Any:
    """Compute the logical or of booleans."""
    return call.logical_or(x1, x2)


def logical_xor(x1: Any, x2: Any) -> Any:
    """Compute the logical exclusive or of booleans."""
    return call.logical_xor(x1, x2)


def maximum(x1: Any, x2: Any) -> Any:
    """Return the larger of two elements; NaN where one is."""
    return call.maximum(x1, x2)


def minimum(x1: Any, x2: Any) -> Any:
    """Return the smaller of two elements; NaN where one is."""
    return call.minimum(x1, x2)


def mod(x1: Any, x2: Any) -> Any:
    """Compute the remainder of a division, with the sign of the divisor."""
    return call.mod(x1, x2)


def multiply(x1: Any, x2: Any) -> Any:
    """Multiply two arrays."""
    return call.multiply(x1, x2)


def nextafter(x1: Any, x2: Any) -> Any:
    """Return the next number after x1 in the direction of x2."""
    return call.nextafter(x1, x2)


def not_equal(x1: Any, x2: Any) -> Any:
    """Return whether elements are different."""
    return call.not_equal(x1, x2)


def power(x1: Any, x2: Any) -> Any:
    """Compute powers."""
    return call.power(x1, x2)


def remainder(x1: Any, x2: Any) -> Any:
    """Compute the remainder of a division, with the sign of the divisor."""
    return call.remainder(x1, x2)


def right_shift(x1: Any, x2: Any) -> Any:
    """Shift the bits of integers to the right."""
    return call.right_shift(x1, x2)


def subtract(x1: Any, x2: Any) -> Any:
    """Subtract the second array from the first."""
    return call.subtract(x1, x2)


def true_divide(x1: Any, x2: Any) -> Any:
    """Divide two arrays."""
    return call.true_divide(x1, x2)


def divmod(x1: Any, x2: Any) -> tuple[Any, Any]:
    """Return the quotient, rounded down, and the remainder of a division."""
    return call.divmod(x1, x2)
