"""Covariances and correlations."""

from typing import Any

from xpand.extend import Array, checks

from .._dispatch import pluggable
from ._arguments import number


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
    """Estimate covariances of variables from observations of them.

    Args:
        x: An array of a floating-point data type, real or complex, of shape `(…, variables, observations)`, or
            `(observations,)` for one variable. Axes before these two are batches.
        rowvar: Whether each row is a variable. Otherwise each column is: shape `(…, observations, variables)`.
        correction: The number to subtract from the number of observations in the divisor: 1 for an unbiased estimate, 0
            for the covariance of a population.
        fweights: How many times each observation is to be counted: an array of integers of shape `(observations,)`.
        aweights: How much each observation is worth: an array of a real floating-point data type of shape
            `(observations,)`.

    Returns:
        An array of shape `(…, variables, variables)`, or of no axes for one variable in an array of one axis; of the
        data type of `x`, promoted with that of `aweights`. Of complex variables the second is conjugated. NaN where
        the number of observations, or the sum of their weights, is no more than what `correction` takes.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No axis, weights of another shape, arrays on two devices, or a shape not known yet.

    Source: `numpy.cov`, with its formula for weights.

    >>> import numpy as np
    >>> cov(np.asarray([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    array([[ 1., -1.],
           [-1.,  1.]])
    """
    _check("cov", x, rowvar)
    correction = number("cov", "correction", correction)
    observations = x.shape[-1] if rowvar or x.ndim == 1 else x.shape[-2]
    for name, weights, kinds in (
        ("fweights", fweights, checks.INTEGERS),
        ("aweights", aweights, checks.REAL),
    ):
        if weights is not None:
            _check_weights(name, x, weights, kinds, observations)
    return cov.native(x, fweights, aweights)(
        x, rowvar=rowvar, correction=correction, fweights=fweights, aweights=aweights
    )


@pluggable
def corrcoef(x: Array, /, *, rowvar: bool = True) -> Array:
    """Estimate correlation coefficients of variables from observations of them.

    Args:
        x: As for `cov`.
        rowvar: As for `cov`.

    Returns:
        An array of the data type of `x` and the shape that `cov` gives: the covariances divided by both standard
        deviations, their real and imaginary parts clipped to -1 and 1. NaN for a variable that doesn't vary.

    Raises:
        TypeError: An argument of the wrong type or data type.
        ValueError: No axis, or a shape not known yet.

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
    xp = checks.namespace_of("cov", **named)
    checks.one_device("cov", **named)
    checks.dtype("cov", name, xp, weights, kinds)
    if tuple(weights.shape) != (observations,):
        raise ValueError(
            f"cov: {name} must have the shape ({observations},), one for each observation in x of shape "
            f"{tuple(x.shape)}, got {tuple(weights.shape)}"
        )
