"""Windows reduced axis by axis, in O(log(size)) passes over the array for each."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xpand import _arguments
from xpand._typing import Array, Namespace, Scalar
from xpand_extensions._windows_arguments import Pass

Parts: TypeAlias = tuple[Array, ...]
"""Arrays of one shape that are reduced together, such as values and their places."""

Combine: TypeAlias = Callable[[Parts, Parts], Parts]
"""Combines each element with one further on; it must be associative."""


def reduce_windows(
    xp: Namespace,
    parts: Parts,
    combine: Combine,
    fills: Sequence[Array | Scalar],
    passes: Sequence[Pass],
    *,
    idempotent: bool = False,
) -> Parts:
    """Reduce the windows of arrays.

    Args:
        xp: The namespace of the arrays.
        parts: The arrays.
        combine: What reduces two of each to one.
        fills: What lies outside of each array.
        passes: The windows along each windowed axis.
        idempotent: Whether an element may be combined more than once, which saves passes.

    Returns:
        The reduced arrays; new ones.
    """
    for each in passes:
        count = each.count(parts[0].shape[each.axis])
        parts = _padded(xp, parts, fills, each)
        parts = _reduce(parts, combine, each, count, idempotent)
    if all(each.size == 1 for each in passes):
        # Nothing was combined, so these may be slices of what was given.
        return tuple([xp.asarray(x, copy=True) for x in parts])
    return parts


def _padded(xp: Namespace, parts: Parts, fills: Sequence[Array | Scalar], each: Pass) -> Parts:
    if not each.low and not each.high:
        return parts
    return tuple([pad_axis(xp, x, each.axis, each.low, each.high, fill) for x, fill in zip(parts, fills)])


def pad_axis(xp: Namespace, x: Array, axis: int, low: int, high: int, fill: Array | Scalar) -> Array:
    """Add elements to both ends of an axis."""

    def piece(length: int) -> Array:
        shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
        if isinstance(fill, (bool, int, float, complex)):
            return xp.full(shape, fill, dtype=x.dtype, device=_arguments.device_of(x))
        return xp.broadcast_to(xp.astype(fill, x.dtype), shape)

    pieces = [piece(low)] if low else []
    pieces.append(x)
    if high:
        pieces.append(piece(high))
    return xp.concat(pieces, axis=axis)


def _reduce(parts: Parts, combine: Combine, each: Pass, count: int, idempotent: bool) -> Parts:
    """Reduce windows that lie within the array."""
    axis, size, stride, dilation = each.axis, each.size, each.stride, each.dilation
    starts = (count - 1) * stride + 1 if count else 0

    def windows(parts: Parts, offset: int = 0) -> Parts:
        """Take the elements at a certain offset in each window."""
        return _slice(parts, axis, offset * dilation, offset * dilation + starts, stride)

    if (size - 1) * count <= (size.bit_length() - 1) * starts:
        # As for windows that touch: each element is needed about once.
        reduced = windows(parts)
        for offset in range(1, size):
            reduced = combine(reduced, windows(parts, offset))
        return reduced

    # Windows of 1, 2, 4, … elements; those of `size` are put together of them.
    span = 1
    covered, done = 0, None
    while 2 * span <= size:
        if size & span and not idempotent:
            done, covered = _append(done, parts, covered, span, windows, combine)
        length = parts[0].shape[axis]
        step = span * dilation
        parts = combine(_slice(parts, axis, 0, length - step), _slice(parts, axis, step, length))
        span *= 2
    if idempotent:
        first = windows(parts)
        return first if span == size else combine(first, windows(parts, size - span))
    return _append(done, parts, covered, span, windows, combine)[0]


def _append(
    done: Parts | None,
    parts: Parts,
    covered: int,
    span: int,
    windows: Callable[..., Parts],
    combine: Combine,
) -> tuple[Parts, int]:
    """Add `span` elements to what the windows cover already."""
    further = windows(parts, covered)
    return (further if done is None else combine(done, further)), covered + span


def _slice(parts: Parts, axis: int, start: int, stop: int, step: int = 1) -> Parts:
    key = (slice(None),) * axis + (slice(start, stop, step),)
    return tuple([x[(*key, *(slice(None) for _ in x.shape[axis + 1 :]))] for x in parts])
