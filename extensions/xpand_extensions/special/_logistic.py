"""The logistic function and related functions, sums of exponentials, and products with logarithms."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from xpand.extend import Array, checks

from .._dispatch import pluggable
from . import _arguments as _complex
from ._arguments import check_reals, is_complex, real

_CHECK_XY: Final = partial(check_reals, ("x", "y"))


@pluggable
def sigmoid(x: Array, /) -> Array:
    """Compute the logistic function, 1 / (1 + exp(-x)).

    Args:
        x: An array of any shape, of a real or complex floating-point data type.

    Returns:
        An array of the shape and data type of `x`, for real numbers between 0 and 1.

    Raises:
        TypeError: `x` is not an array, or of another data type.

    Within 3 ulps for real numbers.

    Source: `scipy.special.expit`; of complex numbers `jax.nn.sigmoid`.

    >>> import numpy as np
    >>> sigmoid(np.asarray([-np.inf, 0.0, 2.0])).round(6)
    array([0.      , 0.5     , 0.880797])
    """
    return _complex.sigmoid(x) if is_complex("sigmoid", x) else sigmoid.native(x)(x)


@pluggable
def expit(x: Array, /) -> Array:
    """Compute the logistic function: `sigmoid` by SciPy's name.

    >>> import numpy as np
    >>> expit(np.asarray([0.0]))
    array([0.5])
    """
    return _complex.sigmoid(x) if is_complex("expit", x) else expit.native(x)(x)


@pluggable
def log_sigmoid(x: Array, /) -> Array:
    """Compute the logarithm of the logistic function, -log(1 + exp(-x)).

    Argument, result and errors are those of `sigmoid`, except that values are 0 or below.

    Within 3 ulps.

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

    Argument, result and errors are those of `sigmoid`. -infinite at 0, infinite at 1, NaN outside of these.

    Within 3 ulps and one ulp of the argument, which matters near the zero at 1/2.

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

    Argument, result and errors are those of `sigmoid`, except that values are 0 or above, infinite at infinity.

    Within 3 ulps.

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
        keepdims: Whether these axes stay, with size 1.
        b: Weights, of the data type of `x` and a shape that broadcasts with it. Elements with the weight 0 are ignored,
            even NaN and infinity. By default: 1.

    Returns:
        An array of the data type of `x`. The sum of nothing, or of zeros, is 0, its logarithm -infinity; that of a
        negative sum is NaN; with an infinity among the elements it is infinity.

    Raises:
        TypeError: An argument of the wrong type or data type, or arrays of two libraries.
        ValueError: No such axis, one named twice, shapes that don't broadcast, or arrays on two devices.

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
        checks.namespace_of(function, **named)
        check_reals((*named,), function, *arrays)
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
        An array of the shape and data type of `x`. All NaN along the axis where an element is NaN or infinite, or all
        are -infinite.

    Raises:
        TypeError: `x` is not an array, or of another data type; `axis` is not an integer.
        ValueError: No such axis.

    Source: `scipy.special.softmax`.

    >>> import numpy as np
    >>> softmax(np.asarray([1000.0, 1000.0, -np.inf]))
    array([0.5, 0.5, 0. ])
    """
    real("softmax", x)
    return softmax.native(x)(x, axis=checks.axis("softmax", axis, x.ndim))


@pluggable
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    """Compute the logarithm of `softmax`, also where that underflows.

    Arguments, result and errors are those of `softmax`.

    Source: `scipy.special.log_softmax`.

    >>> import numpy as np
    >>> log_softmax(np.asarray([100.0, 99.0, -np.inf])).round(6)
    array([-0.313262, -1.313262,      -inf])
    """
    real("log_softmax", x)
    return log_softmax.native(x)(x, axis=checks.axis("log_softmax", axis, x.ndim))


@pluggable
def xlogy(x: Array | float, y: Array | float, /) -> Array:
    """Compute x log(y), which is 0 where x is, unless y is NaN.

    Args:
        x: An array of a real floating-point data type, or a number.
        y: The same, of a shape that broadcasts with that of `x`. One of the two is an array.

    Returns:
        An array of the shape to which both broadcast, of the data type to which theirs promote.

    Raises:
        TypeError: Arguments of other types or data types, or arrays of two libraries.
        ValueError: Shapes that don't broadcast, or arrays on two devices.

    Within 3 ulps. The derivative in y is x/y, and 0 where x is 0; in x it is log(y), but 0 where x is 0 and that
    logarithm is not finite: at y = 0, infinity and below 0.

    Source: `scipy.special.xlogy`.

    >>> import numpy as np
    >>> xlogy(np.asarray([0.0, 1.0, 2.0]), np.asarray([0.0, 0.0, 1.0]))
    array([  0., -inf,   0.])
    """
    implementation, of_x, of_y = xlogy.planned(_CHECK_XY, (x, y))
    return implementation(of_x(x), of_y(y))


@pluggable
def xlog1py(x: Array | float, y: Array | float, /) -> Array:
    """Compute x log(1 + y), which is 0 where x is, unless y is NaN.

    Arguments, result and errors are those of `xlogy`.

    Within 3 ulps.

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

    Argument, result and errors are those of `sigmoid`.

    Within 3 ulps.

    Source: `scipy.special.entr`.

    >>> import numpy as np
    >>> entr(np.asarray([-1.0, 0.0, 0.5])).round(6)
    array([    -inf, 0.      , 0.346574])
    """
    real("entr", x)
    return entr.native(x)(x)


@pluggable
def sinc(x: Array, /) -> Array:
    """Compute the normalised sinc function, sin(πx)/(πx), and 1 at 0.

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. 0 at ±infinity.

    Raises:
        TypeError: `x` is not an array, or of another data type.

    Within 3 ulps and 2 ulps of the argument, which matter near the zeros. Beyond 1e6, between ±1/(πx).

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
