"""A small array library: NumPy's arrays behind an array object of its own, which NumPy can't convert by itself.

Its functions are those of the array API standard, NumPy's with arrays wrapped and unwrapped.
"""

from collections.abc import Callable
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy as np

from . import _info
from ._array import Array, unwrap, wrap

__array_api_version__ = "2025.12"
__version__ = "1.0.0"

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
CONSTANTS = ("e", "inf", "nan", "newaxis", "pi")
CREATION = ("arange", "asarray", "empty", "eye", "full", "linspace", "ones", "zeros")
LIKE = ("empty_like", "full_like", "ones_like", "zeros_like")
PLAIN = ("broadcast_shapes", "can_cast", "isdtype", "result_type")
OWN = ("finfo", "from_dlpack", "iinfo", "sort")
OTHERS = (
    # elementwise
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert"),
    *("bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "conj", "copysign"),
    *("cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot"),
    *("imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp"),
    *("logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative"),
    *("nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit"),
    *("sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where"),
    # the rest
    *("all", "any", "argmax", "argmin", "astype", "broadcast_arrays", "broadcast_to", "concat"),
    *("count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "expand_dims", "flip", "isin", "matmul"),
    *("matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis", "nonzero", "permute_dims", "prod", "repeat"),
    *("reshape", "roll", "searchsorted", "squeeze", "stack", "std", "sum", "take", "take_along_axis"),
    *("tensordot", "tile", "tril", "triu", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("unstack", "var", "vecdot"),
)

__all__ = [*DTYPES, *CONSTANTS, *CREATION, *LIKE, *PLAIN, *OTHERS, *OWN, "Array", "__array_namespace_info__"]

__array_namespace_info__ = _info.Info


def _on_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    @wraps(function)  # the signature too
    def on_arrays(*args: Any, **kwargs: Any) -> Any:
        return wrap(function(*map(unwrap, args), **{key: unwrap(value) for key, value in kwargs.items()}))

    return on_arrays


for _name in CONSTANTS:
    globals()[_name] = getattr(np, _name)
for _name in DTYPES:
    globals()[_name] = np.dtype(_name)
for _name in (*CREATION, *LIKE, *PLAIN, *OTHERS):
    globals()[_name] = _on_arrays(_name)


def argsort(x: Array, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Array:
    """Give the indices that sort an axis; NumPy has no `descending`."""
    data = np.flip(x._data, axis) if descending else x._data
    order = np.argsort(data, axis=axis, stable=stable)
    # Flipped twice, so that equal elements keep their order.
    return Array(x.shape[axis] - 1 - np.flip(order, axis) if descending else order)


def sort(x: Array, /, *, axis: int = -1, descending: Any = False, stable: Any = True) -> Array:
    """Sort an axis; NumPy has no `descending`."""
    data = np.sort(x._data, axis=axis, stable=stable)
    return Array(np.flip(data, axis) if descending else data)


def clip(x: Array, /, min: Any = None, max: Any = None) -> Array:
    """Limit the values; NumPy calls the limits otherwise."""
    return Array(np.clip(x._data, unwrap(min), unwrap(max), dtype=x.dtype))


def finfo(type: Any, /) -> Any:
    """Give the limits of a floating-point data type, or of that of an array, as Python's numbers."""
    info = np.finfo(getattr(type, "dtype", type))
    limits = {name: float(getattr(info, name)) for name in ("eps", "max", "min", "smallest_normal")}
    return SimpleNamespace(bits=info.bits, dtype=info.dtype, **limits)


def iinfo(type: Any, /) -> Any:
    """Give the limits of an integer data type, or of that of an array."""
    return np.iinfo(getattr(type, "dtype", type))


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Take over an array of another library."""
    return Array(np.from_dlpack(x, copy=copy))


def __dir__() -> list[str]:
    return __all__
