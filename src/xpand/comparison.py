"""Comparisons of numbers with a tolerance, and of whole arrays."""

from typing import Any

from . import _arguments
from ._arguments import device_of
from ._namespace import array_namespace, describe
from .typing import Array, ArrayLike, Namespace, Scalar

__all__ = ["allclose", "array_equal", "isclose"]
__dir__ = __all__.copy


def isclose(a: ArrayLike, b: ArrayLike, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Array:
    """Return for each element whether `abs(a - b) <= atol + rtol * abs(b)`.

    Args:
        a: An array of any data type, or a number.
        b: An array or a number, of a shape that broadcasts with that of `a`. At least one of the two is an array.
        rtol: The relative tolerance, not negative.
        atol: The absolute tolerance, not negative.
        equal_nan: Whether NaN is close to NaN.

    Returns:
        Booleans of the common shape. Infinities are only close to equal infinities. Booleans are compared with `==`.
        Integers are close if they are equal; otherwise they are compared as floating-point numbers.

    Raises:
        TypeError: Neither argument is an array, or there are arrays of two libraries, or a tolerance is not a number.
        ValueError: A tolerance is negative, the shapes don't broadcast, or the arrays lie on two devices.

    Source: `numpy.isclose`, `array_api_extra.isclose`.

    >>> import numpy as np
    >>> isclose(np.asarray([1.0, 1.0, np.inf]), np.asarray([1.0 + 1e-9, 1.1, np.inf]))
    array([ True, False,  True])
    """
    return _close("isclose", a, b, rtol, atol, equal_nan)


def allclose(
    a: ArrayLike, b: ArrayLike, /, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Array:
    """Return whether all elements of two arrays are close in the sense of `isclose`, as an array of shape ().

    Arguments and errors are the same as for `isclose`. Source: `numpy.allclose`.

    >>> import numpy as np
    >>> bool(allclose(np.asarray([1.0, 2.0]), 1.0, atol=1.0))
    True
    """
    close = _close("allclose", a, b, rtol, atol, equal_nan)
    return array_namespace(close).all(close)


def array_equal(a: Array, b: Array, /, *, equal_nan: bool = False) -> Array:
    """Return whether two arrays have the same shape and equal elements, as an array of shape ().

    Args:
        a: An array of any data type.
        b: An array. It is not broadcast; its data type may differ if the standard promotes both.
        equal_nan: Whether NaN equals NaN.

    Raises:
        TypeError: An argument is not an array, or the arrays belong to two libraries.
        ValueError: The arrays lie on two devices.

    Source: `numpy.array_equal`.

    >>> import numpy as np
    >>> bool(array_equal(np.asarray([1, 2]), np.asarray([1, 2])))
    True
    >>> bool(array_equal(np.asarray([1, 2]), np.asarray([[1, 2]])))
    False
    """
    xp = _arguments.namespace_of("array_equal", a=a, b=b)
    _arguments.boolean("array_equal", "equal_nan", equal_nan)
    _arguments.one_device("array_equal", a=a, b=b)
    if tuple(a.shape) != tuple(b.shape):
        return xp.full((), False, dtype=xp.bool, device=device_of(a))
    a, b = _arguments.promote("array_equal", xp, a=a, b=b)
    equal = xp.equal(a, b)
    return xp.all(equal | _both_nan(xp, a, b) if equal_nan else equal)


def _close(function: str, a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Array:
    given = {name: x for name, x in (("a", a), ("b", b)) if _arguments.is_array(x)}
    if not given:
        raise TypeError(
            f"{function}: a or b must be an array, got {describe(a)} and {describe(b)}; compare numbers with "
            "`math.isclose`"
        )
    xp = _arguments.namespace_of(function, **given)
    _arguments.one_device(function, **given)
    _arguments.boolean(function, "equal_nan", equal_nan)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"{function}: {name} must be a number, got {describe(value)}")
        if not value >= 0.0:
            raise ValueError(f"{function}: {name} must not be negative, got {value}")
    like = next(iter(given.values()))
    a, b = (x if _arguments.is_array(x) else _number(function, xp, x, like) for x in (a, b))
    a, b = _arguments.promote(function, xp, a=a, b=b)
    equal = xp.equal(a, b)
    kind = _arguments.kind(xp, a.dtype)
    if kind == "bool":
        return equal
    if kind not in _arguments.FLOATING:
        real = xp.__array_namespace_info__().default_dtypes(device=device_of(like))["real floating"]
        a, b = xp.astype(a, real), xp.astype(b, real)
    finite = xp.logical_and(xp.isfinite(a), xp.isfinite(b))
    zero = xp.zeros((), dtype=a.dtype, device=device_of(like))
    # The difference excludes infinities: NumPy warns about inf - inf.
    distance = xp.abs(xp.where(finite, a, zero) - xp.where(finite, b, zero))
    size = xp.abs(xp.where(finite, b, zero))
    found = equal | (finite & (distance <= atol + rtol * size))
    return found | _both_nan(xp, a, b) if equal_nan else found


def _number(function: str, xp: Namespace, value: Scalar, like: Array) -> Array:
    """Convert a number to an array of the data type of the other array.

    Raises:
        TypeError: `value` is not a number, or does not promote to the data type.
        OverflowError: An integer is out of the range of the data type.
    """
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(f"{function}: takes arrays and numbers, got {describe(value)}")
    _arguments.castable(function, "the number", xp, value, like, "the array")
    return xp.asarray(value, dtype=like.dtype, device=device_of(like))


def _both_nan(xp: Namespace, a: Array, b: Array) -> Array:
    if not all(_arguments.kind(xp, x.dtype) in _arguments.FLOATING for x in (a, b)):
        return xp.zeros((), dtype=xp.bool, device=device_of(a))
    return xp.logical_and(xp.isnan(a), xp.isnan(b))
