"""A small array library: NumPy's arrays behind an array object of its own, which NumPy can't convert by itself.

Its functions are those of the array API standard, NumPy's with arrays wrapped and unwrapped.
"""

from collections.abc import Callable
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
PLAIN = ("broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype", "result_type")
OTHERS = (
    # elementwise
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and", "bitwise_invert"),
    *("bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "ceil", "clip", "conj", "copysign"),
    *("cos", "cosh", "divide", "equal", "exp", "expm1", "floor", "floor_divide", "greater", "greater_equal", "hypot"),
    *("imag", "isfinite", "isinf", "isnan", "less", "less_equal", "log", "log10", "log1p", "log2", "logaddexp"),
    *("logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "negative"),
    *("nextafter", "not_equal", "positive", "pow", "real", "reciprocal", "remainder", "round", "sign", "signbit"),
    *("sin", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "trunc", "where"),
    # the rest
    *("all", "any", "argmax", "argmin", "argsort", "astype", "broadcast_arrays", "broadcast_to", "concat"),
    *("count_nonzero", "cumulative_prod", "cumulative_sum", "diff", "expand_dims", "flip", "isin", "matmul"),
    *("matrix_transpose", "max", "mean", "meshgrid", "min", "moveaxis", "nonzero", "permute_dims", "prod", "repeat"),
    *("reshape", "roll", "searchsorted", "sort", "squeeze", "stack", "std", "sum", "take", "take_along_axis"),
    *("tensordot", "tile", "tril", "triu", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
    *("unstack", "var", "vecdot"),
)

__all__ = [*DTYPES, *CONSTANTS, *CREATION, *LIKE, *PLAIN, *OTHERS, "Array", "__array_namespace_info__", "from_dlpack"]

__array_namespace_info__ = _info.Info


def _on_arrays(name: str) -> Callable[..., Any]:
    function = getattr(np, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("device", None)
        return wrap(function(*map(unwrap, args), **{key: unwrap(value) for key, value in kwargs.items()}))

    wrapped.__name__ = wrapped.__qualname__ = name
    wrapped.__doc__ = f"Do what `{name}` of the array API standard does."
    return wrapped


for _name in CONSTANTS:
    globals()[_name] = getattr(np, _name)
for _name in DTYPES:
    globals()[_name] = np.dtype(_name)
for _name in (*CREATION, *LIKE, *PLAIN, *OTHERS):
    globals()[_name] = _on_arrays(_name)


def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
    """Take over an array of another library."""
    return Array(np.from_dlpack(x, copy=copy))


def __dir__() -> list[str]:
    return __all__
