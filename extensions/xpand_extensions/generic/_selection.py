"""The k largest or smallest values, given the last of them. Only these are sorted."""

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, checks
from xpand_extensions._bounds import index_dtype


def select(x: Array, threshold: Array, k: int, *, largest: bool) -> Array:
    """Find the positions of the `k` first values along the last axis, in ascending order of positions.

    Args:
        x: Concrete values of shape `(..., n)`.
        threshold: The last of the values sought, of shape `(..., 1)`: not NaN.
        k: How many there are.
        largest: Whether the largest are sought, NaN before all others, or the smallest.

    Returns:
        Integers of shape `(..., k)`. Of the values equal to the threshold, those with the lowest indices are taken.
    """
    xp = array_namespace(x)
    ahead = ~(x <= threshold) if largest else x < threshold
    equal = x == threshold
    dtype = index_dtype(xp, checks.device_of(x))
    if x.ndim == 1:
        # The usual case: few values are equal, and counting all would take longer than the rest.
        (beyond,) = xp.nonzero(ahead)
        (first,) = xp.nonzero(equal)
        return xp.sort(xp.concat([beyond, first[: k - beyond.shape[0]]]))
    wanted = k - xp.sum(ahead, axis=-1, keepdims=True, dtype=dtype)
    chosen = ahead | (equal & (xp.cumulative_sum(xp.astype(equal, dtype), axis=-1) <= wanted))
    return xp.reshape(xp.nonzero(chosen)[-1], (*x.shape[:-1], k))
