"""Quantiles, and functions of quantiles."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

from xpand import check
from xpand.extend import Array, Axis, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from ._arguments import check_weights, quantiles, reduced

Method: TypeAlias = Literal[
    "linear",
    "lower",
    "higher",
    "midpoint",
    "nearest",
    "inverted_cdf",
    "averaged_inverted_cdf",
    "closest_observation",
    "interpolated_inverted_cdf",
    "hazen",
    "weibull",
    "median_unbiased",
    "normal_unbiased",
]
"""The interpolation of a quantile between two values."""

METHODS: Final = get_args(Method)
WEIGHTED: Final = ("inverted_cdf", "averaged_inverted_cdf")
"""The methods that take weights."""


def _check(function: str, x: Array, q: Any, axis: Any, method: Any, keepdims: Any) -> tuple[Any, tuple[int, ...]]:
    """Check the arguments; return `q` and the axes for implementations."""
    axes = reduced(function, checks.REAL, x, axis, keepdims)
    checks.known_shape(function, "x", x)
    checks.choice(function, "method", method, METHODS)
    return quantiles(function, checks.namespace_of(function, x=x), x, q), axes


def _check_array(
    function: str, x: Array, q: Array, axis: Any, method: Any, keepdims: Any
) -> tuple[Any, tuple[int, ...]]:
    return None, _check(function, x, q, axis, method, keepdims)[1]


def _for_median(function: str) -> Callable[..., tuple[tuple[int, ...]]]:
    """Make the check of the arguments of a median: its name differs from that of the operation, a quantile."""
    return lambda _, x, axis, keepdims: (_check(function, x, 0.5, axis, "linear", keepdims)[1],)


_CHECK_MEDIAN, _CHECK_NANMEDIAN = map(_for_median, ("median", "nanmedian"))


def _computed(operation: Any, x: Array, q: Any, axis: Any, method: Any, keepdims: Any, weights: Array | None) -> Array:
    given, is_array = q, not isinstance(q, (int, float, list, tuple))
    result: Array
    if weights is not None:
        name = operation.__name__
        given, axes = _check(name, x, q, axis, method, keepdims)
        if method not in WEIGHTED:
            takes = " or ".join(map(repr, WEIGHTED))
            raise ValueError(f"{name}: method must be {takes} if weights are given, got {method!r}")
        check_weights(name, x, weights, axes)
        check((weights >= 0) & (weights < math.inf), f"{name}: weights must be finite and not negative")
        implementation = operation.native(x, q, weights) if is_array else operation.native(x, weights)
        options = {"weights": weights}
    elif is_array:
        implementation, _, axes = operation.planned(_check_array, (x, q), axis, method, keepdims)
        options = {}
    else:
        implementation, given, axes = operation.planned(_check, (x,), q, axis, method, keepdims)
        options = {}
    if is_array:
        check((q >= 0) & (q <= 1), f"{operation.__name__}: q must lie between 0 and 1")
    result = implementation(x, given, axis=axes, method=method, keepdims=keepdims, **options)
    return result


@arguments_elsewhere()
@pluggable
def quantile(
    x: Array,
    /,
    q: Array | float | Sequence[float],
    *,
    axis: Axis = None,
    method: Method = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Array:
    """Compute quantiles: values that are greater than given fractions of the elements.

    Args:
        x: An array of a real floating-point data type.
        q: The fractions, from 0 to 1: a number, a sequence of numbers, or an array of at most one axis.
        axis: The axis or axes to compute along. By default: all.
        method: The value for a fraction between two sorted elements. "linear" interpolates; "lower", "higher",
            "nearest" (of two equally near elements, the one with an even index) and "midpoint" select as named.
            "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
            "weibull", "linear", "median_unbiased" and "normal_unbiased" are the methods 1 to 9 of Hyndman and Fan.
        keepdims: Whether the reduced axes remain, with size 1.
        weights: The weight of each element, relative to the others: an array of a real floating-point data type, of the
            shape of `x`, or for one `axis`, `(x.shape[axis],)`. Elements of weight 0 do not count, unless they are NaN.
            Only for the methods "inverted_cdf" and "averaged_inverted_cdf".

    Returns:
        An array of the data type of `x`, whose shape is that of `q` followed by that of `x` without the axes. NaN if an
        element is NaN, or if there are no elements. Between two equal elements, also infinite ones, the result is that
        element; between -infinity and infinity it is NaN. If all weights are 0, it is NaN. Abstract and lazy fractions
        out of bounds give NaN, and such weights that are negative or not finite, too.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, an unknown method, fractions below 0 or above 1, an array of fractions with two axes
            or on another device, weights of another shape, negative ones or another method for them, or an unknown
            shape.

    Sorts along the axes; NumPy only partitions.

    Source: `numpy.quantile`, and for weights `scipy.stats.quantile`; R. J. Hyndman and Y. Fan, Sample quantiles in
    statistical packages, The American Statistician 50 (1996).

    >>> import numpy as np
    >>> x = np.asarray([[4.0, 1.0, 3.0], [2.0, 8.0, 6.0]])
    >>> quantile(x, [0.0, 0.5], axis=1)
    array([[1., 2.],
           [3., 6.]])
    >>> quantile(x, 0.75, method="lower").item()
    4.0
    """
    return _computed(quantile, x, q, axis, method, keepdims, weights)


@arguments_elsewhere()
@pluggable
def nanquantile(
    x: Array,
    /,
    q: Array | float | Sequence[float],
    *,
    axis: Axis = None,
    method: Method = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Array:
    """Compute quantiles, ignoring NaN.

    Arguments, result and errors are those of `quantile`, but the result is NaN only if all elements are NaN.

    >>> import numpy as np
    >>> nanquantile(np.asarray([[4.0, np.nan, 3.0], [2.0, 8.0, 6.0]]), 0.5, axis=1)
    array([3.5, 6. ])
    """
    return _computed(nanquantile, x, q, axis, method, keepdims, weights)


def median(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the median: the middle element of the sorted elements, or the mean of the two middle ones.

    Args:
        x: An array of a real floating-point data type.
        axis: The axis or axes to compute along. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN if an element is NaN, or if there are no elements.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an unknown shape.

    Source: `numpy.median`.

    >>> import numpy as np
    >>> median(np.asarray([[4.0, 1.0, 3.0], [2.0, 8.0, 6.0]]), axis=1)
    array([3., 6.])
    """
    implementation, axes = quantile.planned(_CHECK_MEDIAN, (x,), axis, keepdims)
    return implementation(x, 0.5, axis=axes, method="linear", keepdims=keepdims)


def nanmedian(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the median, ignoring NaN.

    Arguments, result and errors are those of `median`, but the result is NaN only if all elements are NaN.

    >>> import numpy as np
    >>> nanmedian(np.asarray([[4.0, np.nan, 3.0], [2.0, 8.0, 6.0]]), axis=1)
    array([3.5, 6. ])
    """
    implementation, axes = nanquantile.planned(_CHECK_NANMEDIAN, (x,), axis, keepdims)
    return implementation(x, 0.5, axis=axes, method="linear", keepdims=keepdims)
