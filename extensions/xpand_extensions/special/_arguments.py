"""Argument checks of the special functions of one array, and functions of complex numbers."""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, DType, checks, library_of

_MAX_TYPES: Final = 4096  # as in dispatch, the table must stay bounded if a program keeps making classes

# The accepted data types by type of array. A check is one look-up: computing a small array takes only a microsecond.
_passed: dict[type, set[DType]] = {}


def real(function: str, x: Array) -> None:
    """Check that `x` is an array of a real floating-point data type.

    Raises:
        TypeError: It is not.
    """
    dtypes = _passed.get(type(x))
    if dtypes is not None and x.dtype in dtypes:
        return
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, checks.REAL)
    _passes(x)


def is_complex(function: str, x: Array) -> bool:
    """Check that `x` is an array of a real or complex floating-point data type, and return whether it is complex.

    Raises:
        TypeError: It is not.
    """
    dtypes = _passed.get(type(x))
    if dtypes is not None and x.dtype in dtypes:
        return False
    xp = checks.namespace_of(function, x=x)
    if checks.dtype(function, "x", xp, x, checks.FLOATING) in checks.REAL:
        _passes(x)
        return False
    return True


def _passes(x: Array) -> None:
    # For other libraries, the namespace may depend on the array, and the meaning of a data type on the namespace.
    if len(_passed) < _MAX_TYPES and library_of(type(x)) is not None:
        _passed.setdefault(type(x), set()).add(x.dtype)


def rsqrt(z: Array) -> Array:
    xp = array_namespace(z)
    zero, infinite = z == 0.0, xp.isinf(z)
    # Replace the other elements: division by zero or infinity would make NumPy warn.
    ordinary = 1.0 / xp.sqrt(xp.where(zero | infinite, 1.0, z))
    return xp.where(zero, complex(math.inf, 0.0), xp.where(infinite, 0.0, ordinary))


def exp2(z: Array) -> Array:
    return array_namespace(z).exp(z * math.log(2.0))


def sigmoid(z: Array) -> Array:
    xp = array_namespace(z)
    left = xp.real(z) < 0.0
    e = xp.exp(xp.where(left, z, -z))  # at most 1, so that nothing overflows
    return xp.where(left, e, 1.0) / (1.0 + e)
