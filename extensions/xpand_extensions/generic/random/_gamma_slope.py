"""How a sample of the gamma distribution moves with its parameter, elementwise, in terms of the standard alone.

A sample x at a fixed probability P(a, x) has the derivative -(dP/da) / (dP/dx). Both parts are integrals over the tail
on one side of x; their quotient is one over s = log(t / x), whose integrand is exp(h(s)) with a concave h that is 0 at
0. As in `special._incomplete`, it is cut off where h is -38, and summed at 32 nodes. All terms of the result have one
sign, so nothing cancels; and there is no loop, so that it has derivatives of any order itself.
"""

import math

from xpand import array_namespace, is_concrete
from xpand.extend import Array, Namespace, device_of
from xpand_extensions._width import widened

from .._rational import rational
from ..special._gamma import TAIL_P, TAIL_Q, digamma
from ..special._incomplete import BLOCK_SIZE, DEPTH, NODES
from ..special._pieces import exp_minus


@widened
def log_gamma_slope(a: Array, x: Array, log_x: Array, /) -> Array:
    """Compute the derivative in `a` of log(x), for a sample x of the gamma distribution, also given as its logarithm.

    NaN where `a` is not positive and finite, or x is not.
    """
    xp = array_namespace(a, x, log_x)
    one, nothing = xp.ones_like(x), xp.zeros_like(x)
    ordinary = (a > 0.0) & (a < math.inf) & (x < math.inf) & (log_x > -math.inf)
    a, x, log_x = xp.where(ordinary, a, one), xp.where(ordinary, x, one), xp.where(ordinary, log_x, nothing)
    # By the tail beyond x; elsewhere by that from 0, for a + 1 since a may be small.
    is_upper = (x > a) & (x > 1.0)
    shape = xp.where(is_upper, a, a + 1.0)
    zeroth, first = _moments(xp, is_upper, xp.where(is_upper, x - a, (a - x) + 1.0), x)
    excess = _log_excess(xp, shape, x, log_x)
    lower = (x * first - excess * (1.0 + x * zeroth)) / a
    return xp.where(ordinary, xp.where(is_upper, excess * zeroth + first, lower), math.nan * one)


def _moments(xp: Namespace, is_upper: Array, rate: Array, x: Array) -> tuple[Array, Array]:
    """Integrate exp(h(s)) and s exp(h(s)), h(s) = -rate s - x (exp(±s) - 1 ∓ s), over s > 0; + for the upper tail."""
    one = xp.ones_like(x)
    sign = xp.where(is_upper, one, -one)

    def exponent(s: Array) -> tuple[Array, Array]:
        s_ = sign * s
        expm1 = xp.expm1(s_)
        return -(rate * s + x * exp_minus(xp, s_, expm1)), expm1

    end = 2.0 * DEPTH / (rate + xp.hypot(rate, xp.sqrt(2.0 * DEPTH * x)))
    end = xp.where(is_upper, xp.minimum(end, xp.log1p(end + DEPTH / xp.where(is_upper, x, one))), end)
    for _ in range(2):
        h, expm1 = exponent(end)
        end = end + (h + DEPTH) / (rate + sign * x * expm1)
    count = max(1, min(len(NODES), BLOCK_SIZE // max(math.prod(x.shape), 1))) if is_concrete(x) else len(NODES)
    options = {"dtype": x.dtype, "device": device_of(x)}
    zeroth, first = xp.zeros_like(x), xp.zeros_like(x)
    for start in range(0, len(NODES), count):
        group = NODES[start : start + count]
        shape = (len(group), *(1 for _ in x.shape))
        nodes = xp.reshape(xp.asarray([node for node, _ in group], **options), shape)
        weights = xp.reshape(xp.asarray([weight for _, weight in group], **options), shape)
        terms = weights * xp.exp(exponent(nodes * end)[0])
        zeroth = zeroth + xp.sum(terms, axis=0)
        first = first + xp.sum(nodes * terms, axis=0)
    return zeroth * end, first * (end * end)


def _log_excess(xp: Namespace, a: Array, x: Array, log_x: Array) -> Array:
    """Compute log(x) - digamma(a); where both are large, from the difference of x and a."""
    one = xp.ones_like(x)
    large = a >= 2.0
    a_ = xp.where(large, a, 2.0 * one)
    change = (x - a_) / a_
    near = xp.abs(change) < 0.5
    w = 1.0 / a_
    log_ratio = xp.where(near, xp.log1p(xp.where(near, change, 0.0 * one)), log_x - xp.log(a_))
    far = log_ratio + 0.5 * w + w * w * rational(w * w, TAIL_P, TAIL_Q)
    return xp.where(large, far, log_x - digamma(xp.where(large, one, a)))
