"""The logistic function and related functions with the standard alone.

Elements outside of a formula's domain are replaced by safe values, and their results are not used. So nothing
overflows, and derivatives stay finite.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions._dtypes import widened

from ._pieces import polynomial


@widened
def sigmoid(x: Array, /) -> Array:
    xp = array_namespace(x)
    e = xp.exp(_minus_abs(xp, x))
    return xp.where(x < 0.0, e, 1.0) / (1.0 + e)


expit = sigmoid


@widened
def log_sigmoid(x: Array, /) -> Array:
    xp = array_namespace(x)
    return xp.where(x < 0.0, x, 0.0) - xp.log1p(xp.exp(_minus_abs(xp, x)))


@widened
def softplus(x: Array, /) -> Array:
    xp = array_namespace(x)
    return xp.where(x < 0.0, 0.0, x) + xp.log1p(xp.exp(_minus_abs(xp, x)))


@widened
def logit(x: Array, /) -> Array:
    xp = array_namespace(x)
    inside = (x > 0.0) & (x < 1.0)
    # Avoid cancellation near the zero at 1/2.
    near = (x > 0.25) & (x < 0.75)
    y = xp.where(inside & ~near, x, 0.5)
    middle = 2.0 * xp.atanh(2.0 * xp.where(near, x, 0.5) - 1.0)
    end = xp.where(x == 0.0, -xp.inf, xp.where(x == 1.0, xp.inf, xp.full_like(x, xp.nan)))
    return xp.where(near, middle, xp.where(inside, xp.log(y / (1.0 - y)), end))


@widened
def logsumexp(x: Array, /, *, axis: Any = None, keepdims: bool = False, b: Array | None = None) -> Array:
    xp = array_namespace(x)
    if b is not None:
        x, b = xp.broadcast_arrays(x, b)
        x = xp.where(b == 0.0, -xp.inf, x)
    if 0 in (x.shape[k] for k in axis):
        return xp.sum(x, axis=axis, keepdims=keepdims) - xp.inf
    largest = xp.max(x, axis=axis, keepdims=True) if axis else x
    infinite = largest == xp.inf
    shifted = xp.where(infinite, 0.0, x) - xp.where(xp.isinf(largest), 0.0, largest)
    terms = xp.where(infinite, xp.astype(x == xp.inf, x.dtype), xp.exp(shifted))
    if b is not None:
        terms = terms * b
    total = xp.sum(terms, axis=axis, keepdims=True) if axis else terms
    # If the sum is 0, the maximum is -infinity, or the finite maximum of terms that cancel.
    logs = xp.log(xp.where(total > 0.0, total, 1.0)) + xp.where(largest == -xp.inf, 0.0, largest)
    nan = xp.full_like(total, xp.nan)
    result = xp.where(total > 0.0, logs, xp.where((total == 0.0) & ~infinite, -xp.inf, nan))
    return result if keepdims else xp.squeeze(result, axis=axis)


@widened
def softmax(x: Array, /, *, axis: int = -1) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return xp.asarray(x, copy=True)
    finite, shifted = _shifted(xp, x, axis)
    e = xp.exp(shifted)
    return e / xp.where(finite, xp.sum(e, axis=axis, keepdims=True), xp.nan)


@widened
def log_softmax(x: Array, /, *, axis: int = -1) -> Array:
    xp = array_namespace(x)
    if 0 in x.shape:
        return xp.asarray(x, copy=True)
    finite, shifted = _shifted(xp, x, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    return shifted - xp.where(finite, xp.log(total), xp.nan)


@widened
def xlogy(x: Array, y: Array, /) -> Array:
    return _product(x, y, 0.0, lambda xp, y: xp.log(y))


@widened
def xlog1py(x: Array, y: Array, /) -> Array:
    return _product(x, y, -1.0, lambda xp, y: xp.log1p(y))


@widened
def entr(x: Array, /) -> Array:
    xp = array_namespace(x)
    y = xp.where(x > 0.0, x, 1.0)
    end = xp.where(x == 0.0, 0.0, xp.where(x < 0.0, -xp.inf, x))
    return xp.where(x > 0.0, -y * xp.log(y), end)


def _minus_abs(xp: Namespace, x: Array) -> Array:
    """Return -|x|, with a one-sided derivative at 0."""
    return xp.where(x < 0.0, x, -x)


def _shifted(xp: Namespace, x: Array, axis: int) -> tuple[Array, Array]:
    """Subtract the maximum along an axis; return also where it is finite."""
    largest = xp.max(x, axis=axis, keepdims=True)
    finite = xp.isfinite(largest)
    return finite, xp.where(finite, x - xp.where(finite, largest, 0.0), 0.0)


def _product(x: Array, y: Array, least: float, logarithm: Callable[[Namespace, Array], Array]) -> Array:
    """Compute x logarithm(y), or 0 where x is 0. The logarithm is -infinity at `least` and NaN below."""
    xp = array_namespace(x, y)
    finite = (y > least) & (y < xp.inf)
    # Return -infinity. The square root adds the infinite derivative of the logarithm.
    bottom = (y == least) & (x != 0.0)
    lowest = xp.sqrt(xp.where(bottom, y - least, 1.0)) - xp.inf
    end = xp.where(y == least, lowest, xp.where(y > least, xp.inf, xp.full_like(y, xp.nan)))
    logs = xp.where(finite, logarithm(xp, xp.where(finite, y, 1.0)), end)
    # If x is 0 and y is finite, the product is 0 already, with the right derivative.
    zero = (x == 0.0) & ~finite
    return xp.where(zero & ~xp.isnan(y), 0.0, x * xp.where(zero & ~xp.isnan(y), 0.0, logs))


# sin(πx)/(πx) in x², to 1e-18 for |x| <= 1/4.
_SINC: Final = tuple((-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k + 1) for k in range(10))


@widened
def sinc(x: Array, /) -> Array:
    xp = array_namespace(x)
    near = xp.abs(x) < 0.25
    series = polynomial(xp.where(near, x, 0.0) ** 2, _SINC)
    # Compute sin(πx) from the fraction of x, exactly for large x. Only its sign matters.
    y = xp.where(near | xp.isinf(x), 1.0, x)
    whole = xp.round(y)
    sign = 1.0 - 2.0 * (whole - 2.0 * xp.floor(0.5 * whole))
    far = sign * xp.sin(math.pi * (y - whole)) / math.pi / y
    return xp.where(near, series, far)


@widened
def cbrt(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    ordinary = (a > 0.0) & (a < xp.inf)
    a = xp.where(ordinary, a, 1.0)
    y = a ** (1.0 / 3.0)
    y = y - (y - a / (y * y)) / 3.0  # a Newton step, since the rounding of 1/3 matters for large exponents
    y = xp.where(x < 0.0, -y, y)
    # The square root has an infinite derivative at 0, too.
    zero = xp.sqrt(xp.where(x == 0.0, x, 1.0))
    infinite = xp.where(x > 0.0, xp.inf, xp.where(x < 0.0, -xp.inf, xp.full_like(x, xp.nan)))
    end = xp.where(x == 0.0, zero, infinite)
    return xp.where(ordinary, y, end)


@widened
def rsqrt(x: Array, /) -> Array:
    xp = array_namespace(x)
    positive = x > 0.0
    end = xp.where(x == 0.0, xp.copysign(xp.full_like(x, xp.inf), x), xp.full_like(x, xp.nan))
    return xp.where(positive, 1.0 / xp.sqrt(xp.where(positive, x, 1.0)), end)


@widened
def exp2(x: Array, /) -> Array:
    xp = array_namespace(x)
    return xp.pow(xp.asarray(2.0, dtype=x.dtype, device=checks.device_of(x)), x)
