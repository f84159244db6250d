"""Narrow floating-point data types, computed in float32."""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from xpand import array_namespace
from xpand._typing import Array, DType, Namespace

P = ParamSpec("P")

_narrow: dict[tuple[type, DType], bool] = {}  # by hand: torch.compile warns of functools.cache


def is_narrow(xp: Namespace, dtype: DType) -> bool:
    """Tell whether a floating-point data type has fewer than 32 bits: float16, bfloat16."""
    key = (type(dtype), dtype)
    if key not in _narrow:
        _narrow[key] = xp.finfo(dtype).bits < 32
    return _narrow[key]


def widened(function: Callable[P, Array]) -> Callable[P, Array]:
    """Have a function of arrays compute in float32 where all of them are narrower; its result is rounded to them."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Array:
        arrays = [x for x in args if hasattr(x, "dtype")]
        xp = array_namespace(*arrays)
        if not all(is_narrow(xp, x.dtype) for x in arrays):
            return function(*args, **kwargs)
        dtype = xp.result_type(*arrays)
        wide = [xp.astype(x, xp.float32) if hasattr(x, "dtype") else x for x in args]
        return xp.astype(function(*wide, **kwargs), dtype)  # type: ignore[arg-type]

    return run
