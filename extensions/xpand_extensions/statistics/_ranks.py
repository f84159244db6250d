"""Ranks and most common values."""

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from xpand.extend import Array, Axis, checks

from .._dispatch import pluggable
from ._arguments import reduced

Ties: TypeAlias = Literal["average", "min", "max", "dense", "ordinal"]
"""The ranks of equal values."""

TIES: Final = get_args(Ties)


class Mode(NamedTuple):
    """The most common values, and how often each occurs."""

    mode: Array
    count: Array  # type: ignore[assignment]  # SciPy's name, which tuples have for a method


@pluggable
def rankdata(x: Array, /, method: Ties = "average", *, axis: int | None = None) -> Array:
    """Rank values: the smallest one has the rank 1.

    Args:
        x: An array of an integer or real floating-point data type.
        method: The rank of equal values: "average", "min" or "max" of the ranks that they take up; "dense": the same as
            "min", but the next larger value has the next rank; "ordinal": equal values have different ranks, in their
            order in `x`.
        axis: The axis to rank along. None: all values are ranked, as one sequence.

    Returns:
        An array of the shape of `x`, or with one axis if `axis` is None. It has the default real data type, but for
        integers and another method than "average", the library's data type for indices. If an element is NaN, all ranks
        of its slice are. The derivative is 0.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, an unknown method, or an unknown shape.

    Takes the time of two sorts.

    Source: `scipy.stats.rankdata`, which returns integers also for floating-point numbers.

    >>> import numpy as np
    >>> rankdata(np.asarray([0, 2, 3, 2]))
    array([1. , 2.5, 4. , 2.5])
    >>> rankdata(np.asarray([0, 2, 3, 2]), "dense")
    array([1, 2, 3, 2])
    """
    xp = checks.namespace_of("rankdata", x=x)
    checks.dtype("rankdata", "x", xp, x, checks.REAL_VALUED)
    checks.known_shape("rankdata", "x", x)
    checks.choice("rankdata", "method", method, TIES)
    axis = None if axis is None else checks.axis("rankdata", axis, x.ndim)
    return rankdata.native(x)(x, method, axis=axis)


@pluggable
def mode(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Mode:
    """Find the most common value, and count how often it occurs.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        `mode`, of the data type of `x` and differentiable, and `count`, integers of the library's data type for
        indices, both without the axes. Of equally common values, the smallest is returned. All NaN count as one value,
        larger than every number. No elements have the mode NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, an unknown shape, or no elements of an integer data type.

    Takes the time of a sort.

    Source: `scipy.stats.mode`, whose default is `axis=0`.

    >>> import numpy as np
    >>> mode(np.asarray([3, 1, 3, 2]))
    Mode(mode=array(3), count=array(2))
    """
    axes = reduced("mode", checks.REAL_VALUED, x, axis, keepdims)
    checks.known_shape("mode", "x", x)
    if 0 in [x.shape[i] for i in axes] and checks.kind(checks.namespace_of("mode", x=x), x.dtype) != "real":
        raise ValueError(f"mode: x has no elements along the axes {axes}, got the shape {tuple(x.shape)}")
    return mode.native(x)(x, axis=axes, keepdims=keepdims)
