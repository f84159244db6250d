"""Modified Bessel functions of the first kind, of orders 0 and 1."""

from xpand.extend import Array

from .._dispatch import pluggable
from ._arguments import real


@pluggable
def i0(x: Array, /) -> Array:
    """Compute the modified Bessel function of the first kind, of order 0.

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. Infinite at ±infinity, and beyond ±713.98 in float64, ±91.9 in
        float32.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    Accurate to 8 ulps. The derivative becomes infinite from ±713.2 on, in float32 from ±91.2 on.

    Source: `scipy.special.i0`.

    >>> import numpy as np
    >>> i0(np.asarray([0.0, 1.0, -10.0])).round(6)
    array([1.00000000e+00, 1.26606600e+00, 2.81571663e+03])
    """
    real("i0", x)
    return i0.native(x)(x)


@pluggable
def i0e(x: Array, /) -> Array:
    """Compute exp(-|x|) times `i0`, which does not overflow.

    Argument and errors are as in `i0`. The result is 0 at ±infinity. Accurate to 8 ulps.

    Source: `scipy.special.i0e`.

    >>> import numpy as np
    >>> i0e(np.asarray([0.0, 1.0, 1000.0])).round(6)
    array([1.      , 0.46576 , 0.012617])
    """
    real("i0e", x)
    return i0e.native(x)(x)


@pluggable
def i1(x: Array, /) -> Array:
    """Compute the modified Bessel function of the first kind, of order 1. It is odd, and the derivative of `i0`.

    Argument and errors are as in `i0`. The result is infinite, with the sign of `x`, beyond ±713.99 in float64, ±91.9
    in float32. Accurate to 16 ulps. Derivatives are as for `i0`.

    Source: `scipy.special.i1`.

    >>> import numpy as np
    >>> i1(np.asarray([0.0, 1.0, -10.0])).round(6)
    array([ 0.0000000e+00,  5.6515900e-01, -2.6709883e+03])
    """
    real("i1", x)
    return i1.native(x)(x)


@pluggable
def i1e(x: Array, /) -> Array:
    """Compute exp(-|x|) times `i1`, which does not overflow.

    Argument and errors are as in `i0`. The result is ±0 at ±infinity. Accurate to 16 ulps.

    Source: `scipy.special.i1e`.

    >>> import numpy as np
    >>> i1e(np.asarray([0.0, 1.0, -1000.0])).round(6)
    array([ 0.      ,  0.20791 , -0.012611])
    """
    real("i1e", x)
    return i1e.native(x)(x)
