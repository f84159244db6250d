"""Elementwise functions of an array and a Python integer that JAX wraps around, or that needs more than int64.

JAX converts Python integers to int64 (int32 without 64-bit types) and then, without a check, to the array's data type.
"""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Final

import jax.numpy as jnp

from .._common.integers import COMPARISONS, LARGEST, SMALLEST, compare, overflow
from ..typing import DType, LibraryArray as Array
from . import _elementwise as corrected

__all__ = [
    "add",
    "atan2",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "clip",
    "copysign",
    "divide",
    "equal",
    "floor_divide",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "logaddexp",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "multiply",
    "nextafter",
    "not_equal",
    "pow",
    "remainder",
    "subtract",
    "where",
]

_FLOATING: Final = ("atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter")
_LOGICAL: Final = ("logical_and", "logical_or", "logical_xor")

_LIMITS: Final[dict[DType, tuple[int, int] | None]] = {}


def limits_of(dtype: DType) -> tuple[int, int] | None:
    """Return the smallest and the largest number of an integer data type, and None for others."""
    if dtype not in _LIMITS:
        info = jnp.iinfo(dtype) if jnp.issubdtype(dtype, jnp.integer) else None
        _LIMITS[dtype] = None if info is None else (int(info.min), int(info.max))
    return _LIMITS[dtype]


def check_fits(function: str, number: int, dtype: DType) -> None:
    """Raise `OverflowError` for an integer out of the range of an integer data type."""
    limits = limits_of(dtype)
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise overflow(function, number, dtype, limits)


def _default_limits() -> tuple[int, int]:
    """Return the range of Python integers that JAX accepts."""
    limits = limits_of(jnp.dtype(jnp.int_))
    assert limits is not None
    return limits


def converted(number: int, dtype: DType) -> Any:
    """Convert a Python integer to a number that JAX accepts next to arrays of a data type that holds it."""
    low, high = _default_limits()
    if low <= number <= high:
        return number
    return float(number) if limits_of(dtype) is None else dtype.type(number)


def _combined(function: str, x: Any, number: int, is_reflected: bool, native: Callable[..., Array]) -> Array:
    """Call a function of an array and a Python integer, which is the first argument if `is_reflected`."""
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return native(number, x) if is_reflected else native(x, number)
    limits = _default_limits() if dtype.kind == "b" else limits_of(dtype)
    argument: Any = number
    if function in _LOGICAL:
        argument = bool(number)
    elif limits is None or function in _FLOATING:
        low, high = _default_limits()
        argument = number if low <= number <= high else float(number)
    elif function in COMPARISONS:
        native, number = compare(function, number, limits, is_reflected, partial(getattr, jnp))
        return native(x, converted(number, dtype))
    elif not limits[0] <= number <= limits[1]:
        raise overflow(function, number, dtype, limits)
    else:
        argument = converted(number, dtype)
    return native(argument, x) if is_reflected else native(x, argument)


def _with_integers(name: str, native: Callable[..., Array]) -> Any:
    @wraps(native)
    def function(x1: Array, x2: Array, /, **kwargs: Any) -> Array:
        if type(x2) is int:
            if not SMALLEST <= x2 <= LARGEST:
                return _combined(name, x1, x2, False, native)
        elif type(x1) is int and not SMALLEST <= x1 <= LARGEST:
            return _combined(name, x2, x1, True, native)
        return native(x1, x2, **kwargs)

    for method in ("accumulate", "at", "identity", "nargs", "nin", "nout", "outer", "reduce", "reduceat"):
        if hasattr(native, method):  # a ufunc of JAX
            setattr(function, method, getattr(native, method))
    return function


add = _with_integers("add", jnp.add)
atan2 = _with_integers("atan2", jnp.atan2)
bitwise_and = _with_integers("bitwise_and", jnp.bitwise_and)
bitwise_left_shift = _with_integers("bitwise_left_shift", jnp.bitwise_left_shift)
bitwise_or = _with_integers("bitwise_or", jnp.bitwise_or)
bitwise_right_shift = _with_integers("bitwise_right_shift", jnp.bitwise_right_shift)
bitwise_xor = _with_integers("bitwise_xor", jnp.bitwise_xor)
copysign = _with_integers("copysign", jnp.copysign)
divide = _with_integers("divide", jnp.divide)
equal = _with_integers("equal", jnp.equal)
floor_divide = _with_integers("floor_divide", corrected.floor_divide)
greater = _with_integers("greater", jnp.greater)
greater_equal = _with_integers("greater_equal", jnp.greater_equal)
hypot = _with_integers("hypot", jnp.hypot)
less = _with_integers("less", jnp.less)
less_equal = _with_integers("less_equal", jnp.less_equal)
logaddexp = _with_integers("logaddexp", jnp.logaddexp)
logical_and = _with_integers("logical_and", jnp.logical_and)
logical_or = _with_integers("logical_or", jnp.logical_or)
logical_xor = _with_integers("logical_xor", jnp.logical_xor)
maximum = _with_integers("maximum", jnp.maximum)
minimum = _with_integers("minimum", jnp.minimum)
multiply = _with_integers("multiply", jnp.multiply)
nextafter = _with_integers("nextafter", corrected.nextafter)
not_equal = _with_integers("not_equal", jnp.not_equal)
pow = _with_integers("pow", jnp.pow)
remainder = mod = _with_integers("remainder", corrected.remainder)
subtract = _with_integers("subtract", jnp.subtract)


def _value(x: Any, number: Any, function: str) -> Any:
    """Return an argument that becomes an element of an array like `x`, as JAX accepts it."""
    if type(number) is not int or SMALLEST <= number <= LARGEST or not hasattr(x, "dtype"):
        return number
    check_fits(function, number, jnp.dtype(jnp.int_) if x.dtype.kind == "b" else x.dtype)
    return converted(number, x.dtype)


@wraps(jnp.where)
def where(condition: Array, x: Any = None, y: Any = None, /, **kwargs: Any) -> Array:
    if type(x) is int:
        x = _value(y, x, "where")
    elif type(y) is int:
        y = _value(x, y, "where")
    return jnp.where(condition, x, y, **kwargs)


def _bound(x: Any, number: Any) -> Any:
    """Return a bound of `clip`. A Python integer beyond the data type becomes its smallest or largest number."""
    if type(number) is not int or SMALLEST <= number <= LARGEST or not hasattr(x, "dtype"):
        return number
    limits = limits_of(x.dtype)
    if limits is not None:
        number = max(limits[0], min(number, limits[1]))
    return converted(number, x.dtype)


@wraps(jnp.clip)
def clip(arr: Any = None, /, min: Any = None, max: Any = None, **kwargs: Any) -> Array:
    if type(min) is int:
        min = _bound(arr, min)
    if type(max) is int:
        max = _bound(arr, max)
    return jnp.clip(arr, min, max, **kwargs)
