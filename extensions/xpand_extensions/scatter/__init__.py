"""Updates of an array at an index or at indices, and reductions over segments. Duplicate indices are all applied.

Indices out of bounds raise `IndexError` if their values are known. Otherwise (under jit and vmap, in lazy arrays) they
are dropped. `mode` selects another treatment. On a GPU, `mode="drop"` is faster: to raise errors, the host must read
the indices.
"""

from typing import TYPE_CHECKING, Any, Final

from xpand import array_namespace, is_concrete
from xpand.extend import Array, checks, eager

from .._bounds import MODES, Mode, checked_mode
from .._dispatch import pluggable
from .._elsewhere import elsewhere
from ._at import At, Index as Index, at
from ._nd import ScatterOperation, indexed_add, indexed_put, scatter, scatter_nd
from ._offsets import SegmentOperation, segment_reduce

__all__ = [
    "At",
    "Mode",
    "ScatterOperation",
    "SegmentOperation",
    "at",
    "indexed_add",
    "indexed_put",
    "scatter",
    "scatter_nd",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_reduce",
    "segment_sum",
]
__dir__ = __all__.copy


@pluggable
def segment_sum(
    values: Array,
    segment_ids: Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Mode | None = None,
) -> Array:
    """Sum the values of each segment. A segment consists of the values along `axis` with the same id.

    Args:
        values: An array of one or more axes, of a numeric data type.
        segment_ids: One integer for each position along `axis`: shape `(values.shape[axis],)`. If ids have several
            axes, first reshape both arrays so that these become one.
        num_segments: The number of segments: the size of the result along `axis`. By default: the largest id plus one.
            Required if the values of the ids aren't known: under jit and vmap, and for lazy arrays.
        axis: The axis of the segments.
        indices_are_sorted: A promise that `segment_ids` never decrease, which some libraries use. If they do, the
            result is undefined.
        mode: The treatment of ids below 0 or not below `num_segments`: "raise" an `IndexError`; "drop" (or "fill")
            their values; "clip" or "wrap" the ids. By default: "raise" if the values of the ids are known, else "drop".

    Returns:
        An array of the shape of `values`, with size `num_segments` along `axis`, and of the data type of `values`, in
        which sums are computed. A segment without values has 0.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: Shapes that don't fit, no such axis, an unknown mode, arrays on two devices, a negative
            `num_segments`, or no `num_segments` although it is required.
        IndexError: Ids out of bounds.

    The time is proportional to the number of values; a library without scatter also sorts the ids.

    Source: `jax.ops.segment_sum`.

    >>> import numpy as np
    >>> segment_sum(np.asarray([1.0, 2.0, 4.0]), np.asarray([0, 2, 0]), num_segments=4)
    array([5., 0., 2., 0.])
    """
    given = num_segments, axis, indices_are_sorted, mode
    implementation, options = segment_sum.planned(_check, (values, segment_ids), *given)
    return implementation(values, segment_ids, **_known("segment_sum", segment_ids, options))


@pluggable
def segment_prod(
    values: Array,
    segment_ids: Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Mode | None = None,
) -> Array:
    """Multiply the values of each segment.

    Arguments, result and errors are those of `segment_sum`. A segment without values has 1.

    >>> import numpy as np
    >>> segment_prod(np.asarray([3.0, 2.0, 4.0]), np.asarray([0, 2, 0]), num_segments=4)
    array([12.,  1.,  2.,  1.])
    """
    given = num_segments, axis, indices_are_sorted, mode
    implementation, options = segment_prod.planned(_check, (values, segment_ids), *given)
    return implementation(values, segment_ids, **_known("segment_prod", segment_ids, options))


@pluggable
def segment_min(
    values: Array,
    segment_ids: Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Mode | None = None,
) -> Array:
    """Compute the minimum of the values of each segment.

    Arguments, result and errors are those of `segment_sum`, except that data types are boolean or real. The minimum is
    NaN if a value is. A segment without values has the largest value of the data type: infinity, the largest integer,
    or True.

    >>> import numpy as np
    >>> segment_min(np.asarray([3.0, 2.0, 4.0]), np.asarray([0, 2, 0]), num_segments=3)
    array([ 3., inf,  2.])
    """
    given = num_segments, axis, indices_are_sorted, mode
    implementation, options = segment_min.planned(_check, (values, segment_ids), *given)
    return implementation(values, segment_ids, **_known("segment_min", segment_ids, options))


@pluggable
def segment_max(
    values: Array,
    segment_ids: Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Mode | None = None,
) -> Array:
    """Compute the maximum of the values of each segment.

    Arguments, result and errors are those of `segment_sum`, except that data types are boolean or real. The maximum is
    NaN if a value is. A segment without values has the smallest value of the data type: -infinity, the smallest
    integer, or False.

    >>> import numpy as np
    >>> segment_max(np.asarray([3.0, 2.0, 4.0]), np.asarray([0, 2, 0]), num_segments=3)
    array([  4., -inf,   2.])
    """
    given = num_segments, axis, indices_are_sorted, mode
    implementation, options = segment_max.planned(_check, (values, segment_ids), *given)
    return implementation(values, segment_ids, **_known("segment_max", segment_ids, options))


@pluggable
def segment_mean(
    values: Array,
    segment_ids: Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Mode | None = None,
) -> Array:
    """Compute the mean of the values of each segment.

    Arguments, result and errors are those of `segment_sum`, except that data types are floating-point, real or complex.
    A segment without values has NaN.

    >>> import numpy as np
    >>> segment_mean(np.asarray([3.0, 2.0, 4.0]), np.asarray([0, 2, 0]), num_segments=3)
    array([3.5, nan, 2. ])
    """
    given = num_segments, axis, indices_are_sorted, mode
    implementation, options = segment_mean.planned(_check, (values, segment_ids), *given)
    return implementation(values, segment_ids, **_known("segment_mean", segment_ids, options))


_KINDS: Final = {
    "segment_sum": checks.NUMERIC,
    "segment_prod": checks.NUMERIC,
    "segment_min": checks.ORDERED,
    "segment_max": checks.ORDERED,
    "segment_mean": checks.FLOATING,
}


def _check(
    function: str, values: Array, segment_ids: Array, num_segments: Any, axis: Any, indices_are_sorted: Any, mode: Any
) -> tuple[dict[str, Any]]:
    """Check the arguments of a segment reduction, except values; return the options."""
    xp = checks.together(function, values=values, segment_ids=segment_ids)
    checks.dtype(function, "values", xp, values, _KINDS[function])
    checks.dtype(function, "segment_ids", xp, segment_ids, checks.INTEGERS)
    axis = checks.axis(function, axis, values.ndim)
    checks.boolean(function, "indices_are_sorted", indices_are_sorted)
    checks.choice(function, "mode", mode, MODES)
    checks.known_shape(function, "values", values)
    size = values.shape[axis]
    if tuple(segment_ids.shape) != (size,):
        raise ValueError(
            f"{function}: segment_ids must have the shape ({size},), one id for each position along axis {axis} of "
            f"values of shape {tuple(values.shape)}, got {tuple(segment_ids.shape)}"
        )
    if num_segments is not None:
        num_segments = checks.integer(function, "num_segments", num_segments, minimum=0)
    return ({"num_segments": num_segments, "axis": axis, "indices_are_sorted": indices_are_sorted, "mode": mode},)


def _known(function: str, segment_ids: Array, options: dict[str, Any]) -> dict[str, Any]:
    """Complete the options that depend on the values of the ids, or on whether the values are known."""
    num_segments, mode = options["num_segments"], options["mode"]
    concrete = (num_segments is not None and mode in ("drop", "clip", "wrap")) or is_concrete(segment_ids)
    size = segment_ids.shape[0]
    if num_segments is None:
        if not concrete:
            raise ValueError(
                f"{function}: num_segments must be given where the values of segment_ids aren't known (under jit or "
                "vmap, or in a lazy array), since it is the size of the result"
            )
        xp = array_namespace(segment_ids)
        with eager(xp):
            num_segments = max(int(xp.max(segment_ids)) + 1, 0) if size else 0
    if mode is None:
        mode = "raise" if concrete else "drop"
    else:
        has_none = bool(size) and num_segments == 0
        mode = checked_mode(function, "segment_ids", mode, "num_segments", has_none=has_none, concrete=concrete)
    return {**options, "num_segments": num_segments, "mode": mode}


if not TYPE_CHECKING:  # a type checker would accept any name
    __getattr__ = elsewhere(__name__)
