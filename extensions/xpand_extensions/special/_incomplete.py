"""The incomplete gamma and beta functions, which are probabilities, and the logarithm of the beta function."""

from xpand.extend import Array, Scalar

from .._dispatch import pluggable
from ._arguments import reals


@pluggable
def gammainc(a: Array | Scalar, x: Array | Scalar, /) -> Array:
    """Compute the lower incomplete gamma function, regularised: 1/Γ(a) times the integral of t^(a-1) exp(-t) to x.

    Args:
        a: An array of a real floating-point data type, or a number; 0 or above.
        x: The same; they broadcast.

    Returns:
        An array of their common shape and data type, between 0 and 1. Where one parameter is 0 or infinite, the limit;
        NaN where there is none (both 0, both infinite), and for negative parameters.

    Raises:
        TypeError: Neither is an array, or data types or libraries don't fit.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Within 40 ulps and 10 of the arguments, whose rounding is felt in the tail. On NumPy a call of SciPy's; elsewhere an
    integral by 32 exponentials, since PyTorch's and JAX's functions are off by up to 6e6 ulps.

    Source: `scipy.special.gammainc`.

    >>> import numpy as np
    >>> gammainc(np.asarray([1.0, 2.0]), 1.0).round(6)
    array([0.632121, 0.264241])
    """
    a, x = reals("gammainc", a=a, x=x)
    return gammainc.native(a, x)(a, x)


@pluggable
def gammaincc(a: Array | Scalar, x: Array | Scalar, /) -> Array:
    """Compute the upper incomplete gamma function, regularised: 1 - gammainc(a, x), without cancellation.

    Arguments, result, errors, accuracy and cost are those of `gammainc`.

    Source: `scipy.special.gammaincc`.

    >>> import numpy as np
    >>> gammaincc(np.asarray([1.0, 2.0]), 1.0).round(6)
    array([0.367879, 0.735759])
    """
    a, x = reals("gammaincc", a=a, x=x)
    return gammaincc.native(a, x)(a, x)


@pluggable
def betaln(a: Array | Scalar, b: Array | Scalar, /) -> Array:
    """Compute the logarithm of the beta function, log Γ(a) + log Γ(b) - log Γ(a + b), for large parameters too.

    Arguments and errors are those of `gammainc`.

    Returns:
        An array of their common shape and data type. Infinite where a parameter is 0, -infinite where one is infinite,
        NaN where both is the case or one is negative.

    Within 8 ulps of the larger of the value and 1.

    Source: `scipy.special.betaln`.

    >>> import numpy as np
    >>> betaln(np.asarray([1.0, 2.0, 1e10]), 2.0).round(6)
    array([ -0.693147,  -1.791759, -46.051702])
    """
    a, b = reals("betaln", a=a, b=b)
    return betaln.native(a, b)(a, b)


@pluggable
def betainc(a: Array | Scalar, b: Array | Scalar, x: Array | Scalar, /) -> Array:
    """Compute the incomplete beta function, regularised: 1/B(a, b) times the integral of t^(a-1) (1-t)^(b-1) to x.

    Args:
        a: An array of a real floating-point data type, or a number; 0 or above.
        b: The same.
        x: The same, from 0 to 1; they broadcast.

    Returns:
        An array of their common shape and data type, between 0 and 1. Where one parameter is 0 or infinite, the limit;
        NaN where there is none, and for arguments out of range.

    Raises:
        TypeError: None is an array, or data types or libraries don't fit.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Within 32 ulps, two ulps of 1, and 8 ulps of the arguments, whose rounding is felt in the tails. On NumPy a call of
    SciPy's; elsewhere an integral by 32 exponentials.

    Source: `scipy.special.betainc`.

    >>> import numpy as np
    >>> betainc(np.asarray([1.0, 2.0]), 2.0, 0.25).round(6)
    array([0.4375 , 0.15625])
    """
    a, b, x = reals("betainc", a=a, b=b, x=x)
    return betainc.native(a, b, x)(a, b, x)
