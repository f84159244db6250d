"""The error function, the normal distribution function, and their inverses."""

from xpand.extend import Array

from .._dispatch import pluggable
from ._arguments import real


@pluggable
def erf(x: Array, /) -> Array:
    r"""Compute the error function.

    $$\operatorname{erf}(x) = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} \, dt$$

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`, between -1 and 1.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    Accurate to 4 ulps.

    Source: `scipy.special.erf`.

    >>> import numpy as np
    >>> erf(np.asarray([0.0, 0.5, np.inf])).round(6)
    array([0.    , 0.5205, 1.    ])
    """
    real("erf", x)
    return erf.native(x)(x)


@pluggable
def erfc(x: Array, /) -> Array:
    """Compute the complementary error function, 1 - erf(x), without cancellation if erf(x) is near 1.

    Argument, result and errors are as in `erf`, except that values are between 0 and 2.

    Accurate to 9 ulps plus half an ulp of the argument; in the far tail, x² ulps.

    Source: `scipy.special.erfc`.

    >>> import numpy as np
    >>> bool(abs(erfc(np.asarray(10.0)) - 2.088487583762545e-45) < 1e-57)
    True
    """
    real("erfc", x)
    return erfc.native(x)(x)


@pluggable
def erfinv(x: Array, /) -> Array:
    """Compute the inverse of the error function: the y for which erf(y) is x.

    Argument, result and errors are as in `erf`. Infinite at -1 and 1, NaN beyond.

    Accurate to 4 ulps.

    Source: `scipy.special.erfinv`.

    >>> import numpy as np
    >>> erfinv(np.asarray([0.0, 0.5, 1.0, 2.0])).round(6)
    array([0.      , 0.476936,      inf,      nan])
    """
    real("erfinv", x)
    return erfinv.native(x)(x)


@pluggable
def erfcinv(x: Array, /) -> Array:
    """Compute the inverse of the complementary error function: the y for which erfc(y) is x.

    Argument, result and errors are as in `erf`. Infinity at 0, -infinity at 2, NaN outside.

    Accurate to 8 ulps.

    Source: `scipy.special.erfcinv`.

    >>> import numpy as np
    >>> erfcinv(np.asarray([0.0, 1e-100, 0.5])).round(6)
    array([      inf, 15.065575,  0.476936])
    """
    real("erfcinv", x)
    return erfcinv.native(x)(x)


@pluggable
def ndtr(x: Array, /) -> Array:
    r"""Compute the standard normal distribution function: the probability of a value below x.

    $$\Phi(x) = \frac{1}{\sqrt{2\pi}} \int_{-\infty}^x e^{-t^2/2} \, dt = \frac{1}{2} \operatorname{erfc}(-x/\sqrt{2})$$

    Argument, result and errors are as in `erf`, except that values are between 0 and 1.

    Accurate to 6 ulps plus 2 ulps of the argument; in the far lower tail, 2x² ulps.

    Source: `scipy.special.ndtr`.

    >>> import numpy as np
    >>> ndtr(np.asarray([-np.inf, 0.0, 1.0])).round(6)
    array([0.      , 0.5     , 0.841345])
    """
    real("ndtr", x)
    return ndtr.native(x)(x)


@pluggable
def ndtri(x: Array, /) -> Array:
    """Compute the quantiles of the standard normal distribution: the y for which ndtr(y) is x.

    Argument, result and errors are as in `erf`. -infinity at 0, infinity at 1, NaN outside.

    Accurate to 8 ulps.

    Source: `scipy.special.ndtri`.

    >>> import numpy as np
    >>> ndtri(np.asarray([0.0, 0.5, 0.975])).round(6)
    array([    -inf, 0.      , 1.959964])
    """
    real("ndtri", x)
    return ndtri.native(x)(x)


@pluggable
def log_ndtr(x: Array, /) -> Array:
    """Compute the logarithm of the standard normal distribution function, even if that function underflows.

    Argument, result and errors are as in `erf`, except that values are 0 or below.

    Accurate to 7 ulps plus 2 ulps of the argument, which matter if the result is near 0: for large x, 2x² ulps.

    Source: `scipy.special.log_ndtr`.

    >>> import numpy as np
    >>> log_ndtr(np.asarray([-100.0, 0.0, 1.0])).round(3)
    array([-5.005524e+03, -6.930000e-01, -1.730000e-01])
    """
    real("log_ndtr", x)
    return log_ndtr.native(x)(x)
