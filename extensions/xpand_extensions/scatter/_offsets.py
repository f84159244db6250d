"""Reductions of consecutive segments, given by their offsets."""

import math
from typing import Any, Final, Literal, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks, eager

from .._dispatch import pluggable

SegmentOperation: TypeAlias = Literal["add", "multiply", "min", "max", "mean"]
"""The reduction of the values of a segment."""

_OPERATIONS: Final = {
    "add": checks.NUMERIC,
    "multiply": checks.NUMERIC,
    "min": checks.ORDERED,
    "max": checks.ORDERED,
    "mean": checks.FLOATING,
}


@pluggable
def segment_reduce(values: Array, offsets: Array, /, *, operation: SegmentOperation = "add", axis: int = 0) -> Array:
    """Reduce the values of consecutive segments along an axis.

    Args:
        values: An array of shape `(*batch, *before, n, *after)`, of a numeric data type; real or boolean for "min" and
            "max", floating-point for "mean".
        offsets: Integers of shape `(*batch, m + 1)` from 0 to `n` that don't decrease: segment `i` has the positions
            from `offsets[..., i]` to `offsets[..., i + 1] - 1`, as in the CSR format of sparse matrices.
        operation: "add", "multiply", "min", "max" or "mean".
        axis: The axis of size `n`. It must not be a batch axis.

    Returns:
        An array of shape `(*batch, *before, m, *after)`, of the data type of `values`. An empty segment has 0 for
        "add", 1 for "multiply", the largest value for "min", the smallest for "max" and NaN for "mean".

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: Offsets that are empty or decrease, batch sizes that don't fit, no such axis, an unknown operation,
            or arrays on two devices.
        IndexError: Offsets out of bounds.

    If the values of the offsets aren't known (under jit and vmap, in lazy arrays), they aren't checked: offsets that
    decrease give arbitrary results, and parts of segments out of bounds are ignored.

    Source: `torch.segment_reduce`, `numpy.ufunc.reduceat`.

    >>> import numpy as np
    >>> segment_reduce(np.asarray([1.0, 2.0, 4.0, 8.0]), np.asarray([0, 2, 2, 4]))
    array([ 3.,  0., 12.])
    """
    implementation, axis = segment_reduce.planned(_check, (values, offsets), operation, axis)
    _check_offsets(offsets, values.shape[axis], axis)
    return implementation(values, offsets, operation=operation, axis=axis)


def _check(function: str, values: Array, offsets: Array, operation: Any, axis: Any) -> tuple[int]:
    xp = checks.together(function, values=values, offsets=offsets)
    checks.choice(function, "operation", operation, _OPERATIONS)
    checks.dtype(function, "values", xp, values, _OPERATIONS[operation])
    checks.dtype(function, "offsets", xp, offsets, checks.INTEGERS)
    axis = checks.axis(function, axis, values.ndim)
    shape = checks.known_shape(function, "values", values)
    given: tuple[Any, ...] = checks.known_shape(function, "offsets", offsets)
    if not given or given[-1] == 0:
        raise ValueError(
            f"{function}: offsets must hold one number more than there are segments, got the shape {given}"
        )
    if len(given) - 1 > axis or given[:-1] != shape[: len(given) - 1]:
        raise ValueError(
            f"{function}: offsets of shape {given} must have the batch sizes of values, {shape}, before axis {axis}"
        )
    return (axis,)


def _check_offsets(offsets: Array, size: int, axis: int) -> None:
    """Check the values of offsets, if they are known."""
    if not is_concrete(offsets) or not math.prod(offsets.shape):
        return
    with eager(array_namespace(offsets)):
        lowest, highest, is_falling = offset_facts(offsets)
        low, high = int(lowest), int(highest)
    if low < 0 or high > size:
        raise IndexError(
            f"segment_reduce: offset {low if low < 0 else high} is out of bounds for axis {axis} of size "
            f"{size}; takes 0 to {size}"
        )
    if bool(is_falling):
        raise ValueError("segment_reduce: offsets must not decrease; turn lengths into offsets by a cumulative sum")


@pluggable
def offset_facts(offsets: Array, /) -> tuple[Array, Array, Array]:
    """Return the smallest and the largest of concrete, non-empty offsets, and whether they decrease anywhere."""
    return offset_facts.native(offsets)(offsets)
