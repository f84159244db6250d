"""Arithmetic that the standard lacks: explicit promotion, and division that is defined at zero or truncates.

Use the namespace for the operations of the standard: `floor_divide`, `remainder` (floored), `nextafter`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NoReturn

from xpand.extend import Array, ArrayLike, DType, Namespace, checks, describe

from ._dispatch import pluggable

__all__ = ["divide_no_nan", "promote", "quotient", "truncated_remainder"]
__dir__ = __all__.copy


SCALARS: Final = (bool, int, float, complex)


def check_operands(
    kinds: frozenset[checks.Kind], names: tuple[str, ...], function: str, *operands: Any
) -> tuple[Callable[[Any], Array], ...]:
    """Check operands, arrays and Python numbers with at least one array; return a conversion for each.

    The conversions bring the operands to one data type of the given kinds.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that don't promote or are of another kind.
        ValueError: Arrays on two devices, or of shapes that don't broadcast.
        OverflowError: A Python integer too large for the data type.
    """
    named = dict(zip(names, operands))
    arrays = {name: x for name, x in named.items() if type(x) not in SCALARS}
    if not arrays:
        _no_array(function, named)
    xp = checks.together(function, kinds, **arrays)
    target = checks.promote(function, xp, **arrays)[0]
    for name, x in named.items():
        if name not in arrays:
            checks.castable(function, name, xp, x, target, "the array")
    if len(arrays) > 1:
        checks.broadcast_shapes(function, **{name: tuple(x.shape) for name, x in arrays.items()})
    return tuple([_conversion(xp, x, target) for x in operands])


def _conversion(xp: Namespace, value: Any, target: Array) -> Callable[[Any], Array]:
    """Return a function that converts values like `value`, arrays or Python numbers, to the data type of `target`."""
    dtype = target.dtype
    if type(value) in SCALARS:
        return partial(xp.asarray, dtype=dtype, device=checks.device_of(target))
    return _unchanged if value.dtype == dtype else lambda x: xp.astype(x, dtype)


def _unchanged(x: Array) -> Array:
    return x


def cast(function: str, name: str, xp: Namespace, value: Any, target: Array) -> Array:
    """Convert an array, or a Python scalar that fits, to the data type of `target`.

    Raises:
        TypeError: A scalar of a kind that does not fit the data type.
        OverflowError: A Python integer too large for the data type.
    """
    if type(value) in SCALARS:
        checks.castable(function, name, xp, value, target, "the array")
    return _conversion(xp, value, target)(value)


def _no_array(function: str, operands: dict[str, Any]) -> NoReturn:
    """Raise the error for a call without an array."""
    listed = ", ".join(f"{name} ({describe(x)})" for name, x in operands.items()) or "nothing"
    raise TypeError(f"{function}: takes at least one array, got {listed}; turn numbers into arrays with `xp.asarray`")


def integer_width(xp: Namespace, dtype: DType) -> int:
    """Return the number of bits of an integer data type."""
    low, high = checks.integer_range(xp, dtype)
    return (high - low).bit_length()


def element_width(xp: Namespace, dtype: DType) -> int:
    """Return the number of bits of an element of a numeric data type."""
    kind = checks.kind(xp, dtype)
    if kind in checks.INTEGERS:
        return integer_width(xp, dtype)
    return int(xp.finfo(dtype).bits) * (2 if kind == "complex" else 1)


def promote(*operands: ArrayLike, bool_to_int: bool = False, int_to_float: bool = False) -> tuple[Array, ...]:
    """Convert arrays and Python scalars to their promoted data type, as operators do.

    Args:
        *operands: Arrays of one library, of any shapes, and Python scalars; one array at least.
        bool_to_int: Booleans count as integers: together with arrays of numbers, they take the type of these; alone,
            the library's default integer type.
        int_to_float: Integers count as floating-point numbers: together with floating-point arrays, they take the type
            of these; alone, the library's default real floating-point type.

    Returns:
        A tuple of arrays of one data type, in the order of the operands; scalars become 0-dimensional arrays. The
        standard's promotion of the arrays determines the type; Python scalars take it.

    Raises:
        TypeError: No array, arrays of two libraries, or kinds that the standard does not promote and no option allows.
        ValueError: Arrays on two devices.
        OverflowError: A Python integer that the data type can't hold.

    Source: the section "Type promotion rules" of the array API standard.

    >>> import numpy as np
    >>> promote(np.asarray([1, 2], dtype=np.int8), np.asarray([3], dtype=np.int16), 4)
    (array([1, 2], dtype=int16), array([3], dtype=int16), array(4, dtype=int16))
    >>> promote(np.asarray([1, 2]), np.asarray([0.5]), int_to_float=True)
    (array([1., 2.]), array([0.5]))
    """
    checks.boolean("promote", "bool_to_int", bool_to_int)
    checks.boolean("promote", "int_to_float", int_to_float)
    named: dict[str, Any] = {f"operand {number}": x for number, x in enumerate(operands)}
    arrays = {name: x for name, x in named.items() if type(x) not in SCALARS}
    if not arrays:
        _no_array("promote", named)
    xp = checks.together("promote", **arrays)
    device = checks.device_of(next(iter(arrays.values())))
    rank = {"bool": 0, "unsigned": 1, "signed": 1, "real": 2, "complex": 2}
    ranks = {name: rank.get(checks.kind(xp, x.dtype) or "", 3) for name, x in arrays.items()}
    # Operands that an option promotes to a higher kind don't affect the type.
    highest = max(ranks.values())
    lowest = highest
    if highest == 2 and int_to_float:
        lowest = 1
    if bool_to_int and lowest <= 1:
        lowest = 0
    leading = {name: x for name, x in arrays.items() if ranks[name] == highest or not lowest <= ranks[name] < highest}
    named |= zip(leading, checks.promote("promote", xp, **leading))
    target = named[next(iter(leading))]
    # Arrays of the library's default types: torch.compile accepts this.
    if highest == 0 and bool_to_int:
        highest, target = 1, xp.arange(0, device=device)
    if highest == 1 and int_to_float:
        target = xp.zeros((), device=device)

    def converted(name: str, x: Any) -> Array:
        return cast("promote", name, xp, int(x) if type(x) is bool and bool_to_int else x, target)

    return tuple(converted(name, x) for name, x in named.items())


_CHECK_FLOATING: Final = partial(check_operands, checks.FLOATING, ("x", "y"))
_CHECK_INTEGERS: Final = partial(check_operands, checks.INTEGERS, ("x", "y"))
_CHECK_REAL_VALUED: Final = partial(check_operands, checks.REAL_VALUED, ("x", "y"))


@pluggable
def divide_no_nan(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Divide, with the result 0 where the divisor is 0.

    Args:
        x: The dividend: a floating-point array, or a Python scalar.
        y: The divisor: a floating-point array whose shape broadcasts with that of `x`, or a Python scalar. One of the
            two is an array.

    Returns:
        `x / y`, of the promoted data type. 0 where `y` is 0, even if `x` is NaN or infinite; the derivatives
        are 0 there.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't floating-point or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `tf.math.divide_no_nan`.

    >>> import numpy as np
    >>> divide_no_nan(np.asarray([1.0, 2.0, 0.0]), np.asarray([2.0, 0.0, 0.0]))
    array([0.5, 0. , 0. ])
    """
    implementation, of_x, of_y = divide_no_nan.planned(_CHECK_FLOATING, (x, y))
    return implementation(of_x(x), of_y(y))


@pluggable
def quotient(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Divide integers, truncating toward zero.

    Args:
        x: The dividend: an integer array, or a Python integer.
        y: The divisor: an integer array whose shape broadcasts with that of `x`, or a Python integer. One of the two
            is an array.

    Returns:
        The quotients, of the promoted data type. 0 where `y` is 0, on every library; no error is raised, because values
        are not read. The smallest number divided by -1 wraps around to itself, because the type can't hold the
        quotient. Always `x == quotient(x, y) * y + truncated_remainder(x, y)`.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't integers or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `Nx.quotient`; the division of C.

    >>> import numpy as np
    >>> quotient(np.asarray([7, -7, 7, 7]), np.asarray([2, 2, -2, 0]))
    array([ 3, -3, -3,  0])
    """
    implementation, of_x, of_y = quotient.planned(_CHECK_INTEGERS, (x, y))
    return implementation(of_x(x), of_y(y))


@pluggable
def truncated_remainder(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Compute the remainder of division truncated toward zero. It has the sign of the dividend.

    The standard's `remainder` belongs to floored division, and has the sign of the divisor.

    Args:
        x: The dividend: an integer or real floating-point array, or a Python number.
        y: The divisor: an array of the same kind whose shape broadcasts with that of `x`, or a Python number. One of
            the two is an array.

    Returns:
        The exact remainders, of the promoted data type. Integers: `x` where `y` is 0, because `quotient` is 0 there.
        Floating-point numbers, as by C's fmod: NaN where `y` is 0 or `x` is infinite; `x` where `y` is infinite and `x`
        is finite; a zero has the sign of `x`.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that aren't real-valued or don't promote.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Source: `numpy.fmod`; `Nx.remainder`.

    >>> import numpy as np
    >>> truncated_remainder(np.asarray([7.5, -7.5]), np.asarray([2.0, 2.0]))
    array([ 1.5, -1.5])
    """
    implementation, of_x, of_y = truncated_remainder.planned(_CHECK_REAL_VALUED, (x, y))
    return implementation(of_x(x), of_y(y))
