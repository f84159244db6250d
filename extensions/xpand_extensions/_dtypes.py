"""Common data types of several arrays: for comparisons, sums, and functions of floating-point numbers."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, ParamSpec

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks, trace_instead

P = ParamSpec("P")

# A hand-written cache by type: torch.compile warns of functools.cache, and can't compare data types of some other
# libraries.
_bits: dict[type, dict[DType, int]] = {}

_BLOCK: Final = 16
"""The number of rows that are added one after the other."""


def _store(dtype: DType, bits: int) -> None:
    _bits.setdefault(type(dtype), {})[dtype] = bits


trace_instead(_store, lambda dtype, bits: None)


def is_narrow(xp: Namespace, dtype: DType) -> bool:
    """Return whether a floating-point data type has fewer than 32 bits: float16, bfloat16."""
    return _bits_of(xp, dtype) < 32


def _bits_of(xp: Namespace, dtype: DType) -> int:
    """Return the width of a real floating-point data type, or of the parts of a complex one."""
    known = _bits.get(type(dtype))
    if known is not None and dtype in known:
        return known[dtype]
    found = int(xp.finfo(dtype).bits)
    _store(dtype, found)
    return found


def widened(function: Callable[P, Array]) -> Callable[P, Array]:
    """Have a function compute in the promoted data type of its positional arrays, or in float32 if that is narrower."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> Array:
        if len(args) == 1:
            dtype = args[0].dtype  # type: ignore[attr-defined]
            known = _bits.get(type(dtype))
            if known is not None and known.get(dtype, 0) >= 32:  # faster than to find the namespace
                return function(*args, **kwargs)
        arrays: list[Any] = [x for x in args if hasattr(x, "dtype")]
        xp = array_namespace(*arrays)
        dtype = arrays[0].dtype if len(arrays) == 1 else xp.result_type(*arrays)
        narrow = is_narrow(xp, dtype)
        if len(arrays) == 1 and not narrow:
            return function(*args, **kwargs)
        wide = xp.float32 if narrow else dtype
        given: tuple[Any, ...] = args
        converted = [xp.astype(x, wide) if hasattr(x, "dtype") and x.dtype != wide else x for x in given]
        result = function(*converted, **kwargs)  # type: ignore[arg-type]
        return xp.astype(result, dtype) if narrow else result

    return run


def plain_sum(xp: Namespace, x: Array, **axes: Any) -> Array:
    """Sum an array in its own data type. `axes` are the options `axis` and `keepdims`.

    `sum(dtype=)` is not used, because MLX lacks it. `sum` adds floating-point numbers in their own data type, and
    integers in one that is no narrower.
    """
    total = xp.sum(x, **axes)
    return total if total.dtype == x.dtype else xp.astype(total, x.dtype)


def long_sum(xp: Namespace, x: Array, axis: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Sum floating-point numbers along axes, in blocks where the number of values along an axis is large.

    NumPy adds the rows of an array one by one: in float32, the mean of a million rows would lose four digits.
    """
    if x.ndim > 1 and _bits_of(xp, x.dtype) < 64:
        for k in axis:
            while x.shape[k] > _BLOCK:
                count = x.shape[k] // _BLOCK
                before, after = tuple(x.shape[:k]), tuple(x.shape[k + 1 :])
                start = (slice(None),) * k
                blocks = x[(*start, slice(count * _BLOCK), ...)]
                total = xp.sum(xp.reshape(blocks, (*before, count, _BLOCK, *after)), axis=k + 1)
                x = xp.concat([total, x[(*start, slice(count * _BLOCK, None), ...)]], axis=k)
    return xp.sum(x, axis=axis, keepdims=keepdims)


def comparable_dtype(function: str, xp: Namespace, *, mixed: bool = False, **arrays: Array) -> DType | None:
    """Return the data type in which two named real arrays are compared; None if they already have the same one.

    Args:
        function: The name for messages.
        xp: Their namespace.
        mixed: Whether one array may be of integers and the other of floating-point numbers, whose data type is then
            used.
        arrays: The two arrays, by name.

    Raises:
        TypeError: The standard doesn't promote their data types.
    """
    (first, x1), (second, x2) = arrays.items()
    if x1.dtype == x2.dtype:
        return None
    real1, real2 = (checks.kind(xp, x.dtype) == "real" for x in (x1, x2))
    if real1 != real2:
        if mixed:
            return x1.dtype if real1 else x2.dtype
    elif real1 or not _is_lossy(xp, x1, x2):
        return xp.result_type(x1, x2)
    raise TypeError(
        f"{function}: {first} has {x1.dtype} and {second} has {x2.dtype}, which the standard doesn't promote; convert "
        "one of them with `xp.astype` first"
    )


def as_dtype(dtype: DType | None, *arrays: Array) -> tuple[Any, ...]:
    """Convert arrays to a data type; None leaves them unchanged."""
    if dtype is None:
        return arrays
    xp = array_namespace(*arrays)
    return tuple([xp.astype(x, dtype, copy=False) for x in arrays])


def _is_lossy(xp: Namespace, x1: Array, x2: Array) -> bool:
    """Return whether no integer data type holds the values of both arrays: one is uint64, the other signed."""
    ranges = [checks.integer_range(xp, x.dtype) for x in (x1, x2)]
    return min(low for low, _ in ranges) < 0 and max(high for _, high in ranges) >= 2**64 - 1
