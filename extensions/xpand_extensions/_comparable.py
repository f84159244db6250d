"""Two arrays whose values are compared: in one data type, that neither loses its order in."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks


def comparable_dtype(function: str, xp: Namespace, *, mixed: bool = False, **arrays: Array) -> DType | None:
    """Return the data type in which two named arrays of real values are compared; None where they have one already.

    Args:
        function: The name for messages.
        xp: Their namespace.
        mixed: Whether integers may meet floating-point numbers, and are converted to the data type of these.
        arrays: The two.

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
    """Convert arrays to a data type; None: leave them as they are."""
    if dtype is None:
        return arrays
    xp = array_namespace(*arrays)
    return tuple([xp.astype(x, dtype, copy=False) for x in arrays])


def _is_lossy(xp: Namespace, x1: Array, x2: Array) -> bool:
    """Tell whether no integer data type holds the values of both: uint64 and a signed one."""
    ranges = [checks.integer_range(xp, x.dtype) for x in (x1, x2)]
    return min(low for low, _ in ranges) < 0 and max(high for _, high in ranges) >= 2**64 - 1
