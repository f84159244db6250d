"""Reductions by a user function, averages, ranges, covariances and correlations."""

from collections.abc import Callable
from typing import Any

from xpand.extend import Array, ArrayLike, Axis, checks

from .._dispatch import pluggable
from .._elsewhere import arguments_elsewhere
from .._where import clean_tracebacks
from ._arguments import axes as checked_axes, check_weights, number, reduced


@clean_tracebacks
@pluggable
def reduce(
    x: Array,
    /,
    function: Callable[[Array, Array], Array],
    initial: ArrayLike,
    *,
    axis: Axis = None,
    keepdims: bool = False,
) -> Array:
    """Reduce axes with an associative function of two arrays.

    Args:
        x: An array of any data type.
        function: Takes two arrays of one shape, and returns an array of that shape and of the data type of `x`. It
            must be elementwise and associative, but need not be commutative.
        initial: The start value of the reduction, used once for each slice: a Python scalar or a 0-dimensional array
            that promotes to the data type of `x`.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the axes remain, with size 1.

    Returns:
        `function(initial, function(x0, function(x1, …)))` for the elements in row-major order: an array of the data
        type of `x`, without the axes; `initial` if there are no elements. Neighbours are combined in pairs, then pairs
        of pairs, so that rounding errors grow with the logarithm of the number of elements.

    Raises:
        TypeError: An argument of the wrong type or data type, or a function that returns another data type.
        ValueError: No such axis, an `initial` with axes, a function that returns another shape, arrays on two devices,
            or an unknown shape.

    Calls `function` about `2 * log2(n)` times for n elements, with all slices together.

    Source: `Nx.reduce`.

    >>> import numpy as np
    >>> reduce(np.asarray([[1, 2, 3], [4, 5, 6]]), lambda a, b: a * b, 10, axis=1)
    array([  60, 1200])
    """
    xp = checks.namespace_of("reduce", x=x)
    checks.function("reduce", function, "function")
    checks.scalar("reduce", "initial", xp, initial, x, "x")
    checks.boolean("reduce", "keepdims", keepdims)
    checks.known_shape("reduce", "x", x)
    axes = checked_axes("reduce", axis, x.ndim)
    return reduce.native(x, initial)(x, function, initial, axis=axes, keepdims=keepdims)


@pluggable
def ptp(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Compute the range of the elements ("peak to peak"): the largest minus the smallest.

    Args:
        x: An array of an integer or real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. A range too large for an integer type wraps around. NaN if
        an element is NaN.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, an axis twice, or no elements.

    Source: `numpy.ptp`.

    >>> import numpy as np
    >>> ptp(np.asarray([[4, 1, 3], [2, 8, 6]]), axis=1)
    array([3, 6])
    """
    axes = reduced("ptp", checks.REAL_VALUED, x, axis, keepdims)
    if 0 in [x.shape[axis] for axis in axes]:
        raise ValueError(f"ptp: x has no elements along the axes {axes}, got the shape {tuple(x.shape)}")
    return ptp.native(x)(x, axis=axes, keepdims=keepdims)


@arguments_elsewhere()
@pluggable
def average(x: Array, /, *, axis: Axis = None, weights: Array | None = None, keepdims: bool = False) -> Array:
    """Compute the weighted mean.

    Args:
        x: An array of a floating-point data type, real or complex.
        axis: The axis or axes to reduce. By default: all.
        weights: An array of a real floating-point data type: of the shape of `x`, or for one `axis`,
            `(x.shape[axis],)`. By default, all weights are equal.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        The sum of the products divided by the sum of the weights, of the promoted data type, without the axes. NaN if
        the weights add up to 0, or if there are no elements.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, an axis twice, weights of another shape, or arrays on two devices.

    Source: `numpy.average`.

    >>> import numpy as np
    >>> average(np.asarray([1.0, 2.0, 6.0]), weights=np.asarray([1.0, 1.0, 2.0])).item()
    3.75
    """
    axes = reduced("average", checks.FLOATING, x, axis, keepdims)
    if weights is not None:
        check_weights("average", x, weights, axes)
    return average.native(x, weights)(x, axis=axes, weights=weights, keepdims=keepdims)


@arguments_elsewhere()
@pluggable
def cov(
    x: Array,
    /,
    *,
    rowvar: bool = True,
    correction: float = 1.0,
    fweights: Array | None = None,
    aweights: Array | None = None,
) -> Array:
    """Estimate the covariance matrix of variables from observations.

    Args:
        x: An array of a floating-point data type, real or complex, of shape `(…, variables, observations)`, or
            `(observations,)` for one variable. Axes before these two are batches.
        rowvar: Whether each row is a variable. Otherwise each column is: shape `(…, observations, variables)`.
        correction: The number subtracted from the number of observations in the divisor: 1 for an unbiased estimate, 0
            for the covariance of a population.
        fweights: The number of times that each observation counts: an integer array of shape `(observations,)`.
        aweights: The relative weight of each observation: an array of a real floating-point data type of shape
            `(observations,)`.

    Returns:
        An array of shape `(…, variables, variables)`, or of shape `()` if `x` has one axis; of the promoted data type
        of `x` and `aweights`. The second of two complex variables is conjugated. NaN if the number of observations, or
        the sum of their weights, is not above `correction`.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: `x` has no axis, weights of another shape, arrays on two devices, or an unknown shape.

    Source: `numpy.cov`, with its formula for weights.

    >>> import numpy as np
    >>> cov(np.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    _check("cov", x, rowvar)
    correction = number("cov", "correction", correction)
    observations = x.shape[-1] if rowvar or x.ndim == 1 else x.shape[-2]
    for name, weights, kinds in (("fweights", fweights, checks.INTEGERS), ("aweights", aweights, checks.REAL)):
        if weights is not None:
            _check_weights(name, x, weights, kinds, observations)
    return cov.native(x, fweights, aweights)(
        x, rowvar=rowvar, correction=correction, fweights=fweights, aweights=aweights
    )


@pluggable
def corrcoef(x: Array, /, *, rowvar: bool = True) -> Array:
    """Estimate the correlation coefficients of variables from observations.

    Args:
        x: As in `cov`.
        rowvar: As in `cov`.

    Returns:
        An array of the data type of `x` and the shape that `cov` returns: the covariances divided by both standard
        deviations, with real and imaginary parts clipped to -1 and 1. NaN for a variable that doesn't vary.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: `x` has no axis, or an unknown shape.

    Source: `numpy.corrcoef`.

    >>> import numpy as np
    >>> corrcoef(np.asarray([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    _check("corrcoef", x, rowvar)
    return corrcoef.native(x)(x, rowvar=rowvar)


def _check(function: str, x: Array, rowvar: Any) -> None:
    xp = checks.namespace_of(function, x=x)
    checks.dtype(function, "x", xp, x, checks.FLOATING)
    checks.boolean(function, "rowvar", rowvar)
    if not x.ndim:
        raise ValueError(f"{function}: x must have an axis of observations, got an array of one value")
    checks.known_shape(function, "x", x)


def _check_weights(name: str, x: Array, weights: Array, kinds: frozenset[checks.Kind], observations: int) -> None:
    named = {"x": x, name: weights}
    xp = checks.together("cov", **named)
    checks.dtype("cov", name, xp, weights, kinds)
    if tuple(weights.shape) != (observations,):
        raise ValueError(
            f"cov: {name} must have the shape ({observations},), one for each observation in x of shape "
            f"{tuple(x.shape)}, got {tuple(weights.shape)}"
        )
