"""Functions of square matrices: the exponential and the logarithm."""

from xpand.extend import Array

from .._dispatch import pluggable
from . import _checks as checks


@pluggable
def expm(x: Array, /) -> Array:
    """Take the exponential of square matrices: the sum of `x^k / k!` over all k.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        An array of the same shape and data type. For a matrix with values that aren't finite it is NaN.

    Raises:
        TypeError: No array, or a data type that isn't floating-point.
        ValueError: No square matrices.

    Takes six products of matrices, a solve, and a product more each time that the norm doubles, from 5 on.

    Source: N. J. Higham, The Scaling and Squaring Method for the Matrix Exponential Revisited, SIAM J. Matrix Anal.
    Appl. 26 (2005) 1179.

    >>> import numpy as np
    >>> expm(np.asarray([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    (implementation,) = expm.planned(checks.check_one, (x,), True)
    return checks.computed(implementation, x)


@pluggable
def logm(x: Array, /) -> Array:
    """Take the principal logarithm of square matrices: the inverse of `expm`, with eigenvalues between -πi and πi.

    Args:
        x: Square matrices, shape `(..., n, n)`, of a floating-point data type.

    Returns:
        An array of the same shape and data type. As with numbers, the logarithm of a real matrix with a negative
        eigenvalue is NaN, whole, and that of the same matrix of a complex data type isn't. NaN, too, for a matrix with
        an eigenvalue of zero or values that aren't finite. (A singular matrix whose eigenvalues of zero come out as
        small numbers may give a result that is finite and means nothing.)

    Raises:
        TypeError: No array, or a data type that isn't floating-point.
        ValueError: No square matrices.

    Takes some tens of inversions. The derivatives are those of the logarithm, not of the steps towards it.

    Source: N. J. Higham, Functions of Matrices, SIAM (2008), chapters 6 and 11: square roots by the Denman-Beavers
    iteration, then a Padé approximant in partial fractions.

    >>> import numpy as np
    >>> x = np.asarray([[1.0, 2.0], [0.0, 1.0]])
    >>> (logm(x) + 0.0).round(12)
    array([[0., 2.],
           [0., 0.]])
    """
    (implementation,) = logm.planned(checks.check_one, (x,), True)
    return checks.computed(implementation, x)
