"""The logarithm of the gamma function, its derivatives, incomplete gamma and beta functions, factorials and zeta."""

from functools import partial
from typing import Final

from xpand.extend import Array, ArrayLike, checks

from .._dispatch import pluggable
from ..arithmetic import check_operands
from ._arguments import real

_LARGEST_ORDER: Final = 30
_CHECK_SQ: Final = partial(check_operands, checks.REAL, ("s", "q"))
_CHECK_AX: Final = partial(check_operands, checks.REAL, ("a", "x"))
_CHECK_AB: Final = partial(check_operands, checks.REAL, ("a", "b"))
_CHECK_ABX: Final = partial(check_operands, checks.REAL, ("a", "b", "x"))


@pluggable
def gammaln(x: Array, /) -> Array:
    """Compute the logarithm of the absolute value of the gamma function.

    Args:
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. Infinite at ±infinity, 0 and negative integers.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    On the positive axis, including the zeros at 1 and 2, accurate to 10 ulps plus 2 ulps of the argument. The negative
    axis has zeros between all integers. There, accurate to 4 ulps of the value or of 1, whichever is larger, plus 2
    ulps of the argument.

    Source: `scipy.special.gammaln`.

    >>> import numpy as np
    >>> gammaln(np.asarray([0.0, 3.0, 5.0, -0.5])).round(6)
    array([     inf, 0.693147, 3.178054, 1.265512])
    """
    real("gammaln", x)
    return gammaln.native(x)(x)


@pluggable
def digamma(x: Array, /) -> Array:
    """Compute the derivative of the gamma function's logarithm.

    Argument, result and errors are as in `gammaln`, except for the values at poles: -infinity at 0, infinity at -0, NaN
    at negative integers and -infinity.

    On the positive axis, accurate to 5 ulps plus 2 ulps of the argument. The negative axis has zeros between all
    integers. There, accurate to 5 ulps of the value or of 1, whichever is larger, plus 3 ulps of the argument.

    Source: `scipy.special.digamma`.

    >>> import numpy as np
    >>> digamma(np.asarray([1.0, 2.0, -0.5, -1.0])).round(6)
    array([-0.577216,  0.422784,  0.03649 ,       nan])
    """
    real("digamma", x)
    return digamma.native(x)(x)


@pluggable
def polygamma(n: int, x: Array, /) -> Array:
    """Compute the n-th derivative of `digamma`.

    Args:
        n: The order, an integer from 0 to 30; not an array. 0: `digamma` itself.
        x: An array of any shape, of a real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. At the poles, 0 and the negative integers: infinity for an odd
        order, and for an even order -infinity, the limit from the right.

    Raises:
        TypeError: `n` is not an integer, or `x` is not an array, or has another data type.
        ValueError: `n` is negative or above 30: factors would overflow in float32.

    For n from 1 to 10 and positive x, accurate to 12 ulps plus 2 ulps of the argument, since the function falls like a
    power. For negative x, accurate to 24 ulps of n! or of π^(n+1), whichever is larger, plus 3 ulps of the argument. A
    value underflows if x^(-n-1), or the value divided by n!, is below the smallest normal number.

    Source: `scipy.special.polygamma`, for one order.

    >>> import numpy as np
    >>> polygamma(1, np.asarray([1.0, 0.5, -0.5])).round(6)
    array([1.644934, 4.934802, 8.934802])
    """
    order = checks.integer("polygamma", "n", n, minimum=0)
    if order > _LARGEST_ORDER:
        raise ValueError(f"polygamma: n must be at most {_LARGEST_ORDER}, got {order}; higher derivatives overflow")
    real("polygamma", x)
    return polygamma.native(x)(order, x)


@pluggable
def zeta(s: ArrayLike, q: ArrayLike = 1.0, /) -> Array:
    """Compute the Hurwitz zeta function, the sum of (k + q)^-s over k = 0, 1, 2, …

    Args:
        s: An array of a real floating-point data type, or a number.
        q: The same; they broadcast. By default: 1, for the Riemann zeta function.

    Returns:
        An array of their common shape and data type. Infinite for s = 1 and for q = 0. NaN for s < 1 and q < 0, where
        the sum does not converge or is not real.

    Raises:
        TypeError: Neither is an array, or data types or libraries don't fit.
        ValueError: Shapes don't broadcast, or arrays are on two devices.

    Accurate to 8 ulps plus 3 ulps of the arguments. Takes ten powers.

    Source: `scipy.special.zeta`.

    >>> import numpy as np
    >>> zeta(np.asarray([2.0, 4.0])).round(6)
    array([1.644934, 1.082323])
    >>> zeta(2.0, np.asarray([1.0, 2.0])).round(6)
    array([1.644934, 0.644934])
    """
    implementation, of_s, of_q = zeta.planned(_CHECK_SQ, (s, q))
    return implementation(of_s(s), of_q(q))


@pluggable
def factorial(x: Array, /) -> Array:
    """Compute the factorial: exactly for integers, and Γ(1 + x) for real numbers.

    Args:
        x: An array of any shape, of an integer or real floating-point data type.

    Returns:
        An array of the shape and data type of `x`. An integer whose factorial overflows (from 21 on in int64) gives the
        largest number of the data type; a real number gives infinity. Negative numbers give 0.

    Raises:
        TypeError: `x` is not an array, or has another data type.

    Accurate to 8 ulps for real numbers. Their derivative overflows from 150 on, in float32 from 30 on.

    Source: `scipy.special.factorial`.

    >>> import numpy as np
    >>> factorial(np.asarray([0, 1, 5, 20, 30, -1]))
    array([                  1,                   1,                 120,
           2432902008176640000, 9223372036854775807,                   0])
    >>> factorial(np.asarray([0.5, 5.0])).round(6)
    array([  0.886227, 120.      ])
    """
    xp = checks.namespace_of("factorial", x=x)
    checks.dtype("factorial", "x", xp, x, checks.REAL_VALUED)
    return factorial.native(x)(x)


@pluggable
def gammainc(a: ArrayLike, x: ArrayLike, /) -> Array:
    r"""Compute the regularized lower incomplete gamma function.

    $$P(a, x) = \frac{1}{\Gamma(a)} \int_0^x t^{a-1} e^{-t} \, dt$$

    Args:
        a: An array of a real floating-point data type, or a number; 0 or above.
        x: The same; they broadcast.

    Returns:
        An array of their common shape and data type, between 0 and 1. If an argument is 0 or infinite, it is the limit.
        NaN if there is no limit (both 0, or both infinite), and for negative arguments.

    Raises:
        TypeError: Neither is an array, or data types or libraries don't fit.
        ValueError: Shapes don't broadcast, or arrays are on two devices.

    Accurate to 40 ulps plus 10 ulps of the arguments, whose rounding matters in the tail. SciPy computes it on NumPy,
    and on PyTorch for concrete values on the CPU without derivatives. In other cases it is an integral of 32
    exponentials, since the functions of PyTorch and JAX are off by up to 6e6 ulps.

    Source: `scipy.special.gammainc`.

    >>> import numpy as np
    >>> gammainc(np.asarray([1.0, 2.0]), 1.0).round(6)
    array([0.632121, 0.264241])
    """
    implementation, of_a, of_x = gammainc.planned(_CHECK_AX, (a, x))
    return implementation(of_a(a), of_x(x))


@pluggable
def gammaincc(a: ArrayLike, x: ArrayLike, /) -> Array:
    """Compute the regularized upper incomplete gamma function, 1 - gammainc(a, x), without cancellation.

    Arguments, result, errors, accuracy and cost are as in `gammainc`.

    Source: `scipy.special.gammaincc`.

    >>> import numpy as np
    >>> gammaincc(np.asarray([1.0, 2.0]), 1.0).round(6)
    array([0.367879, 0.735759])
    """
    implementation, of_a, of_x = gammaincc.planned(_CHECK_AX, (a, x))
    return implementation(of_a(a), of_x(x))


@pluggable
def betaln(a: ArrayLike, b: ArrayLike, /) -> Array:
    """Compute the logarithm of the beta function, log Γ(a) + log Γ(b) - log Γ(a + b), also for large arguments.

    Arguments and errors are as in `gammainc`.

    Returns:
        An array of their common shape and data type. Infinity if an argument is 0, -infinity if one is infinite, NaN if
        both hold or one is negative.

    Accurate to 8 ulps of the value or of 1, whichever is larger.

    Source: `scipy.special.betaln`.

    >>> import numpy as np
    >>> betaln(np.asarray([1.0, 2.0, 1e10]), 2.0).round(6)
    array([ -0.693147,  -1.791759, -46.051702])
    """
    implementation, of_a, of_b = betaln.planned(_CHECK_AB, (a, b))
    return implementation(of_a(a), of_b(b))


@pluggable
def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike, /) -> Array:
    r"""Compute the regularized incomplete beta function.

    $$I_x(a, b) = \frac{1}{B(a, b)} \int_0^x t^{a-1} (1 - t)^{b-1} \, dt$$

    Args:
        a: An array of a real floating-point data type, or a number; 0 or above.
        b: The same.
        x: The same, from 0 to 1; they broadcast.

    Returns:
        An array of their common shape and data type, between 0 and 1. If a parameter is 0 or infinite, it is the limit.
        NaN if there is no limit, and for arguments out of range.

    Raises:
        TypeError: None is an array, or data types or libraries don't fit.
        ValueError: Shapes don't broadcast, or arrays are on two devices.

    Accurate to 32 ulps, plus two ulps of 1, plus 8 ulps of the arguments, whose rounding matters in the tails. On
    NumPy, SciPy computes it; on other libraries it is an integral of 32 exponentials.

    Source: `scipy.special.betainc`.

    >>> import numpy as np
    >>> betainc(np.asarray([1.0, 2.0]), 2.0, 0.25).round(6)
    array([0.4375 , 0.15625])
    """
    implementation, of_a, of_b, of_x = betainc.planned(_CHECK_ABX, (a, b, x))
    return implementation(of_a(a), of_b(b), of_x(x))
