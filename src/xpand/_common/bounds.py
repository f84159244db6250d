"""Bounds of `clip`, in the data type of the clipped array, for libraries whose data types are NumPy's."""

from typing import Any

from .._typing import DType, Namespace

_INTEGERS = "bhilqpBHILQP"


def representable(bound: Any, dtype: DType, xp: Namespace) -> Any:
    """`bound` in `dtype`; where it is beyond the range of an integer `dtype`, the nearest end of the range.

    Converting first keeps the library's own `clip` from promoting the result, which has the data type of the array
    that is clipped: "The returned array must have the same data type as x". `xp` is the library's own namespace.
    """
    if bound is None or dtype.char not in _INTEGERS:
        return bound if bound is None else xp.asarray(bound, dtype=dtype)
    limits = integer_range(dtype, xp)
    if type(bound) is int:
        return min(max(bound, limits[0]), limits[1])
    bound = xp.asarray(bound)
    if bound.dtype == dtype:
        return bound
    if bound.dtype.kind == "f":
        low, high = (dtype.type(limit) for limit in limits)
        above, below = bound >= float(limits[1]), bound <= float(limits[0])
        inside = xp.where(above | below, xp.zeros_like(bound), bound).astype(dtype)
        return xp.where(above, high, xp.where(below, low, inside))
    if bound.dtype.char in _INTEGERS:
        own = integer_range(bound.dtype, xp)
        bound = xp.clip(bound, max(limits[0], own[0]), min(limits[1], own[1]))
    return bound.astype(dtype)


_RANGES: dict[str, tuple[int, int]] = {}


def integer_range(dtype: DType, xp: Namespace) -> tuple[int, int]:
    """The smallest and the largest value of an integer data type."""
    if dtype.char not in _RANGES:
        info = xp.iinfo(dtype)
        _RANGES[dtype.char] = int(info.min), int(info.max)
    return _RANGES[dtype.char]
