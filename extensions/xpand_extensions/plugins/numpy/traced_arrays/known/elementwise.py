"""Functions of elements that are not universal functions."""

import math
from collections.abc import Sequence
from types import NoneType
from typing import Any, Final

import numpy as np

from xpand_extensions import special
from xpand_extensions.tracing._core import apart, bind

from .._arguments import KINDS, array, cast, common, floating, integers, is_real, numeric, operand
from .._table import NO_VALUE, implements

_NUMBERS: Final = {int, float, NoneType}


@implements("clip")
def _clip(
    xp: Any, a: Any, a_min: Any = NO_VALUE, a_max: Any = NO_VALUE, *, min: Any = NO_VALUE, max: Any = NO_VALUE
) -> Any:
    if (a_min is not NO_VALUE or a_max is not NO_VALUE) and (min is not NO_VALUE or max is not NO_VALUE):
        raise ValueError("np.clip: takes a_min and a_max, or min and max, got both")
    low, high = (min, max) if a_min is NO_VALUE and a_max is NO_VALUE else (a_min, a_max)
    bounds: list[Any] = [None if bound is NO_VALUE else bound for bound in (low, high)]
    if type(bounds[0]) in _NUMBERS and type(bounds[1]) in _NUMBERS and is_real(xp, a):
        # Numbers determine neither the data type nor the shape. The result of NumPy's function is no view.
        return xp.wrap(bind(xp.operations["clip"], (a, *bounds), {}))
    x = array(xp, a)
    bounds = [None if bound is None else operand(xp, bound) for bound in bounds]
    dtype = np.result_type(x.dtype, *[getattr(bound, "dtype", bound) for bound in bounds if bound is not None])
    if xp.is_complex(dtype):
        raise TypeError("np.clip: complex numbers have no order here; clip the real and imaginary parts")
    bounds = [cast(xp, array(xp, bound), dtype) if hasattr(bound, "dtype") else bound for bound in bounds]
    shapes = {x.shape, *[bound.shape for bound in bounds if hasattr(bound, "dtype")]}
    if len(shapes) > 1 and x.shape != (shape := np.broadcast_shapes(*shapes)):
        x = xp.broadcast_to(x, shape)
    return apart(xp.clip(cast(xp, x, dtype), *bounds))


@implements("round", "around")
def _round(xp: Any, a: Any, decimals: int = 0) -> Any:
    x, decimals = array(xp, a), integers(decimals)
    if x.dtype.kind in "iu":
        if decimals >= 0:
            return xp.asarray(x, copy=True)
        return xp.astype(_round(xp, xp.astype(x, xp.float64), decimals), x.dtype)
    if x.dtype.kind == "b":
        x = xp.astype(x, np.dtype("float16"))
    if not decimals:
        return xp.round(x)
    scale = 10.0 ** abs(decimals)
    return xp.round(x * scale) / scale if decimals > 0 else xp.round(x / scale) * scale


@implements("fix")
def _fix(xp: Any, x: Any) -> Any:
    x = array(xp, x)
    return xp.trunc(x) if xp.is_floating(x.dtype) else xp.asarray(x, copy=True)


@implements("real")
def _real(xp: Any, val: Any) -> Any:
    return xp.real(array(xp, val))


@implements("imag")
def _imag(xp: Any, val: Any) -> Any:
    return xp.imag(array(xp, val))


@implements("angle")
def _angle(xp: Any, z: Any, deg: bool = False) -> Any:
    x = array(xp, z)
    if xp.is_complex(x.dtype):
        radians = xp.atan2(xp.imag(x), xp.real(x))
    else:
        x = xp.astype(x, np.arctan2(0, np.ones(1, x.dtype)).dtype)
        radians = xp.atan2(xp.zeros_like(x), x)
    return radians * (180 / math.pi) if deg else radians


@implements("sinc")
def _sinc(xp: Any, x: Any) -> Any:
    x = floating(xp, x)
    if not xp.is_complex(x.dtype):
        return special.sinc(x)
    y = xp.where(x == 0, 1e-20, math.pi * x)
    return xp.sin(y) / y


@implements("i0")
def _i0(xp: Any, x: Any) -> Any:
    x = floating(xp, x)
    if xp.is_complex(x.dtype):
        raise TypeError(f"np.i0: x must be real, got {x.dtype}")
    return special.i0(x)


@implements("where")
def _where(xp: Any, condition: Any, x: Any = None, y: Any = None) -> Any:
    mask = nonzero(xp, condition)
    if x is not None and y is not None:
        return xp.where(mask, *_of_one_dtype(xp, x, y))
    if x is not None or y is not None:
        raise ValueError("np.where: takes both x and y, or neither")
    return xp.nonzero(mask)


def _of_one_dtype(xp: Any, x: Any, y: Any) -> Sequence[Any]:
    """Return two operands in their common data type. Python's floating-point numbers stay, which adapt to it."""
    dtype_x, dtype_y = getattr(x, "dtype", None), getattr(y, "dtype", None)
    if dtype_x is dtype_y is not None or type(y) is float:
        if dtype_x is not None and dtype_x.kind in ("f" if dtype_y is None else KINDS):
            return numeric(xp, x), y if type(y) is float else numeric(xp, y)
    elif type(x) is float and dtype_y is not None and dtype_y.kind == "f":
        return x, numeric(xp, y)
    values = [operand(xp, x), operand(xp, y)]
    if not any(hasattr(value, "dtype") for value in values):
        return common(xp, [array(xp, value) for value in values])
    dtype = np.result_type(*[getattr(value, "dtype", value) for value in values])
    return [value if type(value) is float else cast(xp, array(xp, value), dtype) for value in values]


def nonzero(xp: Any, x: Any) -> Any:
    """Return a mask of an array: whether elements are not zero."""
    if type(x) is not np.ndarray:
        x = array(xp, x)
    return x if x.dtype.kind == "b" else numeric(xp, x) != 0
