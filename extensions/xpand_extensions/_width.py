"""One floating-point data type for all arrays of a function; float32 for narrow ones."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace

P = ParamSpec("P")

_narrow: dict[tuple[type, DType], bool] = {}  # by hand: torch.compile warns of functools.cache


def is_narrow(xp: Namespace, dtype: DType) -> bool:
    """Tell whether a floating-point data type has fewer than 32 bits: float16, bfloat16."""
    key = (type(dtype), dtype)
    if key not in _narrow:
        _narrow[key] = xp.finfo(dtype).bits < 32
    return _narrow[key]


def widened(function: Callable[P, Array]) -> Callable[P, Array]:
    """Have a function compute in the data type to which its positional arrays promote, in float32 for narrower ones."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Array:
        arrays: list[Any] = [x for x in args if hasattr(x, "dtype")]
        xp = array_namespace(*arrays)
        dtype = arrays[0].dtype if len(arrays) == 1 else xp.result_type(*arrays)
        narrow = is_narrow(xp, dtype)
        if len(arrays) == 1 and not narrow:
            return function(*args, **kwargs)
        wide = xp.float32 if narrow else dtype
        converted = [xp.astype(x, wide) if hasattr(x, "dtype") and x.dtype != wide else x for x in args]
        result = function(*converted, **kwargs)  # type: ignore[arg-type]
        return xp.astype(result, dtype) if narrow else result

    return run
