"""The logarithm of the beta function, and the incomplete gamma and beta functions, with the standard alone.

Continued fractions and series need more terms for larger parameters. Integrals do not: the tails of both distributions
are integrals of exp(h(s)), where h is concave and h(0) = 0. Cut off where h is -38, Gauss-Legendre sums of 32 terms are
exact within 1e-15 for all parameters.
"""

import math
from collections.abc import Callable, Iterator
from typing import Final

from xpand import array_namespace, is_concrete
from xpand.extend import Array, Namespace, device_of
from xpand_extensions._dtypes import widened

from ._gamma import gammaln
from ._pieces import HALF_LOG_2PI, exp_minus, log1p_minus, log_gamma_1p, stirling

_DEPTH: Final = 38.0
"""The exponent at which integrals are cut off. The rest is negligible."""


def _gauss_legendre(n: int) -> tuple[tuple[float, float], ...]:
    """Compute nodes and weights on the interval from 0 to 1, by Newton's method from Tricomi's approximation."""
    found = []
    for i in range(n):
        x = math.cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(6):
            before, value = 1.0, x
            for k in range(2, n + 1):
                before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
            slope = n * (x * value - before) / (x * x - 1.0)
            x -= value / slope
        found.append((0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope)))
    return tuple(found)


_STEPS: Final = 5
"""How often the recurrence of the incomplete beta function is applied."""
_NODES: Final = _gauss_legendre(32)
_BLOCK_SIZE: Final = 2**13
"""The size of a block of the integrand. Larger blocks would not stay in the cache."""


def nodes_for(xp: Namespace, end: Array) -> Iterator[tuple[Array, Array]]:
    """Yield nodes between 0 and 1 and their weights, several at once along a first axis, for integrals up to `end`."""
    size = math.prod(end.shape)
    # A compiler fuses all nodes into one loop, and compiles fewer operations faster.
    count = max(1, min(len(_NODES), _BLOCK_SIZE // max(size, 1))) if is_concrete(end) else len(_NODES)
    for first in range(0, len(_NODES), count):
        group = xp.asarray(_NODES[first : first + count], dtype=end.dtype, device=device_of(end))
        nodes, weights = (xp.reshape(group[:, i], (-1, *(1 for _ in end.shape))) for i in range(2))
        yield nodes, weights


def _integral(xp: Namespace, integrand: Callable[[Array], Array], end: Array) -> Array:
    """Integrate a function of arrays elementwise from 0 to `end`."""
    total = xp.zeros_like(end)
    for nodes, weights in nodes_for(xp, end):
        total = total + xp.sum(weights * integrand(nodes * end), axis=0)
    return total * end


def gamma_integrand(xp: Namespace, is_upper: Array, rate: Array, x: Array) -> tuple[Callable[[Array], Array], Array]:
    """Return the integrand of an incomplete gamma function, and the point from which on it is negligible.

    The integrand is exp(h(s)). For the upper tail, h(s) = -rate s - x (exp(s) - 1 - s); for the lower tail,
    h(s) = -rate s - x (exp(-s) - 1 + s).
    """
    one = xp.ones_like(x)
    sign = xp.where(is_upper, one, -one)

    def exponent(s: Array) -> tuple[Array, Array]:
        s_ = sign * s
        expm1 = xp.expm1(s_)
        return -(rate * s + x * exp_minus(xp, s_, expm1)), expm1

    end = 2.0 * _DEPTH / (rate + xp.hypot(rate, xp.sqrt(2.0 * _DEPTH * x)))
    # The first guess is above the end: exp(s) - 1 - s is at least s²/2.
    reach = xp.log1p(end + _DEPTH / xp.where(is_upper, x, one))
    end = xp.where(is_upper, xp.minimum(end, reach), end)
    for _ in range(2):
        h, expm1 = exponent(end)
        end = end + (h + _DEPTH) / (rate + sign * x * expm1)
    return lambda s: xp.exp(exponent(s)[0]), end


# (-1)^k / k! for k = 1, 2, …: the terms of exp(-x) - 1 for x <= 1
_ALTERNATING: Final = tuple((-1.0) ** k / math.factorial(k) for k in range(1, 19))


@widened
def gammainc(a: Array, x: Array, /) -> Array:
    return _incomplete_gamma(a, x, upper=False)


@widened
def gammaincc(a: Array, x: Array, /) -> Array:
    return _incomplete_gamma(a, x, upper=True)


def _incomplete_gamma(a: Array, x: Array, *, upper: bool) -> Array:
    xp = array_namespace(a, x)
    a, x = xp.broadcast_arrays(a, x)
    one = xp.ones_like(x)
    nothing = xp.zeros_like(x)
    ordinary = (a > 0.0) & (x > 0.0) & (a < math.inf) & (x < math.inf)
    is_upper, tail = _gamma_tail(xp, xp.where(ordinary, a, one), xp.where(ordinary, x, one))
    tail = xp.where(is_upper, tail, 1.0 - tail) if upper else xp.where(is_upper, 1.0 - tail, tail)
    below = ((x == 0.0) & (a > 0.0)) | ((a == math.inf) & (x >= 0.0) & (x < math.inf))
    above = ((a == 0.0) & (x > 0.0)) | ((x == math.inf) & (a >= 0.0) & (a < math.inf))
    rise = rise_from_zero(xp, a, xp.where((x == 0.0) & (a > 0.0), x, nothing), 1.0, -0.5, 0.5)
    low, high = (one - rise, nothing) if upper else (rise, one)
    edge = xp.where(below, low, xp.where(above, high, math.nan * one))
    return xp.where(ordinary & ~(below | above), tail, edge)


def rise_from_zero(
    xp: Namespace, order: Array, x: Array, of_one: Array | float, change: Array | float, of_two: Array | float
) -> Array:
    """Return zeros with the first and second derivatives of a function like `x**order` at 0.

    Args:
        xp: The namespace.
        order: The order in x, above 0.
        x: Zeros.
        of_one: The coefficient of x where the order is 1.
        change: The coefficient of x² where the order is 1.
        of_two: The coefficient of x² where the order is 2.
    """
    steep = order < 1.0
    root = xp.sqrt(xp.where(steep, x, xp.ones_like(x)))  # its derivative at 0 is infinite
    square = x * x
    smooth = xp.where(order == 1.0, of_one * x + change * square, xp.where(order == 2.0, of_two * square, 0.0 * x))
    return xp.where(steep, root, smooth)


def _gamma_tail(xp: Namespace, a: Array, x: Array) -> tuple[Array, Array]:
    """Compute the incomplete gamma function above x where x > a, else below x; return also the mask x > a.

    With t = x exp(s), the upper one is x^a exp(-x) / Γ(a) times the integral of exp(a s - x (exp(s) - 1)) over s > 0.
    The lower one is the integral over s < 0, after P(a, x) = P(a + 1, x) + x^a exp(-x) / Γ(a + 1) is applied twice,
    since a may be small.
    """
    is_upper = x > a
    total = _integral(xp, *gamma_integrand(xp, is_upper, xp.where(is_upper, x - a, (a - x) + 2.0), x))
    factor = xp.where(is_upper, a * total, 1.0 + (x / (a + 1.0)) * (1.0 + x * total))
    tail = gamma_density(xp, a, x) * factor
    small, series = _gamma_complement(xp, a, x)
    return is_upper | small, xp.where(small, series, tail)


def _gamma_complement(xp: Namespace, a: Array, x: Array) -> tuple[Array, Array]:
    """Return where the upper function is the smaller one although x may be below a, and its values by a series.

    In this region x < 1, the integrand is flat over a long range, and 1 minus the lower function would cancel.
    """
    one = xp.ones_like(x)
    small = (x < 1.0) & (a < 1.0)
    a, x = xp.where(small, a, 0.25 * one), xp.where(small, x, 0.5 * one)
    log = a * xp.log(x) - log_gamma_1p(a)
    rest = 0.0 * one
    power = one
    for k, coefficient in enumerate(_ALTERNATING, 1):
        power = power * x
        rest = rest + coefficient * power / (a + float(k))
    return small & (log > -0.7), -(xp.expm1(log) + xp.exp(log) * a * rest)


def gamma_density(xp: Namespace, a: Array, x: Array) -> Array:
    """Compute x^a exp(-x) / Γ(a + 1)."""
    one = xp.ones_like(x)
    small = a < 2.0
    a_ = xp.where(small, a, one)
    near = a_ * xp.log(x) - x - log_gamma_1p(a_)
    a_ = xp.where(small, 2.0 * one, a)
    far = a_ * _log_minus(xp, x / a_, (x - a_) / a_) - stirling(a_)
    return xp.exp(xp.where(small, near, far)) / xp.where(small, one, xp.sqrt(2.0 * math.pi * a_))


def _log_minus(xp: Namespace, ratio: Array, change: Array) -> Array:
    """Compute log(ratio) - change without cancellation, given the exact change = ratio - 1."""
    near = (change > -0.5) & (change < 1.0)
    tiny = float(xp.finfo(ratio.dtype).smallest_normal)
    # Use 1 for unselected elements: the second derivative of the logarithm overflows at the smallest number.
    ratio = xp.where(near, xp.ones_like(ratio), xp.where(ratio < tiny, xp.full_like(ratio, tiny), ratio))
    return xp.where(near, log1p_minus(xp, xp.where(near, change, xp.zeros_like(change))), xp.log(ratio) - change)


@widened
def betaln(a: Array, b: Array, /) -> Array:
    xp = array_namespace(a, b)
    a, b = xp.broadcast_arrays(a, b)
    one = xp.ones_like(a)
    ordinary = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    value = _betaln(xp, xp.where(ordinary, a, one), xp.where(ordinary, b, one))
    zero = ((a == 0.0) & (b >= 0.0) & (b < math.inf)) | ((b == 0.0) & (a >= 0.0) & (a < math.inf))
    infinite = ((a == math.inf) & (b > 0.0)) | ((b == math.inf) & (a > 0.0))
    edge = xp.where(infinite, -math.inf * one, xp.where(zero, math.inf * one, math.nan * one))
    return xp.where(ordinary, value, edge)


def _betaln(xp: Namespace, a: Array, b: Array, *, times_low: bool = False) -> Array:
    """Compute log B for positive numbers, without cancellation of large gamma functions.

    If the smaller parameter is below 2, return log(parameter * B), which is near 0 for a small parameter.
    """
    low, high = xp.minimum(a, b), xp.maximum(a, b)
    two = xp.full_like(low, 2.0)
    both, one = low >= 2.0, high >= 2.0
    large = xp.where(one, high, two)
    ratio = low / large
    correction = stirling(large) - stirling(low + large)
    log1p = xp.log1p(ratio)
    low_ = xp.where(both, low, two)
    share = xp.where(both, ratio / (1.0 + ratio), 0.5 * two)
    far = (low_ - 0.5) * xp.log(share) - 0.5 * xp.log(large) - large * log1p + HALF_LOG_2PI + stirling(low_)
    # log Γ(low), minus log Γ(low + high) - log Γ(high)
    low_ = xp.where(both, two, low)
    log_gamma = log_gamma_1p(low_) if times_low else gammaln(low_)
    near = log_gamma - low_ * (xp.log(low_ + large) - 1.0) - (large - 0.5) * log1p
    small = xp.where(one, two, high)
    nearest = log_gamma + gammaln(small) - gammaln(low_ + small)
    return xp.where(one, xp.where(both, far, near) + correction, nearest)


@widened
def betainc(a: Array, b: Array, x: Array, /) -> Array:
    xp = array_namespace(a, b, x)
    a, b, x = xp.broadcast_arrays(a, b, x)
    one, nothing = xp.ones_like(x), xp.zeros_like(x)
    ordinary = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf) & (x > 0.0) & (x < 1.0)
    a_, b_ = xp.where(ordinary, a, one), xp.where(ordinary, b, one)
    x_ = xp.where(ordinary, x, 0.5 * one)
    y_ = 1.0 - x_
    is_lower = b_ * x_ <= a_ * y_
    low, high = xp.where(is_lower, a_, b_), xp.where(is_lower, b_, a_)
    tail = _beta_tail(xp, low, high, xp.where(is_lower, x_, y_), xp.where(is_lower, y_, x_))
    tail = xp.where(is_lower, tail, 1.0 - tail)
    valid = (a >= 0.0) & (b >= 0.0) & (x >= 0.0) & (x <= 1.0)
    to_zero, to_one = (a == 0.0) | (b == math.inf), (b == 0.0) | (a == math.inf)
    valid = valid & ~(to_zero & to_one)
    edge = xp.where((x == 1.0) | (to_zero & (x > 0.0)), one, nothing)
    # The value has derivatives at 0 and 1, too.
    inside = (a > 0.0) & (b > 0.0) & (a < math.inf) & (b < math.inf)
    at_zero, at_one = inside & (x == 0.0), inside & (x == 1.0)
    edge = xp.where(at_zero, _beta_rise(xp, a, b, x, at_zero), edge)
    edge = xp.where(at_one, 1.0 - _beta_rise(xp, b, a, 1.0 - x, at_one), edge)
    return xp.where(ordinary, tail, xp.where(valid, edge, math.nan * one))


def _beta_rise(xp: Namespace, a: Array, b: Array, x: Array, where: Array) -> Array:
    """Return zeros with the derivatives in x of the incomplete beta function at 0, where a condition is True."""
    b, x = xp.where(where, b, xp.ones_like(b)), xp.where(where, x, xp.zeros_like(x))
    return rise_from_zero(xp, a, x, b, -0.5 * b * (b - 1.0), 0.5 * b * (b + 1.0))


def _beta_tail(xp: Namespace, a: Array, b: Array, x: Array, y: Array) -> Array:
    """Compute the incomplete beta function from 0 to x, where x is below the mean and y is 1 - x.

    With t = x / (x + y exp(s)), the function is x^a y^b / B(a, b) times the integral of exp(b s) / (x + y exp(s))^(a+b)
    over s > 0. I(a, b) = I(a + 1, b) + x^a y^b / (a B(a, b)) is applied five times before, because for a small a the
    integrand decays slowly, with poles at a distance of π.
    """
    one = xp.ones_like(x)
    n = a + b + float(_STEPS)
    excess = xp.where(x < 0.5, a - (a + b) * x, (a + b) * y - b)
    rate = excess + float(_STEPS) * y
    # Write the integrand in the smaller of x and y to avoid cancellation.
    sign = xp.where(y <= x, one, -one)
    c = xp.where(y <= x, y, x)  # `minimum` would halve the gradient if both are 1/2

    def exponent(s: Array) -> Array:
        s_ = sign * s
        expm1 = xp.expm1(s_)
        w = c * expm1
        return -(rate * s + n * (log1p_minus(xp, w) + c * exp_minus(xp, s_, expm1)))

    curvature = n * x * y
    end = 2.0 * _DEPTH / (rate + xp.hypot(rate, xp.sqrt(2.0 * _DEPTH * curvature)))
    reach = xp.log1p(end + _DEPTH / (n * y))
    end = xp.minimum(end, reach)
    for _ in range(3):
        end = end + (exponent(end) + _DEPTH) / (n * y / (y + x * xp.exp(-end)) - b)
    total = _integral(xp, lambda s: xp.exp(exponent(s)), end)
    factor, term = one, one
    for k in range(1, _STEPS):
        term = term * (x * ((a + b + (k - 1.0)) / (a + float(k))))
        factor = factor + term
    factor = factor + term * (x * (a + b + (_STEPS - 1.0)) * total)
    tail = beta_density(xp, a, b, x, y, excess) * factor
    small, series = _beta_complement(xp, a, b, y)
    return xp.where(small, series, tail)


def beta_density(xp: Namespace, a: Array, b: Array, x: Array, y: Array, excess: Array) -> Array:
    """Compute x^a y^b / (a B(a, b)). The excess is a - (a + b) x."""
    one = xp.ones_like(x)
    large = (a >= 2.0) & (b >= 2.0)
    a_, b_ = xp.where(large, a, 2.0 * one), xp.where(large, b, 2.0 * one)
    n = a_ + b_
    excess = xp.where(large, excess, 0.0 * one)
    far = a_ * _log_minus(xp, x * (n / a_), -excess / a_) + b_ * _log_minus(xp, y * (n / b_), excess / b_)
    far = far + stirling(n) - stirling(a_) - stirling(b_)
    scale = xp.sqrt(b_ / (a_ * (2.0 * math.pi * n)))
    near = a * _log(xp, x, y) + b * _log(xp, y, x) - _betaln(xp, a, b) - xp.log(a)
    return xp.exp(xp.where(large, far, near)) * xp.where(large, scale, one)


def _log(xp: Namespace, x: Array, y: Array) -> Array:
    """Compute log(x), where y is 1 - x."""
    near = x > 0.5
    return xp.where(near, xp.log1p(xp.where(near, -y, 0.0 * y)), xp.log(x))


def _beta_complement(xp: Namespace, a: Array, b: Array, y: Array) -> tuple[Array, Array]:
    """Return where the integrand is flat, since (a + b) y is small, and 1 - I(b, a) at y by a series."""
    one = xp.ones_like(y)
    small = ((a + b) * y < 1.0) & (y < 0.2)
    a, b, y = xp.where(small, a, one), xp.where(small, b, 0.5 * one), xp.where(small, y, 0.1 * one)
    log = b * xp.log(y) - _betaln(xp, a, b, times_low=True)
    rest = 0.0 * one
    term = one
    for k in range(1, 24):
        term = term * ((float(k) - a) * (y * (1.0 / k)))
        rest = rest + term / (b + float(k))
    return small, -(xp.expm1(log) + xp.exp(log) * b * rest)
