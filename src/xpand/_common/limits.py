"""Limits of data types, and conversion of the bounds of `clip`, for libraries with NumPy's data types."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..typing import Array, DType, LibraryNamespace, Namespace
from .integers import LARGEST, SMALLEST, check_ends, insertion, overflow


class FloatInfo:
    """The limits of a floating-point data type: a library's `finfo`, with the standard's attributes as Python numbers.

    In the standard, `eps`, `max`, `min` and `smallest_normal` are Python floats. Used in an expression, they do not
    promote an array of lower precision. All other attributes are those of the library's `finfo`.

    Args:
        make: The library's `finfo`.
        dtype: The data type.
    """

    __slots__ = ("_make", "_native", "bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, make: Any, dtype: DType) -> None:
        # The limits of long doubles remain NumPy scalars, because Python floats cannot hold them.
        native = make(dtype)
        number = float if native.bits <= 64 else lambda value: value
        self._make, self._native = make, native
        self.bits = int(native.bits)
        self.dtype = native.dtype
        self.eps = number(native.eps)
        self.max = number(native.max)
        self.min = number(native.min)
        self.smallest_normal = number(native.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # copying and pickling look for these before _native exists
            raise AttributeError(name)
        return getattr(self._native, name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FloatInfo) and bool(self.dtype == other.dtype)

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatInfo, (self._make, self.dtype)

    def __str__(self) -> str:
        return str(self._native)

    def __repr__(self) -> str:
        return repr(self._native)


_INTEGERS = "bhilqpBHILQP"


def representable(bound: Any, dtype: DType, xp: LibraryNamespace) -> Any:
    """Convert `bound` to `dtype`. Bounds out of the range of an integer `dtype` become the nearest end of the range.

    This prevents the library's `clip` from promoting the result: "The returned array must have the same data type as
    x". `xp` is the library's own namespace.
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
    """Return the smallest and the largest value of an integer data type."""
    if dtype.char not in _RANGES:
        info = xp.iinfo(dtype)
        _RANGES[dtype.char] = int(info.min), int(info.max)
    return _RANGES[dtype.char]


def limits_of(dtype: DType, xp: Namespace) -> tuple[int, int] | None:
    """Return the smallest and the largest value of an integer data type, and None for others."""
    return integer_range(dtype, xp) if dtype.char in _INTEGERS else None


def check_fits(function: str, number: int, dtype: DType, xp: Namespace) -> None:
    """Raise `OverflowError` for a Python integer out of the range of an integer `dtype`."""
    limits = limits_of(dtype, xp)
    if limits is not None and not limits[0] <= number <= limits[1]:
        raise overflow(function, number, dtype, limits)


def checking_ends(native: Callable[..., Array], xp: LibraryNamespace) -> Callable[..., Array]:
    """Let `arange` raise for Python integers out of the range of its data type."""

    @wraps(native)
    def arange(*args: Any, **kwargs: Any) -> Array:
        if args and "dtype" in kwargs:
            start, stop, step = (*args, None, None)[:3]
            check_ends(start, stop, step, lambda number: check_fits("arange", number, xp.dtype(kwargs["dtype"]), xp))
        return native(*args, **kwargs)

    return arange


def check_choices(function: str, x1: Any, x2: Any, xp: Namespace) -> None:
    """Check an array and a Python integer that become elements of one result, in either order."""
    if type(x2) is int:
        if not SMALLEST <= x2 <= LARGEST and hasattr(x1, "dtype"):
            check_fits(function, x2, x1.dtype, xp)
    elif type(x1) is int and not SMALLEST <= x1 <= LARGEST and hasattr(x2, "dtype"):
        check_fits(function, x1, x2.dtype, xp)


def searched(x1: Array, x2: Any, side: Any, xp: Namespace) -> tuple[Any, Any]:
    """Return a Python scalar for which `searchsorted` looks in `x1` in the data type of `x1`, and the side."""
    if type(x2) is int and x1.dtype.char in _INTEGERS:
        x2, side = insertion(x2, side, integer_range(x1.dtype, xp))
    return xp.asarray(x2, dtype=xp.result_type(x1.dtype, x2)), side


def as_floating(x: Any, other: Any, xp: Namespace) -> Any:
    """Convert a Python number to the data type that it gets next to a floating-point array, or return it unchanged."""
    is_number = type(x) in (int, float, complex) and getattr(other, "dtype", None) is not None
    return xp.asarray(x, dtype=xp.result_type(other.dtype, x)) if is_number and other.dtype.kind in "fc" else x
