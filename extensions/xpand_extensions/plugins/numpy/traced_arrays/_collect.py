"""Traced arrays of nested sequences that contain some, with the arguments of `np.array`."""

from typing import Any

import numpy as np

from xpand_extensions.tracing._core import TracedArray

from ._arguments import array as array_of


def array(xp: Any, obj: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, ndmax: int = 0) -> Any:
    """Return a traced array of numbers, arrays and nested sequences of them, with the arguments of `np.array`.

    Raises:
        TypeError: The data type is not one of numbers or booleans.
        ValueError: The shapes differ, or `copy=False` and a copy is needed.
    """
    if getattr(copy, "name", "") == "IF_NEEDED":  # NumPy's enumeration, which array-api-compat passes
        copy = None
    wanted = None if dtype is None else np.dtype(dtype)
    if wanted is not None and wanted.kind not in "biufc":
        raise TypeError(
            f"np.array(…, dtype={dtype!r}): an array that a transformation traces has numbers or booleans as elements; "
            "choose such a data type"
        )
    if ndmax:
        raise TypeError(f"np.array: traced arrays take no ndmax=, which makes arrays of objects, got {ndmax}")
    result = array_of(xp, obj)
    converts = wanted is not None and wanted != result.dtype
    if copy is False and (converts or isinstance(obj, (list, tuple))):
        raise ValueError("np.array(…, copy=False): a copy is needed; write `copy=None` to copy only where needed")
    if converts:
        result = xp.astype(result, wanted)
    elif copy:
        result = xp.asarray(result, copy=True)
    if ndmin > result.ndim:
        result = xp.reshape(result, (1,) * (ndmin - result.ndim) + tuple(result.shape))
    if result is not obj:
        result._is_array = True
    return result


def first_traced(obj: Any) -> TracedArray | None:
    """Return the first traced array in nested lists and tuples; None without one."""
    if isinstance(obj, TracedArray):
        return obj
    if isinstance(obj, (list, tuple)):
        for part in obj:
            result = first_traced(part)
            if result is not None:
                return result
    return None
