"""Select the k largest or smallest values, given the last one. Only the selected values are sorted."""

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, checks
from xpand_extensions._bounds import index_dtype


def select(x: Array, threshold: Array, k: int, *, largest: bool) -> Array:
    """Return the positions of the `k` largest or smallest values along the last axis, in ascending order.

    Args:
        x: Concrete values of shape `(..., n)`.
        threshold: The k-th value, of shape `(..., 1)`. It must not be NaN.
        k: The number of values.
        largest: Whether to select the largest values, with NaN as the largest, or the smallest.

    Returns:
        Integers of shape `(..., k)`. Among values equal to the threshold, the lowest indices win.
    """
    xp = array_namespace(x)
    ahead = ~(x <= threshold) if largest else x < threshold
    equal = x == threshold
    dtype = index_dtype(xp, checks.device_of(x))
    if x.ndim == 1:
        # Usually few values are equal. Counting all of them would take longer than the rest.
        (beyond,) = xp.nonzero(ahead)
        (first,) = xp.nonzero(equal)
        return xp.sort(xp.concat([beyond, first[: k - beyond.shape[0]]]))
    wanted = k - xp.sum(ahead, axis=-1, keepdims=True, dtype=dtype)
    chosen = ahead | (equal & (xp.cumulative_sum(xp.astype(equal, dtype), axis=-1) <= wanted))
    return xp.reshape(xp.nonzero(chosen)[-1], (*x.shape[:-1], k))
