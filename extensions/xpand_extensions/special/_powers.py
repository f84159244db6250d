"""Powers and roots with names of their own, and sinc."""

from xpand.extend import Array

from .._dispatch import pluggable
from . import _complex
from ._arguments import is_complex, real


@pluggable
def sinc(x: Array, /) -> Array:
    """Compute the normalised sinc function, sin(πx)/(πx), and 1 at 0.

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. 0 at ±infinity.

    Raises:
        TypeError: `x` is no array, or of another data type.

    Within 3 ulps and 2 ulps of the argument, which are felt near the zeros. Beyond 1e6, between ±1/(πx).

    Source: `numpy.sinc`.

    >>> import numpy as np
    >>> sinc(np.asarray([0.0, 0.5, np.inf])).round(6)
    array([1.     , 0.63662, 0.     ])
    """
    real("sinc", x)
    return sinc.native(x)(x)


@pluggable
def cbrt(x: Array, /) -> Array:
    """Compute the real cube root, negative for negative numbers.

    Argument and errors are those of `sinc`; the result has the shape and data type of `x`, and the sign of zeros.

    Within 3 ulps.

    Source: `numpy.cbrt`.

    >>> import numpy as np
    >>> cbrt(np.asarray([-8.0, 0.0, 27.0]))
    array([-2.,  0.,  3.])
    """
    real("cbrt", x)
    return cbrt.native(x)(x)


@pluggable
def rsqrt(x: Array, /) -> Array:
    """Compute the reciprocal of the square root.

    Argument and errors are those of `sinc`, and complex arrays are taken too; the result has the shape and data type of
    `x`. NaN for negative real numbers, ±infinity at ±0, 0 at infinity. Of a complex number, the reciprocal of the
    principal root.

    Within 2 ulps for real numbers.

    Source: `jax.lax.rsqrt`.

    >>> import numpy as np
    >>> rsqrt(np.asarray([0.0, 0.25, np.inf]))
    array([inf,  2.,  0.])
    """
    return _complex.rsqrt(x) if is_complex("rsqrt", x) else rsqrt.native(x)(x)


@pluggable
def exp2(x: Array, /) -> Array:
    """Compute 2 to the power of x.

    Argument and errors are those of `sinc`, and complex arrays are taken too; the result has the shape and data type of
    `x`. Infinite where the power is too large, of which NumPy warns, as it does for its own functions.

    Within 2 ulps for real numbers; in float64 exact for whole ones.

    Source: `numpy.exp2`.

    >>> import numpy as np
    >>> exp2(np.asarray([-1.0, 0.5, 10.0])).round(6)
    array([5.000000e-01, 1.414214e+00, 1.024000e+03])
    """
    return _complex.exp2(x) if is_complex("exp2", x) else exp2.native(x)(x)
