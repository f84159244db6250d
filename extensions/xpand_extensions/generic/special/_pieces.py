"""Building blocks of the gamma family: smooth functions that are evaluated for all arguments.

The rational functions were fitted with mpmath: they equal the function at the Chebyshev points of the interval, and are
within 1e-16 of it in between.
"""

import math
from collections.abc import Sequence
from typing import Final

from xpand.extend import Array, Namespace

HALF_LOG_2PI: Final = 0.9189385332046728

_LOG_GAMMA_P: Final = (
    0.5772156649015329,
    1.6573859915112124,
    1.8195310986608273,
    0.9583772627767942,
    0.2489515203019172,
    0.02934996892711011,
    0.0012144645025018563,
    5.152191194029259e-06,
    -3.4387534246231254e-08,
)
_LOG_GAMMA_Q: Final = (
    1.0,
    3.2962330645658335,
    4.283498617926743,
    2.7922148253073,
    0.961953097690663,
    0.1693844804533058,
    0.013462840310043222,
    0.00034666036878764635,
)
_STIRLING_P: Final = (
    0.08333333333333333,
    1.3715278566773774,
    7.158408358277305,
    14.432637909399135,
    10.930874253734274,
    2.5119339429288337,
    0.08376908059930067,
)
_STIRLING_Q: Final = (
    1.0,
    16.491667613461775,
    86.4410987436071,
    175.9231042247752,
    136.31904270392516,
    33.48557654067973,
    1.5092854600251153,
)
_ATANH_P: Final = (
    0.3333333333333333,
    -0.5823847037963771,
    0.30538124201553685,
    -0.046039117851666256,
    0.00026342542965778864,
)
_ATANH_Q: Final = (1.0, -2.347154111389131, 1.8958647643086135, -0.6030463548738926, 0.05976204967307252)
# (exp(s) - 1 - s) / s**2, by its Taylor series
_EXP: Final = tuple(1 / math.factorial(k) for k in range(2, 13))


def log_gamma_1p(d: Array) -> Array:
    """Compute log Γ(1 + d) for 0 <= d <= 2, to full relative accuracy at its zeros 0 and 1."""
    return d * (d - 1.0) * rational(d, _LOG_GAMMA_P, _LOG_GAMMA_Q)


def stirling(z: Array) -> Array:
    """Compute the error of Stirling's formula for z >= 2: log Γ(z) - (z - 1/2) log z + z - log(2π)/2."""
    w = 1.0 / z
    return w * rational(w * w, _STIRLING_P, _STIRLING_Q)


def log1p_minus(xp: Namespace, x: Array) -> Array:
    """Compute log(1 + x) - x for x > -1 without cancellation."""
    near = (x > -0.5) & (x < 1.0)
    inner = xp.where(near, x, xp.zeros_like(x))
    # log(1 + x) = 2 atanh(z) and x = 2 z / (1 - z); the difference starts with -x z.
    z = inner / (inner + 2.0)
    square = z * z
    series = 2.0 * z * square * rational(square, _ATANH_P, _ATANH_Q) - inner * z
    outer = xp.where(near, xp.ones_like(x), x)
    return xp.where(near, series, xp.log1p(outer) - outer)


def exp_minus(xp: Namespace, s: Array, expm1: Array) -> Array:
    """Compute exp(s) - 1 - s without cancellation, from exp(s) - 1."""
    near = (s > -0.3) & (s < 0.3)
    inner = xp.where(near, s, xp.zeros_like(s))
    return xp.where(near, inner * inner * polynomial(inner, _EXP), expm1 - s)


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Evaluate a polynomial by Horner's rule, with coefficients from the constant on.

    Recursion leaves intermediate results without names, so NumPy computes all steps in place.
    """
    if len(coefficients) == 2:
        return coefficients[1] * x + coefficients[0]
    return polynomial(x, coefficients[1:]) * x + coefficients[0]


def rational(x: Array, numerator: Sequence[float], denominator: Sequence[float]) -> Array:
    """Evaluate the quotient of two polynomials, with coefficients from the constant on."""
    return polynomial(x, numerator) / polynomial(x, denominator)
