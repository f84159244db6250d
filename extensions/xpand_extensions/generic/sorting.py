"""Order among values with the standard alone: stable sorts, and bisection for all values together."""

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions.sorting import Side, TopK

from ._unique import unique

__all__ = ["argpartition", "partition", "searchsorted", "top_k", "unique"]


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    xp = array_namespace(x)
    order = _argsort(xp, x, axis, descending=largest)
    indices = order[(slice(None),) * axis + (slice(k), ...)]
    return TopK(xp.take_along_axis(x, indices, axis=axis), indices)


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    xp = array_namespace(x)
    return xp.take_along_axis(x, _argsort(xp, x, axis), axis=axis)


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return _argsort(array_namespace(x), x, axis)


def _argsort(xp: Namespace, x: Array, axis: int, *, descending: bool = False) -> Array:
    """Sort stably, with NaN as the largest value. The standard leaves the order of NaN open."""
    order = xp.argsort(x, axis=axis, descending=descending, stable=True)
    if checks.kind(xp, x.dtype) != "real":
        return order
    missing = xp.take_along_axis(xp.astype(xp.isnan(x), xp.uint8), order, axis=axis)
    return xp.take_along_axis(order, xp.argsort(missing, axis=axis, descending=descending, stable=True), axis=axis)


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    """Halve the intervals of all values together. The number of steps depends only on the size."""
    xp = array_namespace(x1, x2)
    if sorter is not None:
        x1 = xp.take_along_axis(x1, xp.astype(sorter, index_dtype(xp, checks.device_of(x1)), copy=False), axis=-1)
    size = x1.shape[-1]
    if x1.ndim == 1:
        return xp.reshape(_bisect(xp, x1, xp.reshape(x2, (-1,)), size, side), x2.shape)
    lead = xp.broadcast_shapes(tuple(x1.shape[:-1]), tuple(x2.shape[:-1]))
    x1, x2 = xp.broadcast_to(x1, (*lead, size)), xp.broadcast_to(x2, (*lead, x2.shape[-1]))
    return _bisect(xp, x1, x2, size, side)


def _bisect(xp: Namespace, x1: Array, x2: Array, size: int, side: Side) -> Array:
    device = checks.device_of(x2)
    dtype = index_dtype(xp, device)
    # Elements up to `low` are before the value; elements from `low + length` on are not.
    low = xp.zeros_like(x2, dtype=dtype)
    length = size
    while length > 0:
        half = length // 2
        middle = low + half
        before = _before(xp, xp.take_along_axis(x1, middle, axis=-1), x2, side)
        # The two halves may differ by one element. The longer length for both costs nothing, and is fixed.
        low = xp.where(before, low + (length - half), low)
        length = half
    return low


def _before(xp: Namespace, element: Array, value: Array, side: Side) -> Array:
    """Return whether an element of the sorted array lies before the position of a value."""
    if checks.kind(xp, value.dtype) != "real":
        return element < value if side == "left" else element <= value
    if side == "left":
        return (element < value) | (xp.isnan(value) & ~xp.isnan(element))
    return (element <= value) | xp.isnan(value)
