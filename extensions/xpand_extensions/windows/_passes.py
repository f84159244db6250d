"""Windows reduced axis by axis, in O(log(size)) passes over the array each, on all libraries."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from xpand.extend import Array, ArrayLike, Namespace, checks

from ._arguments import Pass

Combine: TypeAlias = Callable[[Any, Any], Any]
"""Combines each element with one further on; it must be associative."""

_FEW: Final = 8
"""Windows of up to so many elements may be summed one by one; in larger ones rounding errors would add up."""


def reduce_axis(
    x: Any, combine: Combine, each: Pass, count: int, *, idempotent: bool, last: Combine | None = None
) -> Any:
    """Reduce the windows along one axis.

    Args:
        x: An array, or an object with a `shape` that is sliced as arrays are. No window reaches over its ends.
        combine: Reduces two such to one, element by element.
        each: The windows; the padding is of no account.
        count: How many of them.
        idempotent: Whether an element may be combined more than once, which saves passes.
        last: Called instead of `combine` for the final result, where that isn't just a slice.
    """
    axis, size, stride, _, _, dilation = each
    before = (slice(None),) * axis
    if not count:
        return x[(*before, slice(0, 0), ...)]
    starts = (count - 1) * stride + 1

    def windows(x: Any, offset: int) -> Any:
        """Take the elements at a certain offset in each window."""
        return x[(*before, slice(offset * dilation, offset * dilation + starts, stride), ...)]

    last = last or combine
    if 1 < size <= _FEW and (size - 1) * count <= (size.bit_length() - 1) * starts:
        # As for adjacent windows: each element is needed about once.
        done = windows(x, 0)
        for offset in range(1, size - 1):
            done = combine(done, windows(x, offset))
        return last(done, windows(x, size - 1))

    # Windows of 1, 2, 4, … elements are combined to windows of `size`.
    done, span = None, 1
    while 2 * span <= size:
        if size & span and not idempotent:
            part = windows(x, size & (span - 1))
            done = part if done is None else combine(done, part)
        step = span * dilation
        length = x.shape[axis] - step
        span *= 2
        function = last if span == size and stride == 1 else combine
        x = function(x[(*before, slice(0, length), ...)], x[(*before, slice(step, step + length), ...)])
    if span == size:
        return x if stride == 1 and size > 1 else windows(x, 0)
    return last(windows(x, 0) if idempotent else done, windows(x, size - span))


def pad_axis(xp: Namespace, x: Array, each: Pass, fill: ArrayLike) -> Array:
    """Pad both ends of an axis with the values outside of the array."""
    if not each.low and not each.high:
        return x

    def piece(length: int) -> Array:
        shape = (*x.shape[: each.axis], length, *x.shape[each.axis + 1 :])
        if isinstance(fill, (bool, int, float, complex)):
            return xp.full(shape, fill, dtype=x.dtype, device=checks.device_of(x))
        return xp.broadcast_to(fill, shape)

    pieces = [piece(each.low)] if each.low else []
    pieces.append(x)
    if each.high:
        pieces.append(piece(each.high))
    return xp.concat(pieces, axis=each.axis)
