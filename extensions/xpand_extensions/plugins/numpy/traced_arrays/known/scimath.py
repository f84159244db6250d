"""Functions whose results are complex outside of the real domain: `np.emath`."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .._arguments import array
from .._table import implements

Test = Callable[[Any], Any]


def _is_negative(x: Any) -> Any:
    return x < 0


def _is_above_one(x: Any) -> Any:
    return abs(x) > 1


def _complex_outside(xp: Any, name: str, x: Any, is_outside: Test) -> Any:
    """Return an array, converted to complex numbers if an element is outside of the real domain.

    Raises:
        TypeError: The values are abstract, and so the data type of the result is.
    """
    x = array(xp, x)
    if xp.is_complex(x.dtype):
        return x
    outside = xp.any(is_outside(x))
    if outside.is_traced:
        raise TypeError(
            f"np.emath.{name}: the data type of the result depends on values, which are not known while a "
            f"transformation traces the function; use the function np.{name} of real or of complex numbers"
        )
    return xp.astype(x, np.result_type(x.dtype, np.complex64)) if bool(outside) else x


def _enter(name: str, is_outside: Test) -> None:
    ufunc = getattr(np, name)
    implements(f"lib.scimath.{name}")(lambda xp, x: ufunc(_complex_outside(xp, name, x, is_outside)))


_TESTS: Final[dict[str, Test]] = {
    **dict.fromkeys(("log", "log10", "log2", "sqrt"), _is_negative),
    "arctanh": _is_above_one,
}
for _name, _test in _TESTS.items():
    _enter(_name, _test)


def _enter_inverse(name: str, sign: int) -> None:
    """Enter arccos or arcsin: real numbers beyond one are on the branch cut of the complex function."""
    ufunc = getattr(np, name)

    def inverse(xp: Any, x: Any) -> Any:
        x = array(xp, x)
        dtype = _complex_outside(xp, name, x, _is_above_one).dtype
        if x.dtype == dtype or not xp.is_complex(dtype):
            return ufunc(x)
        x = xp.astype(x, np.finfo(dtype).dtype)
        is_outside = _is_above_one(x)
        at_ends = xp.where(x > 0, float(ufunc(1.0)), xp.full_like(x, float(ufunc(-1.0))))
        real = xp.where(is_outside, at_ends, ufunc(xp.where(is_outside, 0.0, x)))
        return real + 1j * xp.where(is_outside, sign * np.arccosh(xp.where(is_outside, abs(x), 2.0)), 0.0)

    implements(f"lib.scimath.{name}")(inverse)


_enter_inverse("arccos", -1)
_enter_inverse("arcsin", 1)


@implements("lib.scimath.logn")
def _logn(xp: Any, n: Any, x: Any) -> Any:
    base, x = (_complex_outside(xp, "logn", value, _is_negative) for value in (n, x))
    return np.log(x) / np.log(base)


@implements("lib.scimath.power")
def _power(xp: Any, x: Any, p: Any) -> Any:
    base, power = _complex_outside(xp, "power", x, _is_negative), array(xp, p)
    if power.dtype.kind in "iu":
        negative = xp.any(power < 0)
        power = power * 1.0 if negative.is_traced or bool(negative) else power
    return np.power(base, power)
