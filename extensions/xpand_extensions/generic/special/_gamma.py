"""The logarithm of the gamma function, its derivatives, factorials and zeta, with the standard alone."""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import LibraryArray as Array, Namespace
from xpand_extensions._dtypes import widened

from ._pieces import HALF_LOG_2PI, log_gamma_1p, polynomial, rational, stirling

# The positive zero of the digamma function minus one, in two parts. The first part is exact in the data type.
ROOT: Final = (0.46163214496836236, -1.5522348162858677e-17)
ROOT_SINGLE: Final = (0.4616321325302124, 1.2438149938918909e-08)
# digamma(1 + d) / (d - zero) for 0 <= d <= 2, and z² (log z - 1/(2z) - digamma(z)) in 1/z² for z >= 2.
_DIGAMMA_P: Final = (
    1.2503801375034054,
    1.8998845370478825,
    1.0164566510246777,
    0.2374725594485366,
    0.0238414069598138,
    0.000818874142960514,
    2.5009024312418424e-06,
    -1.578585859621291e-08,
)
_DIGAMMA_Q: Final = (
    1.0,
    2.2029923661052755,
    1.7169749127558187,
    0.6092694909208878,
    0.10266883844857362,
    0.007561224327355051,
    0.00017933601981804436,
)
TAIL_P: Final = (
    0.08333333333333326,
    1.5265158318013932,
    8.969259726573686,
    20.64281735189045,
    18.136513112569652,
    4.9017207658015405,
    0.18481485600197364,
)
TAIL_Q: Final = (
    1.0,
    18.418189981615505,
    109.42531666972745,
    257.82928319218325,
    239.04035861185372,
    74.49702297826968,
    4.8924342052212015,
)
# B_2j / (2j)! for j = 1, 2, …
_EULER_MACLAURIN: Final = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
    43867 / 5109094217170944000,
)
_DIRECT: Final = 10
"""The number of terms of a zeta series that are summed directly."""


@widened
def gammaln(x: Array, /) -> Array:
    xp = array_namespace(x)
    negative, size, rest, pole = _reflected(xp, x)
    one, nothing = xp.ones_like(x), xp.zeros_like(x)
    below_one = size < 1.0
    d = xp.where(negative | below_one, size, size - 1.0)
    small = d < 2.0
    over = size > (2.5599833278516384e305 if x.dtype == xp.float64 else 4.0850032455684346e36)
    z = xp.where(small | over, 3.0 * one, size)
    log = xp.log(z)
    large = (z - 0.5) * (log - 1.0) + (HALF_LOG_2PI - 0.5) + stirling(z) + xp.where(negative, log, nothing)
    value = xp.where(small, log_gamma_1p(xp.where(small, d, nothing)), large)
    # Γ(x) = Γ(1 + x) / x, and Γ(-z) = -π / (sin(πz) Γ(1 + z)).
    factor = xp.where(negative, xp.sin(math.pi * xp.abs(rest)), xp.where(below_one, size, one))
    value = xp.where(negative, math.log(math.pi) - value, value) - xp.log(factor)
    # `_reflected` would treat points next to 0 as poles, which is wrong here.
    tiny = pole & (x != 0.0) & (xp.abs(x) < 1.0)
    value = xp.where(tiny, -xp.log(xp.where(tiny, xp.abs(x), one)), value)
    return xp.where((pole & ~tiny) | over, math.inf * one, value)


@widened
def digamma(x: Array, /) -> Array:
    xp = array_namespace(x)
    negative, size, rest, pole = _reflected(xp, x)
    one, nothing = xp.ones_like(x), xp.zeros_like(x)
    below_one = ~negative & (size < 1.0)
    d = xp.where(negative | below_one, size, size - 1.0)
    small = d < 2.0
    d = xp.where(small, d, nothing)
    ratio = rational(d, _DIGAMMA_P, _DIGAMMA_Q)
    root = ROOT if x.dtype == xp.float64 else ROOT_SINGLE
    # Compilers would turn (d - root[0]) - root[1] into one subtraction of the sum.
    near = (d - root[0]) * ratio - root[1] * ratio
    z = xp.where(small, 3.0 * one, size)
    w = 1.0 / z
    far = xp.log(z) + xp.where(negative, 0.5 * w, -0.5 * w) - w * w * rational(w * w, TAIL_P, TAIL_Q)
    # ψ(x) = ψ(1 + x) - 1/x, and ψ(-z) = ψ(1 + z) + π cot(πz).
    cotangent = math.pi * xp.cos(math.pi * rest) / xp.sin(math.pi * rest)
    reciprocal = 1.0 / xp.where(below_one, size, one)
    value = xp.where(small, near, far)
    value = xp.where(negative, value - cotangent, xp.where(below_one, value - reciprocal, value))
    edge = xp.where(xp.abs(x) < 1.0, xp.copysign(math.inf * one, -x), math.nan * one)
    return xp.where(pole, edge, value)


def _reflected(xp: Namespace, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return a mask of negative x, |x|, x minus the nearest integer for negative x, and a mask of poles.

    Poles are 0, the negative integers, -∞, and numbers so near 0 that 1/x overflows. To keep results finite, |x| is
    replaced by 3 at poles, and the difference by 1/2 off the negative axis.
    """
    size = xp.abs(x)
    one = xp.ones_like(x)
    finite = xp.where(size < math.inf, x, one)
    rest = finite - xp.round(finite)
    pole = (size <= 1.0 / float(xp.finfo(x.dtype).max)) | ((x < 0.0) & ((rest == 0.0) | (size == math.inf)))
    negative = (x < 0.0) & ~pole
    return negative, xp.where(pole, 3.0 * one, size), xp.where(negative, rest, 0.5 * one), pole


def polygamma(n: int, x: Array, /) -> Array:
    return digamma(x) if n == 0 else _polygamma(n, x)


@widened
def _polygamma(n: int, x: Array, /) -> Array:
    xp = array_namespace(x)
    negative, _, rest, _ = _reflected(xp, x)
    one = xp.ones_like(x)
    # Closer to a pole, the value overflows.
    scale = float(math.factorial(n))
    nearest = (scale / float(xp.finfo(x.dtype).max)) ** (1 / (n + 1))
    infinite = (xp.abs(rest) <= nearest) | (xp.abs(x) <= nearest) | ((x < 0.0) & ~negative)
    rest = xp.where(infinite, 0.5 * one, rest)
    sign = 1.0 if n % 2 else -1.0
    z = xp.where(infinite, one, xp.where(negative, 1.0 - x, x))
    value = sign * scale * zeta(xp.full_like(x, float(n + 1)), z)
    # The n-th derivative of π cot(πx) is a polynomial in the cotangent.
    cotangent = xp.cos(math.pi * rest) / xp.sin(math.pi * rest)
    derivative = math.pi ** (n + 1) * polynomial(cotangent, _cotangent_derivative(n))
    value = xp.where(negative, -derivative - sign * value, value)
    edge = xp.where(x == -math.inf, math.nan * one, sign * math.inf * one)
    return xp.where(infinite, edge, value)


def _cotangent_derivative(n: int) -> tuple[float, ...]:
    """Return the coefficients of the n-th derivative of c = cot(x) as a polynomial in c: p becomes -(1 + c²) p'."""
    coefficients = [0, 1]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(coefficients)][1:]
        coefficients = [-(a + b) for a, b in zip([*slope, 0, 0], [0, 0, *slope])]
    return tuple(map(float, coefficients))


@widened
def zeta(s: Array, q: Array = 1.0, /) -> Array:
    """Sum the first terms directly, and the rest by the Euler-Maclaurin formula."""
    xp = array_namespace(s, q)
    s, q = xp.broadcast_arrays(s, q)
    one = xp.ones_like(s)
    ordinary = (s > 1.0) & (q > 0.0) & (s < math.inf) & (q < math.inf)
    s_ = xp.where(ordinary, s, 2.0 * one)
    q_ = xp.where(ordinary, q, one)
    overflows = -s_ * xp.log(q_) >= math.log(xp.finfo(q.dtype).max)
    q_ = xp.where(overflows, one, q_)
    total = q_**-s_
    for k in range(1, _DIRECT):
        total = total + (q_ + float(k)) ** -s_
    w = q_ + float(_DIRECT)
    # If s is far greater than w, omit the rest: it is negligible, and the formula would overflow.
    r = xp.minimum(s_, 20.0 * w)
    v = 1.0 / w
    rest = 0.0 * one
    for j in range(len(_EULER_MACLAURIN) - 1, 0, -1):
        rest = (rest + _EULER_MACLAURIN[j]) * ((r + (2.0 * j - 1.0)) * v) * ((r + 2.0 * j) * v)
    rest = (rest + _EULER_MACLAURIN[0]) * (r * v)
    total = total + w ** (1.0 - s_) * (1.0 / (s_ - 1.0) + v * (0.5 + rest))
    infinite = (s == 1.0) & (q >= 0.0) | (q == 0.0) & (s > 1.0) | overflows & ordinary
    limit = xp.where(
        (q > 0.0) & (s > 1.0),
        xp.where(s == math.inf, xp.where(q < 1.0, math.inf * one, xp.where(q == 1.0, one, 0.0 * one)), 0.0 * one),
        math.nan * one,
    )
    return xp.where(infinite, math.inf * one, xp.where(ordinary, total, limit))


def factorial(x: Array, /) -> Array:
    xp = array_namespace(x)
    return _of_real(x) if xp.isdtype(x.dtype, "real floating") else _of_integers(xp, x)


def factorials(largest: int) -> list[int]:
    """List 0!, 1!, …, with `largest` in place of all larger factorials."""
    table = [1]
    while table[-1] * len(table) <= largest:
        table.append(table[-1] * len(table))
    return [*table, largest]


def _of_integers(xp: Namespace, x: Array) -> Array:
    table = factorials(int(xp.iinfo(x.dtype).max))
    result = xp.where(x < 0, xp.zeros_like(x), xp.ones_like(x))
    for k in range(2, len(table)):
        result = xp.where(x >= k, xp.full_like(x, table[k]), result)
    return result


@widened
def _of_real(x: Array, /) -> Array:
    """Compute Γ(1 + x) from x, since the rounding of 1 + x would matter where Γ is steep."""
    xp = array_namespace(x)
    one = xp.ones_like(x)
    small = x < 2.0
    over = x > (170.62437695630272 if x.dtype == xp.float64 else 34.040098403112818)
    d = xp.where(small & (x >= 0.0), x, 0.0 * one)
    z = xp.where(small | over, 2.0 * one, x)
    # Compute z^z exp(-z) as a square, since z^z overflows long before the factorial does.
    root = z ** (0.5 * z) * xp.exp(-0.5 * z)
    large = root * (root * (xp.sqrt(z) * (math.sqrt(2 * math.pi) * xp.exp(stirling(z)))))
    value = xp.where(small, xp.exp(log_gamma_1p(d)), large)
    return xp.where(x < 0.0, 0.0 * one, xp.where(over, math.inf * one, value))
