"""Operands of a function of several: arrays and Python scalars, brought to one data type."""

from typing import Any, Final, NoReturn

from xpand.extend import Array, DType, Namespace, checks, describe

SCALARS: Final = (bool, int, float, complex)


def together(function: str, kinds: frozenset[checks.Kind], /, **operands: Any) -> list[Array]:
    """Bring arrays and Python scalars, one array at least, to one data type of the given kinds.

    Raises:
        TypeError: No array, arrays of two libraries, or data types that don't promote or are of another kind.
        ValueError: Arrays on two devices, or of shapes that don't broadcast.
    """
    arrays = {name: x for name, x in operands.items() if type(x) not in SCALARS}
    if not arrays:
        no_array(function, operands)
    xp = checks.namespace_of(function, **arrays)
    checks.one_device(function, **arrays)
    for name, x in arrays.items():
        checks.dtype(function, name, xp, x, kinds)
    operands |= zip(arrays, checks.promote(function, xp, **arrays))
    target = operands[next(iter(arrays))]
    result = [cast(function, name, xp, x, target) for name, x in operands.items()]
    if len(arrays) > 1:
        checks.broadcast_shapes(function, **{name: tuple(x.shape) for name, x in arrays.items()})
    return result


def cast(function: str, name: str, xp: Namespace, value: Any, target: Array) -> Array:
    """Give an array the data type of `target`, or make an array of a Python scalar that may take it.

    Raises:
        TypeError: A scalar of a kind that the data type does not take.
        OverflowError: A Python integer too large for the data type.
    """
    if type(value) not in SCALARS:
        return value if value.dtype == target.dtype else xp.astype(value, target.dtype)
    checks.castable(function, name, xp, value, target, "the arrays")
    return xp.asarray(value, dtype=target.dtype, device=checks.device_of(target))


def no_array(function: str, operands: dict[str, Any]) -> NoReturn:
    """Raise for operands of which none is an array."""
    listed = ", ".join(f"{name} of {describe(x)}" for name, x in operands.items()) or "nothing"
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
