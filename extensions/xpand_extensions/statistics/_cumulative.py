"""Cumulative operations beyond the standard's `cumulative_sum` and `cumulative_prod`."""

from typing import Any

from xpand.extend import Array, checks

from .._dispatch import pluggable
from ._arguments import one_axis


@pluggable
def cumulative_max(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Take the largest element so far, along an axis.

    Args:
        x: An array of one or more axes, of an integer or real floating-point data type.
        axis: The axis to go along. It may be omitted for an array of one axis.
        include_initial: Whether the maximum of no elements comes first: -infinity, or the smallest integer of the type.

    Returns:
        An array of the data type of `x` and of its shape; with `include_initial` one larger along `axis`. From a NaN
        on, all are NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, one omitted where there are several, or a shape not known yet.

    Source: the standard's `cumulative_sum`, for the signature; `jax.lax.cummax`.

    >>> import numpy as np
    >>> cumulative_max(np.asarray([1, 3, 2, 5]))
    array([1, 3, 3, 5])
    """
    axis = _check("cumulative_max", checks.REAL_VALUED, x, axis, include_initial)
    return cumulative_max.native(x)(x, axis=axis, include_initial=include_initial)


@pluggable
def cumulative_min(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Take the smallest element so far, along an axis.

    Arguments, result and errors are those of `cumulative_max`; the minimum of no elements is infinity, or the largest
    integer of the type.

    >>> import numpy as np
    >>> cumulative_min(np.asarray([3, 5, 2, 4]), include_initial=True)
    array([9223372036854775807,                   3,                   3,
                             2,                   2])
    """
    axis = _check("cumulative_min", checks.REAL_VALUED, x, axis, include_initial)
    return cumulative_min.native(x)(x, axis=axis, include_initial=include_initial)


@pluggable
def logcumsumexp(x: Array, /, *, axis: int | None = None, include_initial: bool = False) -> Array:
    """Compute the logarithm of the cumulative sum of exponentials, along an axis, without overflow.

    Args:
        x: An array of one or more axes, of a real floating-point data type.
        axis: The axis to go along. It may be omitted for an array of one axis.
        include_initial: Whether the logarithm of the sum of nothing comes first: -infinity.

    Returns:
        An array of the data type of `x` and of its shape; with `include_initial` one larger along `axis`. From an
        infinity on, all are infinity; from a NaN on, NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, one omitted where there are several, or a shape not known yet.

    Source: `torch.logcumsumexp`.

    >>> import numpy as np
    >>> logcumsumexp(np.log(np.asarray([1.0, 2.0, 3.0]))).round(6).tolist()
    [0.0, 1.098612, 1.791759]
    """
    axis = _check("logcumsumexp", checks.REAL, x, axis, include_initial)
    return logcumsumexp.native(x)(x, axis=axis, include_initial=include_initial)


def _check(function: str, kinds: frozenset[checks.Kind], x: Array, axis: Any, include_initial: Any) -> int:
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, kinds)
    checks.boolean(function, "include_initial", include_initial)
    checks.known_shape(function, "x", x)
    if not x.ndim:
        raise ValueError(f"{function}: x must have an axis to go along, got an array of one value")
    return one_axis(function, axis, x.ndim)
