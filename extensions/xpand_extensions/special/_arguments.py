"""Checks of the special functions: arrays of floating-point data types, and numbers combined with them."""

import math
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, DType, checks, describe, library_of

_MAX_TYPES: Final = 4096  # as in dispatch: classes made without end must not make this grow without end

# The data types that have passed, by the type of array. One look-up in each: a small array's whole computation takes
# a microsecond.
_passed: dict[type, set[DType]] = {}


def real(function: str, x: Array) -> None:
    """Check that `x` is an array of a real floating-point data type.

    Raises:
        TypeError: It is something else.
    """
    dtypes = _passed.get(type(x))
    if dtypes is not None and x.dtype in dtypes:
        return
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, checks.REAL)
    _passes(x)


def is_complex(function: str, x: Array) -> bool:
    """Check that `x` is an array of a real or complex floating-point data type, and tell whether it is complex.

    Raises:
        TypeError: It is something else.
    """
    dtypes = _passed.get(type(x))
    if dtypes is not None and x.dtype in dtypes:
        return False
    xp = checks.namespace_of(function, x=x)
    if checks.dtype(function, "x", xp, x, checks.FLOATING) in checks.REAL:
        _passes(x)
        return False
    return True


def pair(function: str, x: Any, y: Any) -> tuple[Array, Array]:
    """Check two operands as `reals` does, faster where they are two arrays alike."""
    if type(x) is type(y):
        dtypes = _passed.get(type(x))
        if (
            dtypes is not None
            and x.dtype in dtypes
            and y.dtype in dtypes
            and x.shape == y.shape
            and checks.device_of(x) == checks.device_of(y)
        ):
            return x, y
    x, y = reals(function, x=x, y=y)
    return x, y


def reals(function: str, **operands: Any) -> tuple[Array, ...]:
    """Check arrays of real floating-point data types that broadcast, and Python's real numbers among them.

    Returns:
        The operands, each number as an array of no axes, of the first array's data type and on its device.

    Raises:
        TypeError: None is an array, one is neither array nor number, or data types or libraries don't fit.
        ValueError: Shapes that don't broadcast, or arrays on two devices.
    """
    arrays = {name: x for name, x in operands.items() if type(x) not in (float, int)}
    if not arrays:
        listed = ", ".join(f"{name} of {describe(x)}" for name, x in operands.items())
        raise TypeError(
            f"{function}: takes at least one array, got {listed}; turn numbers into arrays with `xp.asarray`"
        )
    xp = checks.namespace_of(function, **arrays)
    checks.one_device(function, **arrays)
    for name, x in arrays.items():
        checks.dtype(function, name, xp, x, checks.REAL)
        _passes(x)
    checks.broadcast_shapes(function, **{name: tuple(x.shape) for name, x in arrays.items()})
    if len(arrays) == len(operands):
        return tuple(arrays.values())
    first = next(iter(arrays.values()))
    options = {"dtype": first.dtype, "device": checks.device_of(first)}
    return tuple(x if name in arrays else xp.asarray(float(x), **options) for name, x in operands.items())


def _passes(x: Array) -> None:
    # Of other libraries the namespace may depend on the array, and a data type's meaning on the namespace.
    if len(_passed) < _MAX_TYPES and library_of(type(x)) is not None:
        _passed.setdefault(type(x), set()).add(x.dtype)


def rsqrt(z: Array) -> Array:
    xp = array_namespace(z)
    zero, infinite = z == 0.0, xp.isinf(z)
    # Elsewhere no division by zero or infinity, of which NumPy warns.
    ordinary = 1.0 / xp.sqrt(xp.where(zero | infinite, 1.0, z))
    return xp.where(zero, complex(math.inf, 0.0), xp.where(infinite, 0.0, ordinary))


def exp2(z: Array) -> Array:
    return array_namespace(z).exp(z * math.log(2.0))


def sigmoid(z: Array) -> Array:
    xp = array_namespace(z)
    left = xp.real(z) < 0.0
    e = xp.exp(xp.where(left, z, -z))  # at most 1, so that nothing overflows
    return xp.where(left, e, 1.0) / (1.0 + e)
