"""The error function and its relatives with the standard alone: rational functions on ranges, selected by `where`.

The rational functions interpolate true values, computed to 45 digits, at Chebyshev points. Relative errors are up to
6e-17. Each function replaces arguments outside of its range by safe values, so nothing overflows and derivatives stay
finite.
"""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, Namespace
from xpand_extensions._dtypes import widened

from ._pieces import rational

# erf(x)/x for |x| < 1, in x².
_ERF_NUMERATOR: Final = (
    1.1283791670955126,
    0.14365581715028763,
    0.0455033341653278,
    0.0018829155471563983,
    0.00019709588069752516,
    8.625602445726376e-08,
)
_ERF_DENOMINATOR: Final = (
    1.0,
    0.46064498648983654,
    0.0938746087651241,
    0.010705251871973175,
    0.0006937362332349159,
    2.0866484101019162e-05,
)

# (x + 2) exp(x²) erfc(x) for x >= 1/2, in 1/(x + 2).
_ERFCX_NUMERATOR: Final = (
    0.5641895835477563,
    0.32582692612786296,
    11.238722916106514,
    11.738092721332682,
    82.11136167069192,
    110.5432950868661,
    299.9003304203509,
    401.8908037893806,
    567.6819098669977,
    536.5207343091116,
    329.2562008194827,
)
_ERFCX_DENOMINATOR: Final = (
    1.0,
    -1.4224868100559354,
    19.26509133201507,
    -17.74625118119069,
    115.96571583716849,
    -62.955302657082456,
    260.9757654647595,
    -69.23750200306972,
    203.24301938590173,
    -16.76694777312319,
    37.1895101171694,
)

# y/x for y = erf⁻¹(x) and w < 3, in w = -log(1 - x²).
_CENTER_NUMERATOR: Final = (
    0.886226925452758,
    0.3180394251674907,
    0.07789305094360506,
    0.013292390374784246,
    0.0016279147545561492,
    0.00014349878784264273,
    8.417575015440954e-06,
    2.5370267955354035e-07,
)
_CENTER_DENOMINATOR: Final = (
    1.0,
    0.09706967387487848,
    0.04944807780234251,
    0.003423244351920868,
    0.0006965409757310331,
    2.667432759526647e-05,
    2.2169884067625857e-06,
    8.685611699897358e-09,
)

# y/√s for y = erfc⁻¹(exp(-s)) and 3.6 <= s <= 746, in log(s).
_TAIL_NUMERATOR: Final = (
    0.6367161223793399,
    0.20096851642307575,
    0.11503003826766364,
    0.026467517506841707,
    0.0071143390505569535,
    0.0014334941061011337,
    0.00022962384464528083,
    3.149605102023595e-05,
    1.863344437790214e-06,
    4.5749712968711956e-07,
    -9.095630482046605e-09,
    2.2317481638531284e-09,
)
_TAIL_DENOMINATOR: Final = (
    1.0,
    0.04761567681660362,
    0.187779167662751,
    0.004092285031939558,
    0.01276099445235372,
    0.00036104392340180697,
    0.0003700627995178992,
    1.8999636597305505e-05,
    2.6149729317018787e-06,
    4.278938252088941e-07,
    -8.399567887890731e-09,
    2.2242821674827203e-09,
)

_ROOT_HALF: Final = math.sqrt(0.5)
_ROOT_TWO: Final = math.sqrt(2.0)


@widened
def erf(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    # A tail that is subtracted from 1 need not be exact to its last digit.
    b = xp.where((a >= 1.0) & (a <= 30.0), a, 30.0)
    tail = xp.exp(-(b * b)) * erfcx(b)
    return xp.where(a >= 1.0, xp.sign(x) * (1.0 - tail), _center(xp.where(a >= 1.0, 0.0, x)))


@widened
def erfc(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    b = xp.where((a >= 0.5) & (a <= 30.0), a, 30.0)  # exp(-x²) is 0 from 30 on
    tail = _gauss(xp, b, 1.0) * erfcx(b)
    near = 1.0 - _center(xp.where(a >= 0.5, 0.0, x))
    return xp.where(a >= 0.5, xp.where(x > 0.0, tail, 2.0 - tail), near)


@widened
def ndtr(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    tail = _upper_tail(xp, xp.where((a >= 0.75) & (a <= 40.0), a, 40.0))
    near = 0.5 + 0.5 * _center(xp.where(a >= 0.75, 0.0, x) * _ROOT_HALF)
    return xp.where(a >= 0.75, xp.where(x < 0.0, tail, 1.0 - tail), near)


@widened
def log_ndtr(x: Array, /) -> Array:
    xp = array_namespace(x)
    a = xp.abs(x)
    far = a >= 0.75
    near = xp.log(0.5 + 0.5 * _center(xp.where(far, 0.0, x) * _ROOT_HALF))
    above = xp.log1p(-_upper_tail(xp, xp.where((x >= 0.75) & (x <= 40.0), x, 40.0)))
    upper = xp.where(far, above, near)
    # Below, add the logarithms of the factors of the tail. x² overflows beyond the root of the largest number.
    finite = (x <= -0.75) & (a < math.sqrt(float(xp.finfo(x.dtype).max)))
    b = xp.where(finite, a, 1.0)
    lower = xp.log(0.5 * erfcx(b * _ROOT_HALF)) - 0.5 * b * b
    return xp.where(x <= -0.75, xp.where(finite, lower, -xp.inf), upper)


@widened
def erfinv(x: Array, /) -> Array:
    xp = array_namespace(x)
    return _inverse(xp, x, 1.0 - xp.abs(x))


@widened
def erfcinv(x: Array, /) -> Array:
    xp = array_namespace(x)
    return _inverse(xp, 1.0 - x, xp.where(x < 1.0, x, 2.0 - x))


@widened
def ndtri(x: Array, /) -> Array:
    xp = array_namespace(x)
    p = xp.where((x >= 0.0) & (x <= 1.0), x, xp.nan)
    return _ROOT_TWO * _inverse(xp, 2.0 * p - 1.0, 2.0 * xp.where(p < 0.5, p, 1.0 - p))


def _center(x: Array) -> Array:
    """Compute erf(x) for |x| < 1."""
    return x * rational(x * x, _ERF_NUMERATOR, _ERF_DENOMINATOR)


def erfcx(x: Array) -> Array:
    """Compute exp(x²) erfc(x) for x >= 1/2."""
    u = 1.0 / (x + 2.0)
    return u * rational(u, _ERFCX_NUMERATOR, _ERFCX_DENOMINATOR)


def _gauss(xp: Namespace, x: Array, factor: float) -> Array:
    """Compute exp(-factor x²) for |x| <= 40 and a factor of 1 or 1/2, without the rounding of x².

    The square of `x` rounded to sixteenths is exact; the remainder is small.
    """
    y = xp.round(x * 16.0) * 0.0625
    return xp.exp(-factor * (y * y)) * xp.exp(-factor * ((x - y) * (x + y)))


def _upper_tail(xp: Namespace, x: Array) -> Array:
    """Compute ndtr(-x) for 0.75 <= x <= 40."""
    return 0.5 * _gauss(xp, x, 0.5) * erfcx(x * _ROOT_HALF)


def _inverse(xp: Namespace, x: Array, c: Array) -> Array:
    """Compute erf⁻¹(x). The argument c = 1 - |x| is exact even if |x| is near 1."""
    inside = c > 0.0
    c_inside = xp.where(inside, c, 1.0)
    w = -xp.log(c_inside * (2.0 - c_inside))
    central = w < 3.0
    near = x * rational(xp.where(central, w, 0.0), _CENTER_NUMERATOR, _CENTER_DENOMINATOR)
    s = -xp.log(xp.where(central, math.exp(-4.0), c_inside))
    far = xp.sqrt(s) * rational(xp.log(s), _TAIL_NUMERATOR, _TAIL_DENOMINATOR)
    nan = xp.full_like(x, xp.nan)
    end = xp.where(c == 0.0, xp.where(x > 0.0, xp.inf, xp.where(x < 0.0, -xp.inf, nan)), nan)
    return xp.where(inside, xp.where(central, near, xp.where(x > 0.0, far, -far)), end)
