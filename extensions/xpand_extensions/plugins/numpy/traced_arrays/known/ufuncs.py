"""NumPy's universal functions."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from xpand_extensions.arithmetic import truncated_remainder
from xpand_extensions.autodiff import stop_gradient
from xpand_extensions.bits import population_count
from xpand_extensions.special import cbrt, exp2

from ._host import of_integers

Implementation = Callable[..., Any]

OPERATIONS: Final[dict[np.ufunc, str]] = {
    **{
        getattr(np, name): name
        for name in (
            *("add", "ceil", "copysign", "cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide"),
            *("greater", "greater_equal", "hypot", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10"),
            *("log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul"),
            *("maximum", "minimum", "multiply", "negative", "nextafter", "not_equal", "positive", "reciprocal"),
            *("remainder", "sign", "signbit", "sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc"),
            *("bitwise_and", "bitwise_or", "bitwise_xor"),
        )
    },
    np.absolute: "abs",
    np.arccos: "acos",
    np.arccosh: "acosh",
    np.arcsin: "asin",
    np.arcsinh: "asinh",
    np.arctan: "atan",
    np.arctan2: "atan2",
    np.arctanh: "atanh",
    np.invert: "bitwise_invert",
    np.left_shift: "bitwise_left_shift",
    np.power: "pow",
    np.right_shift: "bitwise_right_shift",
}
"""Universal functions that are functions of the standard for all of NumPy's data types."""


OPERATIONS_OF_FLOATS: Final[dict[np.ufunc, str]] = {np.fabs: "abs", np.rint: "round"}
"""Universal functions that are functions of the standard for real floating-point numbers."""


def _standard(name: str) -> Implementation:
    return lambda xp, *args: getattr(xp, name)(*args)


def _scaled(factor: float) -> Implementation:
    return lambda xp, x: x * factor


def _ignoring_nan(name: str) -> Implementation:
    def extreme(xp: Any, x: Any, y: Any) -> Any:
        if x.dtype.kind not in "fc":
            return getattr(xp, name)(x, y)
        # The unselected branches are free of NaN, which would go into derivatives.
        no_x, no_y = xp.isnan(x), xp.isnan(y)
        return getattr(xp, name)(xp.where(no_x, y, x), xp.where(no_y, x, y))

    return extreme


def _conjugate(xp: Any, x: Any) -> Any:
    return xp.conj(x) if x.dtype.kind == "c" else xp.asarray(x, copy=True)


def _fmod(xp: Any, x: Any, y: Any) -> Any:
    # The remainder of integers by zero is NumPy's.
    return truncated_remainder(x, y) if x.dtype.kind == "f" else of_integers(np.fmod, 0, xp, x, y)


def _heaviside(xp: Any, x: Any, value: Any) -> Any:
    steps = xp.where(x > 0, x.dtype.type(1), xp.where(x < 0, x.dtype.type(0), x))  # NaN stays
    return xp.where(x == 0, value, stop_gradient(steps))


def _modf(xp: Any, x: Any) -> tuple[Any, Any]:
    whole = xp.trunc(x)
    fraction = xp.where(xp.isinf(x), x.dtype.type(0), x - xp.where(xp.isinf(x), x.dtype.type(0), whole))
    return xp.copysign(fraction, stop_gradient(x)), whole


def _frexp(xp: Any, x: Any) -> tuple[Any, Any]:
    exponent = of_integers(np.frexp, 1, xp, x)
    return _ldexp(xp, x, -exponent), exponent


def _ldexp(xp: Any, x: Any, exponent: Any) -> Any:
    # Two factors: 2**exponent overflows where the result is an ordinary number.
    half = xp.bitwise_right_shift(exponent, 1)
    return x * _power_of_two(xp, half, x.dtype) * _power_of_two(xp, exponent - half, x.dtype)


def _power_of_two(xp: Any, exponent: Any, dtype: Any) -> Any:
    return xp.pow(dtype.type(2), xp.astype(exponent, dtype))


def _logaddexp2(xp: Any, x: Any, y: Any) -> Any:
    return xp.logaddexp(x * math.log(2.0), y * math.log(2.0)) / math.log(2.0)


def _greatest_divisor(xp: Any, x: Any, y: Any) -> Any:
    return of_integers(np.gcd, 0, xp, x, y)


def _least_multiple(xp: Any, x: Any, y: Any) -> Any:
    return of_integers(np.lcm, 0, xp, x, y)


def _matvec(xp: Any, a: Any, x: Any) -> Any:
    return xp.matmul(a, x[..., None])[..., 0]


def _vecmat(xp: Any, x: Any, a: Any) -> Any:
    return xp.matmul(_conjugate(xp, x)[..., None, :], a)[..., 0, :]


def _vecdot(xp: Any, x: Any, y: Any) -> Any:
    return xp.matmul(_conjugate(xp, x)[..., None, :], y[..., :, None])[..., 0, 0]


_OTHERS: Final[dict[str, Implementation]] = {
    "bitwise_count": lambda xp, x: population_count(xp.abs(x)),
    "cbrt": lambda xp, x: cbrt(x),
    "conjugate": _conjugate,
    "deg2rad": _scaled(math.pi / 180),
    "degrees": _scaled(180 / math.pi),
    "divmod": lambda xp, x, y: (xp.floor_divide(x, y), xp.remainder(x, y)),
    "exp2": lambda xp, x: exp2(x),
    "float_power": _standard("pow"),
    "fmax": _ignoring_nan("maximum"),
    "fmin": _ignoring_nan("minimum"),
    "fmod": _fmod,
    "frexp": _frexp,
    "gcd": _greatest_divisor,
    "heaviside": _heaviside,
    "lcm": _least_multiple,
    "ldexp": _ldexp,
    "logaddexp2": _logaddexp2,
    "matvec": _matvec,
    "modf": _modf,
    "rad2deg": _scaled(180 / math.pi),
    "radians": _scaled(math.pi / 180),
    "spacing": lambda xp, x: of_integers(np.spacing, 0, xp, x),
    "vecdot": _vecdot,
    "vecmat": _vecmat,
}

UFUNCS: Final[dict[np.ufunc, Implementation]] = {
    **{ufunc: _standard(name) for ufunc, name in (OPERATIONS | OPERATIONS_OF_FLOATS).items()},
    **{getattr(np, name): function for name, function in _OTHERS.items()},
}
"""For each universal function, a function of the traced namespace and of arrays in NumPy's data types for the call."""

SAFE: Final[dict[np.ufunc, float]] = {np.arccosh: 2.0}
"""Arguments in place of masked elements where a derivative is finite; 0.5 for other functions."""
