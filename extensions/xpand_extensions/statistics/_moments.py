"""Measures of the shape of a distribution."""

from xpand.extend import Array, Axis, checks

from .._dispatch import pluggable
from ._arguments import reduced


@pluggable
def skew(x: Array, /, *, axis: Axis = None, bias: bool = True, keepdims: bool = False) -> Array:
    """Compute the skewness: the mean of the third powers of standardized values. It is 0 for symmetric distributions.

    Args:
        x: An array of a real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        bias: Whether to return the skewness of the sample itself, which is a biased estimate of that of its
            distribution. False corrects the estimate, if there are more than two values.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        An array of the data type of `x`, without the axes. NaN if an element is NaN or infinite, if there are no
        elements, or if they are equal up to rounding.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an unknown shape.

    Source: `scipy.stats.skew`, whose default is `axis=0`.

    >>> import numpy as np
    >>> round(float(skew(np.asarray([2.0, 8.0, 0.0, 4.0, 1.0, 9.0, 9.0, 0.0]))), 6)
    0.265055
    """
    axes = reduced("skew", checks.REAL, x, axis, keepdims)
    checks.boolean("skew", "bias", bias)
    checks.known_shape("skew", "x", x)
    return skew.native(x)(x, axis=axes, bias=bias, keepdims=keepdims)


@pluggable
def kurtosis(
    x: Array, /, *, axis: Axis = None, fisher: bool = True, bias: bool = True, keepdims: bool = False
) -> Array:
    """Compute the kurtosis: the mean of the fourth powers of standardized values, minus 3.

    Args:
        x: An array of a real floating-point data type.
        axis: The axis or axes to reduce. By default: all.
        fisher: Whether to subtract 3, so that the result is 0 for normal distributions.
        bias: As in `skew`. False corrects the estimate, if there are more than three values.
        keepdims: Whether the reduced axes remain, with size 1.

    Returns:
        As for `skew`.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No such axis, or an unknown shape.

    Source: `scipy.stats.kurtosis`, whose default is `axis=0`.

    >>> import numpy as np
    >>> round(float(kurtosis(np.asarray([2.0, 8.0, 0.0, 4.0, 1.0, 9.0, 9.0, 0.0]))), 6)
    -1.666001
    """
    axes = reduced("kurtosis", checks.REAL, x, axis, keepdims)
    checks.boolean("kurtosis", "fisher", fisher)
    checks.boolean("kurtosis", "bias", bias)
    checks.known_shape("kurtosis", "x", x)
    return kurtosis.native(x)(x, axis=axes, fisher=fisher, bias=bias, keepdims=keepdims)
