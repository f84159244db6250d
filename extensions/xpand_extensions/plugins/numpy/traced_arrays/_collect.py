"""What `np.array` and its like make of traced arrays and of nested sequences that contain some."""

from typing import Any

import numpy as np

from xpand_extensions.tracing._core import TracedArray

from ._arguments import array as array_of


def array(
    xp: Any,
    obj: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    """Return a traced array of numbers, arrays and nested sequences of them, with the arguments of `np.array`.

    `order`, `subok` and `like` change nothing: traced arrays have no layout in memory and no subclasses.

    Raises:
        TypeError: The data type is not one of numbers or booleans.
        ValueError: The shapes differ, or `copy=False` and a copy is needed.
    """
    if dtype is not None and np.dtype(dtype).kind not in "biufc":
        raise TypeError(
            f"np.array(…, dtype={dtype!r}): an array that a transformation traces contains numbers or booleans; choose "
            "a data type of numbers"
        )
    result = array_of(xp, obj)
    changes = not isinstance(obj, TracedArray) or (dtype is not None and np.dtype(dtype) != result.dtype)
    if copy is False and changes:
        raise ValueError("np.array(…, copy=False): a copy is needed here; write `np.asarray` to copy only where needed")
    if dtype is not None and np.dtype(dtype) != result.dtype:
        result = xp.astype(result, np.dtype(dtype))
    elif copy:
        result = xp.asarray(result, copy=True)
    return xp.reshape(result, (1,) * (ndmin - result.ndim) + tuple(result.shape)) if ndmin > result.ndim else result
