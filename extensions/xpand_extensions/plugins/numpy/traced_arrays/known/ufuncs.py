"""NumPy's universal functions."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

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
    np.rint: "round",
}
"""Universal functions that are functions of the standard."""


def _standard(name: str) -> Callable[..., Any]:
    return lambda xp, *args: getattr(xp, name)(*args)


UFUNCS: Final[dict[np.ufunc, Callable[..., Any]]] = {ufunc: _standard(name) for ufunc, name in OPERATIONS.items()}
"""For each universal function, a function of the traced namespace and the arguments."""
