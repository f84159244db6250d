"""Reductions of segments that follow each other, given by where each begins."""

import math
from typing import Any, Final, Literal, TypeAlias

from xpand import is_concrete
from xpand.extend import Array, Namespace, checks, eager

from .._bounds import index_dtype
from .._dispatch import pluggable

SegmentOperation: TypeAlias = Literal["add", "multiply", "min", "max", "mean"]
"""How the values of a segment are reduced."""

_OPERATIONS: Final = {
    "add": checks.NUMERIC,
    "multiply": checks.NUMERIC,
    "min": checks.ORDERED,
    "max": checks.ORDERED,
    "mean": checks.FLOATING,
}


@pluggable
def segment_reduce(values: Array, offsets: Array, /, *, operation: SegmentOperation = "add", axis: int = 0) -> Array:
    """Reduce the values of each segment, the segments lying one after the other along an axis.

    Args:
        values: An array of shape `(*batch, *before, n, *after)`, of a data type that the operation takes: numeric; real
            or boolean for "min" and "max", floating-point for "mean".
        offsets: Integers of shape `(*batch, m + 1)` that don't decrease, from 0 to `n`: segment `i` holds the positions
            from `offsets[..., i]` up to, but without, `offsets[..., i + 1]`. As in the CSR format of sparse matrices.
        operation: "add", "multiply", "min", "max" or "mean".
        axis: The axis of size `n`. It is no batch axis.

    Returns:
        An array of shape `(*batch, *before, m, *after)`, of the data type of `values`. An empty segment has what
        `segment_sum`, `segment_prod`, `segment_min`, `segment_max` and `segment_mean` give it: 0, 1, the largest
        value, the smallest value, NaN.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: Offsets without an element or that decrease, batch sizes that don't fit, no such axis, an unknown
            operation, or arrays on two devices.
        IndexError: Offsets out of bounds.

    Where the offsets aren't known (under jit and vmap, in lazy arrays) they aren't checked: of offsets that decrease
    the result is arbitrary, and what they reach beyond the ends is empty.

    Source: `torch.segment_reduce`, `numpy.ufunc.reduceat`.

    >>> import numpy as np
    >>> segment_reduce(np.asarray([1.0, 2.0, 4.0, 8.0]), np.asarray([0, 2, 2, 4]))
    array([ 3.,  0., 12.])
    """
    xp = checks.namespace_of("segment_reduce", values=values, offsets=offsets)
    checks.one_device("segment_reduce", values=values, offsets=offsets)
    checks.choice("segment_reduce", "operation", operation, _OPERATIONS)
    checks.dtype("segment_reduce", "values", xp, values, _OPERATIONS[operation])
    checks.dtype("segment_reduce", "offsets", xp, offsets, checks.INTEGERS)
    axis = checks.axis("segment_reduce", axis, values.ndim)
    shape = checks.known_shape("segment_reduce", "values", values)
    _check_offsets(xp, offsets, shape, axis)
    return segment_reduce.native(values, offsets)(values, offsets, operation=operation, axis=axis)


def _check_offsets(xp: Namespace, offsets: Array, shape: tuple[int, ...], axis: int) -> None:
    given: tuple[Any, ...] = checks.known_shape("segment_reduce", "offsets", offsets)
    if not given or given[-1] == 0:
        raise ValueError(
            f"segment_reduce: offsets must hold one number more than there are segments, got the shape {given}"
        )
    if len(given) - 1 > axis or given[:-1] != shape[: len(given) - 1]:
        raise ValueError(
            f"segment_reduce: offsets of shape {given} must have the batch sizes of values, {shape}, before axis {axis}"
        )
    if not is_concrete(offsets) or not math.prod(given):
        return
    with eager(xp):
        low, high = int(xp.min(offsets)), int(xp.max(offsets))
        # As numbers of the usual type: of unsigned ones PyTorch compares few.
        ends = xp.astype(offsets, index_dtype(xp, checks.device_of(offsets)), copy=False)
        is_falling = bool(xp.any(ends[..., 1:] < ends[..., :-1]))
    if low < 0 or high > shape[axis]:
        raise IndexError(
            f"segment_reduce: offset {low if low < 0 else high} is out of bounds for axis {axis} of size "
            f"{shape[axis]}; takes 0 to {shape[axis]}"
        )
    if is_falling:
        raise ValueError("segment_reduce: offsets must not decrease; turn lengths into offsets by a cumulative sum")
