"""Comparisons with tolerances, tests of elements, and replacements of numbers that are not finite."""

from typing import Any

import numpy as np

from xpand import comparison
from xpand_extensions.tracing._array import concrete

from .._arguments import array, common
from .._table import Implementation, implements


@implements("isclose")
def _isclose(xp: Any, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> Any:
    a, b = array(xp, a), array(xp, b)
    a, b = common(xp, [a, b])
    if type(rtol) is float and type(atol) is float:
        return comparison.isclose(a, b, rtol=rtol, atol=atol, equal_nan=bool(equal_nan))
    if not xp.is_floating(a.dtype):
        a, b = xp.astype(a, xp.float64), xp.astype(b, xp.float64)
    is_finite = xp.isfinite(a) & xp.isfinite(b)
    x, y = (xp.where(is_finite, part, xp.zeros_like(part)) for part in (a, b))
    is_close = (is_finite & (xp.abs(x - y) <= array(xp, atol) + array(xp, rtol) * xp.abs(y))) | (a == b)
    return is_close | (xp.isnan(a) & xp.isnan(b)) if equal_nan else is_close


@implements("allclose")
def _allclose(xp: Any, a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: bool = False) -> bool:
    return _holds("allclose", xp.all(_isclose(xp, a, b, rtol, atol, equal_nan)))


@implements("array_equal")
def _array_equal(xp: Any, a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    a1, a2 = array(xp, a1), array(xp, a2)
    return tuple(a1.shape) == tuple(a2.shape) and _holds("array_equal", xp.all(_equal(xp, a1, a2, equal_nan)))


def _equal(xp: Any, a: Any, b: Any, equal_nan: bool) -> Any:
    are_equal = a == b
    return are_equal | ((a != a) & (b != b)) if equal_nan else are_equal


@implements("array_equiv")
def _array_equiv(xp: Any, a1: Any, a2: Any) -> bool:
    a1, a2 = array(xp, a1), array(xp, a2)
    try:
        np.broadcast_shapes(tuple(a1.shape), tuple(a2.shape))
    except ValueError:
        return False
    return _holds("array_equiv", xp.all(a1 == a2))


def _holds(name: str, condition: Any) -> bool:
    return bool(concrete(condition, f"np.{name}"))


# Tests of elements


@implements("iscomplex")
def _iscomplex(xp: Any, x: Any) -> Any:
    x = array(xp, x)
    return xp.imag(x) != 0 if xp.is_complex(x.dtype) else xp.zeros_like(x, dtype=xp.bool)


@implements("isreal")
def _isreal(xp: Any, x: Any) -> Any:
    x = array(xp, x)
    return xp.imag(x) == 0 if xp.is_complex(x.dtype) else xp.ones_like(x, dtype=xp.bool)


def _infinite(name: str, value: float) -> Implementation:
    def is_infinite(xp: Any, x: Any) -> Any:
        x = array(xp, x)
        if xp.is_complex(x.dtype):
            raise TypeError(f"np.{name}: complex numbers have no sign, got an array of {x.dtype}")
        return x == value if xp.is_floating(x.dtype) else xp.zeros_like(x, dtype=xp.bool)

    return is_infinite


implements("isposinf")(_infinite("isposinf", np.inf))
implements("isneginf")(_infinite("isneginf", -np.inf))


# Replacements


@implements("nan_to_num")
def _nan_to_num(xp: Any, x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    own, x = x, array(xp, x)
    if xp.is_complex(x.dtype):
        parts = (_finite(xp, part, nan, posinf, neginf) for part in (xp.real(x), xp.imag(x)))
        real, imag = (xp.astype(part, x.dtype) for part in parts)
        result = real + imag * 1j
    else:
        result = _finite(xp, x, nan, posinf, neginf)
    if copy or own is not x or result is x:
        return xp.asarray(result, copy=True) if result is x and copy else result
    x[...] = result
    return x


def _finite(xp: Any, x: Any, nan: Any, posinf: Any, neginf: Any) -> Any:
    if not xp.is_floating(x.dtype):
        return x
    limits = xp.finfo(x.dtype)
    posinf, neginf = limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    for condition, value in ((xp.isnan(x), nan), (x == np.inf, posinf), (x == -np.inf, neginf)):
        x = xp.where(condition, xp.astype(array(xp, value), x.dtype, copy=False), x)
    return x


@implements("real_if_close")
def _real_if_close(xp: Any, a: Any, tol: Any = 100) -> Any:
    a = array(xp, a)
    if not xp.is_complex(a.dtype):
        return a
    limit = tol * float(xp.finfo(a.dtype).eps) if tol > 1 else tol
    return xp.real(a) if _holds("real_if_close", xp.all(xp.abs(xp.imag(a)) < limit)) else a
