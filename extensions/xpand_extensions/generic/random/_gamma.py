"""The gamma distribution, and distributions derived from it, for any library.

Functions take keys of shape (…, 2), one for each element, and run all elements together.

`log_gamma_slope` is the derivative of a sample in the parameter of the distribution.

A sample x at a fixed probability P(a, x) has the derivative -(dP/da) / (dP/dx). Both parts are integrals over the tail
on one side of x. Their quotient is an integral over s = log(t / x) of exp(h(s)), where h is concave and h(0) = 0. As in
`special._incomplete`, the integral is cut off where h is -38, and summed at 32 nodes. All terms have the same sign, so
nothing cancels. There is no loop, so the result has derivatives of any order.
"""

import math
from functools import partial
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace
from xpand_extensions._dtypes import widened

from ... import autodiff, control_flow, special
from ...random._gamma import gamma_elements as gamma_elements_, loggamma as loggamma_
from ...random._keys import split, split_each
from ...random._uniform import normal, rademacher
from ..special._gamma import TAIL_P, TAIL_Q, digamma
from ..special._incomplete import gamma_integrand, nodes_for
from ..special._pieces import rational
from . import _keys as elements


@widened
def log_gamma_slope(a: Array, x: Array, log_x: Array, /) -> Array:
    """Compute the derivative in `a` of log(x), for a sample x of the gamma distribution.

    The result is NaN where `a` or x is not positive and finite.
    """
    xp = array_namespace(a, x, log_x)
    one, nothing = xp.ones_like(x), xp.zeros_like(x)
    ordinary = (a > 0.0) & (a < math.inf) & (x < math.inf) & (log_x > -math.inf)
    a, x, log_x = xp.where(ordinary, a, one), xp.where(ordinary, x, one), xp.where(ordinary, log_x, nothing)
    # Integrate the tail above x, or the tail below x for a + 1, since a may be small.
    is_upper = (x > a) & (x > 1.0)
    shape = xp.where(is_upper, a, a + 1.0)
    zeroth, first = _moments(xp, is_upper, xp.where(is_upper, x - a, (a - x) + 1.0), x)
    excess = _log_excess(xp, shape, x, log_x)
    lower = (x * first - excess * (1.0 + x * zeroth)) / a
    return xp.where(ordinary, xp.where(is_upper, excess * zeroth + first, lower), math.nan * one)


def _moments(xp: Namespace, is_upper: Array, rate: Array, x: Array) -> tuple[Array, Array]:
    """Integrate the integrand of the tail, and s times it, over s > 0."""
    integrand, end = gamma_integrand(xp, is_upper, rate, x)
    zeroth, first = xp.zeros_like(x), xp.zeros_like(x)
    for nodes, weights in nodes_for(xp, end):
        terms = weights * integrand(nodes * end)
        zeroth = zeroth + xp.sum(terms, axis=0)
        first = first + xp.sum(nodes * terms, axis=0)
    return zeroth * end, first * (end * end)


def _log_excess(xp: Namespace, a: Array, x: Array, log_x: Array) -> Array:
    """Compute log(x) - digamma(a). Where both are large, use the difference of x and a."""
    one = xp.ones_like(x)
    large = a >= 2.0
    a_ = xp.where(large, a, 2.0 * one)
    change = (x - a_) / a_
    near = xp.abs(change) < 0.5
    w = 1.0 / a_
    log_ratio = xp.where(near, xp.log1p(xp.where(near, change, 0.0 * one)), log_x - xp.log(a_))
    far = log_ratio + 0.5 * w + w * w * rational(w * w, TAIL_P, TAIL_Q)
    return xp.where(large, far, log_x - digamma(xp.where(large, one, a)))


def gamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return _samples(key, a, shape, log_space=False)


def loggamma(key: Array, /, a: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return _samples(key, a, shape, log_space=True)


def _samples(key: Array, a: Array, shape: tuple[int, ...], *, log_space: bool) -> Array:
    xp = array_namespace(key, a)
    return _elements(log_space, split(key, shape), xp.broadcast_to(a, shape))


def beta(key: Array, /, a: Array, b: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, a, b)
    keys = split(key)
    log_a = loggamma_(keys[0, ...], a, shape, dtype)
    log_b = loggamma_(keys[1, ...], b, shape, dtype)
    largest = xp.maximum(log_a, log_b)
    # Both samples are 0 where both parameters are 0.
    none = largest == -math.inf
    largest = xp.where(none, xp.zeros_like(largest), largest)
    # Functions, because a transformation may trace only one of the logarithms.
    scaled_a, scaled_b = xp.exp(xp.subtract(log_a, largest)), xp.exp(xp.subtract(log_b, largest))
    return scaled_a / xp.where(none, math.nan + largest, scaled_a + scaled_b)


def dirichlet(key: Array, /, alpha: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return special.softmax(loggamma_(key, alpha, (*shape, alpha.shape[-1]), dtype), axis=-1)


def chisquare(key: Array, /, df: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, df)
    return 2.0 * xp.exp(loggamma_(key, 0.5 * df, shape, dtype))


def t(key: Array, /, df: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, df)
    keys = split(key)
    half = 0.5 * df
    x = normal(keys[0, ...], shape, dtype=dtype)
    # Logarithms, because samples for small parameters underflow, but not their roots.
    return xp.multiply(x, xp.exp(0.5 * xp.subtract(xp.log(half), loggamma_(keys[1, ...], half, shape, dtype))))


def f(key: Array, /, dfnum: Array, dfden: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, dfnum, dfden)
    keys = split(key)
    # Logarithms, because for small parameters both samples may underflow.
    above = xp.subtract(loggamma_(keys[1, ...], 0.5 * dfnum, shape, dtype), xp.log(dfnum))
    return xp.exp(xp.subtract(above, xp.subtract(loggamma_(keys[0, ...], 0.5 * dfden, shape, dtype), xp.log(dfden))))


def generalized_normal(key: Array, /, p: Array, shape: Any = (), dtype: DType | None = None) -> Array:
    sign, logarithm = sign_and_log(key, p, shape, dtype)
    return sign * array_namespace(sign, logarithm).exp(logarithm)


def sign_and_log(key: Array, p: Any, shape: tuple[int, ...], dtype: DType | None) -> tuple[Array, Array]:
    """Return the signs of samples and the logarithms of their magnitudes, whose powers may underflow."""
    xp = array_namespace(key, p)
    keys = split(key)
    logarithm = xp.divide(loggamma_(keys[0, ...], 1.0 / p, shape, dtype), p)
    return rademacher(keys[1, ...], shape, dtype=dtype), logarithm


@partial(autodiff.custom_jvp, nondiff_argnums=(0,))
def _elements(log_space: bool, keys: Array, a: Array) -> Array:
    return gamma_elements_(keys, a, log_space=log_space)


@_elements.defjvp
def _pushed(log_space: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (keys, a), (_, change) = primals, tangents
    out = _elements(log_space, keys, a)  # has a derivative itself, for higher orders
    return out, gamma_slope(a, out, log_space=log_space) * change


def gamma_slope(a: Array, out: Array, *, log_space: bool) -> Array:
    """Compute the derivative of samples, or of their logarithms, in `a`."""
    xp = array_namespace(a, out)
    if log_space:
        return log_gamma_slope(a, xp.exp(out), out)
    # The derivative of a sample of 0 is 0.
    zero = out == 0.0
    x = xp.where(zero, xp.ones_like(out), out)
    return xp.where(zero, xp.zeros_like(out), x * log_gamma_slope(a, x, xp.log(x)))


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    xp = array_namespace(keys, a)
    one = xp.ones_like(a)
    # Derive samples for parameters below 1 from samples for a + 1.
    small, zero = ~(a >= 1.0), a == 0.0
    d = xp.where(small, a + 1.0, a) - 1.0 / 3.0
    both = split_each(keys, num=2)
    volume = _volume(xp, both[..., 0, :], d)
    power = 1.0 / xp.where(zero, one, a)
    u = elements.uniform(both[..., 1, :], a.dtype)
    if log_space:
        logarithm = xp.where(zero, -math.inf * one, xp.log1p(-u) * power)
        return xp.log(d) + xp.log(volume) + xp.where(small & (u > 0.0), logarithm, 0.0 * one)
    boost = xp.where(zero, 0.0 * one, (1.0 - u) ** power)
    return d * volume * xp.where(small, boost, one)


def _volume(xp: Namespace, keys: Array, d: Array) -> Array:
    """Try cubes of normal numbers about 1 until each element has accepted one. Each step is one trial for all elements.

    A cube that is not positive takes a step but is no trial, so the samples of an element do not depend on other
    elements.
    """
    nothing = xp.zeros_like(d)
    tried = xp.isfinite(d)
    d = xp.where(tried, d, nothing + 1.0)
    c = (1.0 / 3.0) / xp.sqrt(d)

    def is_running(state: Any) -> Array:
        return xp.any(state["tried"])

    def step(state: Any) -> Any:
        tried, is_first = state["tried"], state["is_first"]
        three = split_each(state["key"], num=3)
        is_first_ = xp.expand_dims(is_first, axis=-1)
        normals, uniforms = xp.where(is_first_, three[..., 1, :], state["normals"]), three[..., 2, :]
        two = split_each(normals, num=2)
        x = elements.normal(two[..., 1, :], d.dtype)
        v = 1.0 + x * c
        above = v > 0.0
        square, cube = x * x, v * v * v
        u = elements.uniform(uniforms, d.dtype)
        # Replace 0, which has no logarithm, by 1/2⁶⁵, whose logarithm is below any bound.
        log_u = xp.log(xp.maximum(u, 2.0**-65 + nothing))
        bound = 0.5 * square + d * ((1.0 - cube) + xp.log(xp.where(above, cube, 1.0 + nothing)))
        taken = above & ~((u >= 1.0 - 0.0331 * (square * square)) & (log_u >= bound))
        return {
            "key": xp.where(xp.expand_dims(above, axis=-1), three[..., 0, :], state["key"]),
            "normals": two[..., 0, :],
            "is_first": above,
            "tried": tried & ~taken,
            "volume": xp.where(tried & taken, cube, state["volume"]),
        }

    start = {"key": keys, "normals": keys, "is_first": tried | True, "tried": tried, "volume": nothing + 1.0}
    return control_flow.while_loop(is_running, step, start)["volume"]
