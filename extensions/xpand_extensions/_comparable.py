"""Two arrays whose values are compared: in one data type, that neither loses its order in."""

from xpand.extend import Array, Namespace, checks


def comparable(function: str, xp: Namespace, *, mixed: bool = False, **arrays: Array) -> tuple[Array, Array]:
    """Convert two named arrays of real values to one data type.

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
        return x1, x2
    real1, real2 = (checks.kind(xp, x.dtype) == "real" for x in (x1, x2))
    if real1 != real2:
        if mixed:
            return (x1, xp.astype(x2, x1.dtype)) if real1 else (xp.astype(x1, x2.dtype), x2)
    elif real1 or not _is_lossy(xp, x1, x2):
        dtype = xp.result_type(x1, x2)
        return xp.astype(x1, dtype, copy=False), xp.astype(x2, dtype, copy=False)
    raise TypeError(
        f"{function}: {first} has {x1.dtype} and {second} has {x2.dtype}, which the standard doesn't promote; convert "
        "one of them with `xp.astype` first"
    )


def _is_lossy(xp: Namespace, x1: Array, x2: Array) -> bool:
    """Tell whether no integer data type holds the values of both: uint64 and a signed one."""
    ranges = [checks.integer_range(xp, x.dtype) for x in (x1, x2)]
    return min(low for low, _ in ranges) < 0 and max(high for _, high in ranges) >= 2**64 - 1
