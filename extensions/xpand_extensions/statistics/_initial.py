"""The first element of cumulative extremes: that of no elements."""

import math

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks


def with_initial(result: Array, function: str, axis: int, include_initial: bool) -> Array:
    """Put the empty result before the first element, if requested."""
    if not include_initial:
        return result
    xp = array_namespace(result)
    shape = tuple([1 if i == axis else size for i, size in enumerate(result.shape)])
    first = xp.full(shape, identity(xp, result, function), dtype=result.dtype, device=checks.device_of(result))
    return xp.concat([first, result], axis=axis)


def identity(xp: Namespace, x: Array, function: str) -> int | float:
    """Return the result for no elements."""
    lowest = function != "cumulative_min"
    if checks.kind(xp, x.dtype) == "real":
        return -math.inf if lowest else math.inf
    return checks.integer_range(xp, x.dtype)[0 if lowest else 1]
