"""Elementwise functions with wrong special values in NumPy, whose functions Dask calls."""

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da

from ...typing import Array
from ._blocks import call, elementwise


def _corrected_for_complex(name: str, native: Callable[..., Array]) -> Callable[..., Array]:
    """Call xpand's function for the blocks of complex arrays, and Dask's function otherwise."""

    def function(x: Array, /, **kwargs: Any) -> Array:
        if isinstance(x, da.Array) and x.dtype.kind == "c":
            return elementwise(name, x, **kwargs)
        return native(x, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""Calculate `{name}` elementwise, with the standard's special cases for complex numbers."""
    return function


acos = _corrected_for_complex("acos", da.arccos)
acosh = _corrected_for_complex("acosh", da.arccosh)
asin = _corrected_for_complex("asin", da.arcsin)
asinh = _corrected_for_complex("asinh", da.arcsinh)
atan = _corrected_for_complex("atan", da.arctan)
atanh = _corrected_for_complex("atanh", da.arctanh)
cosh = _corrected_for_complex("cosh", da.cosh)
exp = _corrected_for_complex("exp", da.exp)
expm1 = _corrected_for_complex("expm1", da.expm1)
log = _corrected_for_complex("log", da.log)
log1p = _corrected_for_complex("log1p", da.log1p)
sign = _corrected_for_complex("sign", da.sign)
sinh = _corrected_for_complex("sinh", da.sinh)
sqrt = _corrected_for_complex("sqrt", da.sqrt)
tanh = _corrected_for_complex("tanh", da.tanh)


def floor_divide(x1: Array | float, x2: Array | float, /, **kwargs: Any) -> Array:
    """Return the floor of the quotient, with the standard's special cases: infinity by a finite number is infinity."""
    return elementwise("floor_divide", x1, x2, **kwargs)


def remainder(x1: Array | float, x2: Array | float, /, **kwargs: Any) -> Array:
    """Return the remainder of the division, with the sign of the divisor."""
    return elementwise("remainder", x1, x2, **kwargs)


def _clip(x: Any, *bounds: Any, lower: bool, upper: bool) -> Any:
    low = bounds[0] if lower else None
    high = bounds[-1] if upper else None
    return call(x, function="clip", min=low, max=high)


def clip(x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    """Limit elements to values from `min` to `max`, arrays or scalars; the result has the data type of `x`."""
    bounds = [bound for bound in (min, max) if bound is not None]
    function = partial(_clip, lower=min is not None, upper=max is not None)
    return da.core.elemwise(function, x, *bounds, dtype=x.dtype)
