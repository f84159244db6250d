"""The logistic function and related functions, sums of exponentials, and products with logarithms."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from xpand.extend import Array, checks

from .._dispatch import pluggable
from ..arithmetic import check_operands
from . import _arguments as _complex
from ._arguments import is_complex, real

_CHECK_XY: Final = partial(check_operands, checks.REAL, ("x", "y"))


@pluggable
def sigmoid(x: Array, /) -> Array:
    """Compute the logistic function, 1 / (1 + exp(-x)).

    Args:
        x: An array of any shape, of a real or complex floating-point data type.

    Returns:
        An array of the shape and data type of `x`, for real numbers with values between 0 and 1.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    Accurate to 3 ulps for real numbers.

    Source: `scipy.special.expit`; for complex numbers `jax.nn.sigmoid`.

    >>> import numpy as np
    >>> sigmoid(np.asarray([-np.inf, 0.0, 2.0])).round(6)
    array([0.      , 0.5     , 0.880797])
    """
    return _complex.sigmoid(x) if is_complex("sigmoid", x) else sigmoid.native(x)(x)


@pluggable
def expit(x: Array, /) -> Array:
    """Compute the logistic function. SciPy's name of `sigmoid`.

    >>> import numpy as np
    >>> expit(np.asarray([0.0]))
    array([0.5])
    """
    return _complex.sigmoid(x) if is_complex("expit", x) else expit.native(x)(x)


@pluggable
def log_sigmoid(x: Array, /) -> Array:
    """Compute the logarithm of the logistic function, -log(1 + exp(-x)).

    Argument, result and errors are as in `sigmoid`, except that values are 0 or below.

    Accurate to 3 ulps.

    Source: `scipy.special.log_expit`.

    >>> import numpy as np
    >>> log_sigmoid(np.asarray([-1000.0, 0.0])).round(6)
    array([-1.00000e+03, -6.93147e-01])
    """
    real("log_sigmoid", x)
    return log_sigmoid.native(x)(x)


@pluggable
def logit(x: Array, /) -> Array:
    """Compute the inverse of the logistic function, log(x / (1 - x)).

    Argument, result and errors are as in `sigmoid`. -infinity at 0, infinity at 1, NaN outside.

    Accurate to 3 ulps plus one ulp of the argument, which matters near the zero at 1/2.

    Source: `scipy.special.logit`.

    >>> import numpy as np
    >>> logit(np.asarray([0.0, 0.25, 0.5])).round(6)
    array([     -inf, -1.098612,  0.      ])
    """
    real("logit", x)
    return logit.native(x)(x)


@pluggable
def softplus(x: Array, /) -> Array:
    """Compute log(1 + exp(x)), a smooth maximum of x and 0.

    Argument, result and errors are as in `sigmoid`, except that values are 0 or above, and infinite at infinity.

    Accurate to 3 ulps.

    Source: `jax.nn.softplus`.

    >>> import numpy as np
    >>> softplus(np.asarray([-np.inf, 0.0, 1000.0])).round(6)
    array([0.00000e+00, 6.93147e-01, 1.00000e+03])
    """
    real("softplus", x)
    return softplus.native(x)(x)


@pluggable
def logsumexp(
    x: Array, /, *, axis: int | Sequence[int] | None = None, keepdims: bool = False, b: Array | None = None
) -> Array:
    r"""Compute the logarithm of the sum of exponentials, without overflow.

    $$\log \sum_i b_i e^{x_i}$$

    Args:
        x: An array of a real floating-point data type.
        axis: The axis or axes to sum over, of `x` broadcast with `b`. By default: all.
        keepdims: Whether to keep these axes, with size 1.
        b: Weights, of the data type of `x` and a shape that broadcasts with it. Elements with the weight 0 are ignored,
            even NaN and infinity. By default: 1.

    Returns:
        An array of the data type of `x`. -infinity if the sum is 0, or over no elements; NaN if it is negative;
        infinity if an element is infinity.

    Raises:
        TypeError: An argument has a wrong type or data type, or arrays belong to two libraries.
        ValueError: There is no such axis, an axis is given twice, shapes don't broadcast, or arrays are on two devices.

    Source: `scipy.special.logsumexp`.

    >>> import numpy as np
    >>> logsumexp(np.asarray([1000.0, 1000.0])).round(6)
    np.float64(1000.693147)
    >>> logsumexp(np.asarray([[1.0, 1.0], [0.0, -np.inf]]), axis=1).round(6)
    array([1.693147, 0.      ])
    """
    implementation, axes = logsumexp.planned(_check_logsumexp, (x,) if b is None else (x, b), axis, keepdims)
    return implementation(x, axis=axes, keepdims=keepdims, b=b)


def _check_logsumexp(function: str, *given: Any) -> tuple[tuple[int, ...]]:
    *arrays, axis, keepdims = given
    if len(arrays) == 1:
        real(function, arrays[0])
    else:
        named = dict(zip(("x", "b"), arrays))
        checks.together(function, checks.REAL, **named)
        checks.broadcast_shapes(function, **{name: tuple(array.shape) for name, array in named.items()})
    checks.boolean(function, "keepdims", keepdims)
    ndim = max([array.ndim for array in arrays])
    return (tuple(range(ndim)) if axis is None else checks.axes(function, axis, ndim, "axis"),)


@pluggable
def softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Compute exponentials divided by their sum along an axis, without overflow.

    Args:
        x: An array of a real floating-point data type.
        axis: The axis along which the results sum to 1.

    Returns:
        An array of the shape and data type of `x`. NaN along the whole axis if an element is NaN or infinity, or all
        elements are -infinity.

    Raises:
        TypeError: `x` is not an array, or has another data type; or `axis` is not an integer.
        ValueError: There is no such axis.

    Source: `scipy.special.softmax`.

    >>> import numpy as np
    >>> softmax(np.asarray([1000.0, 1000.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    real("softmax", x)
    return softmax.native(x)(x, axis=checks.axis("softmax", axis, x.ndim))


@pluggable
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Compute the logarithm of `softmax`, even if the softmax underflows.

    Arguments, result and errors are as in `softmax`.

    Source: `scipy.special.log_softmax`.

    >>> import numpy as np
    >>> log_softmax(np.asarray([100.0, 99.0, -np.inf])).round(6)
    array([-0.313262, -1.313262,      -inf])
    """
    real("log_softmax", x)
    return log_softmax.native(x)(x, axis=checks.axis("log_softmax", axis, x.ndim))


@pluggable
def xlogy(x: Array | float, y: Array | float, /) -> Array:
    """Compute x log(y). It is 0 if x is 0, unless y is NaN.

    Args:
        x: An array of a real floating-point data type, or a number.
        y: The same, of a shape that broadcasts with that of `x`. One of the two is an array.

    Returns:
        An array of the common shape and data type: shapes broadcast, and data types are promoted.

    Raises:
        TypeError: Arguments have other types or data types, or arrays belong to two libraries.
        ValueError: Shapes don't broadcast, or arrays are on two devices.

    Accurate to 3 ulps. The derivative with respect to y is x/y, and 0 if x is 0. The derivative with respect to x is
    log(y); but if x is 0 and the logarithm is not finite (for y = 0, infinity or below 0), it is 0.

    Source: `scipy.special.xlogy`.

    >>> import numpy as np
    >>> xlogy(np.asarray([0.0, 1.0, 2.0]), np.asarray([0.0, 0.0, 1.0]))
    array([  0., -inf,   0.])
    """
    implementation, of_x, of_y = xlogy.planned(_CHECK_XY, (x, y))
    return implementation(of_x(x), of_y(y))


@pluggable
def xlog1py(x: Array | float, y: Array | float, /) -> Array:
    """Compute x log(1 + y). It is 0 if x is 0, unless y is NaN.

    Arguments, result and errors are as in `xlogy`.

    Accurate to 3 ulps.

    Source: `scipy.special.xlog1py`.

    >>> import numpy as np
    >>> xlog1py(np.asarray([0.0, 1.0, 2.0]), np.asarray([-1.0, -1.0, 1e-300]))
    array([0.e+000,    -inf, 2.e-300])
    """
    implementation, of_x, of_y = xlog1py.planned(_CHECK_XY, (x, y))
    return implementation(of_x(x), of_y(y))


@pluggable
def entr(x: Array, /) -> Array:
    """Compute the elementwise entropy, -x log(x): 0 at 0, -infinity for negative numbers.

    Argument, result and errors are as in `sigmoid`.

    Accurate to 3 ulps.

    Source: `scipy.special.entr`.

    >>> import numpy as np
    >>> entr(np.asarray([-1.0, 0.0, 0.5])).round(6)
    array([    -inf, 0.      , 0.346574])
    """
    real("entr", x)
    return entr.native(x)(x)


@pluggable
def sinc(x: Array, /) -> Array:
    """Compute the normalized sinc function, sin(πx)/(πx), and 1 at 0.

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. 0 at ±infinity.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    Accurate to 3 ulps plus 2 ulps of the argument, which matter near the zeros. Beyond 1e6, values are only sure to be
    between ±1/(πx).

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

    Argument and errors are as in `sinc`. The result has the shape and data type of `x`, and the sign of zeros.

    Accurate to 3 ulps.

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

    Argument and errors are as in `sinc`; complex arrays are accepted, too. The result has the shape and data type of
    `x`: NaN for negative real numbers, ±infinity at ±0, 0 at infinity. For a complex number, it is the reciprocal of
    the principal root.

    Accurate to 2 ulps for real numbers.

    Source: `jax.lax.rsqrt`.

    >>> import numpy as np
    >>> rsqrt(np.asarray([0.0, 0.25, np.inf]))
    array([inf,  2.,  0.])
    """
    return _complex.rsqrt(x) if is_complex("rsqrt", x) else rsqrt.native(x)(x)


@pluggable
def exp2(x: Array, /) -> Array:
    """Compute 2 to the power of x.

    Argument and errors are as in `sinc`; complex arrays are accepted, too. The result has the shape and data type of
    `x`. If the power is too large, it is infinity, and NumPy warns as for its own functions.

    Accurate to 2 ulps for real numbers. In float64, 2 to the power of an integer is exact.

    Source: `numpy.exp2`.

    >>> import numpy as np
    >>> exp2(np.asarray([-1.0, 0.5, 10.0])).round(6)
    array([5.000000e-01, 1.414214e+00, 1.024000e+03])
    """
    return _complex.exp2(x) if is_complex("exp2", x) else exp2.native(x)(x)
