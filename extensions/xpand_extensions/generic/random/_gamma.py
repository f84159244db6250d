"""The gamma distribution for any library, all elements together, and those made of it.

Functions of keys take many here, an array of shape (…, 2), as all implementations do: an element has one of its own.
"""

import math
from functools import partial
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace

from ... import autodiff, control_flow, special
from ...random._elements import split_each
from ...random._gamma import (
    chisquare as chisquare_,
)
from ...random._gamma import (
    gamma as gamma_,
)
from ...random._gamma import (
    gamma_elements as gamma_elements_,
)
from ...random._gamma import (
    loggamma as loggamma_,
)
from ...random._keys import split
from ...random._uniform import normal, rademacher
from . import _elements as elements
from ._gamma_slope import log_gamma_slope


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
    # Both samples are 0 where both parameters are.
    none = largest == -math.inf
    largest = xp.where(none, xp.zeros_like(largest), largest)
    # As functions: only one of the logarithms may be traced by a transformation.
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
    return xp.multiply(x, xp.sqrt(_divided(xp, half, gamma_(keys[1, ...], half, shape, dtype))))


def _divided(xp: Namespace, x: Array, y: Array) -> Array:
    """Divide positive numbers by numbers that may be 0, where the quotient is infinite."""
    zero = y == 0.0
    return xp.where(zero, xp.full_like(y, math.inf), xp.divide(x, xp.where(zero, xp.ones_like(y), y)))


def f(key: Array, /, dfnum: Array, dfden: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, dfnum, dfden)
    keys = split(key)
    above = chisquare_(keys[1, ...], dfnum, shape, dtype) / dfnum
    return _divided(xp, above, chisquare_(keys[0, ...], dfden, shape, dtype) / dfden)


def generalized_normal(key: Array, /, p: Array, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key, p)
    keys = split(key)
    power = 1.0 / p
    sign = rademacher(keys[1, ...], shape, dtype=dtype)
    return xp.multiply(sign, gamma_(keys[0, ...], power, shape, dtype) ** power)


@partial(autodiff.custom_jvp, nondiff_argnums=(0,))
def _elements(log_space: bool, keys: Array, a: Array) -> Array:
    return gamma_elements_(keys, a, log_space=log_space)


@_elements.defjvp
def _pushed(log_space: bool, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (keys, a), (_, change) = primals, tangents
    out = _elements(log_space, keys, a)  # with its derivative, for those of higher order
    return out, gamma_slope(a, out, log_space=log_space) * change


def gamma_slope(a: Array, out: Array, *, log_space: bool) -> Array:
    """Compute the derivative of samples, or of their logarithms, in the parameter."""
    xp = array_namespace(a, out)
    if log_space:
        return log_gamma_slope(a, xp.exp(out), out)
    # A sample of 0 stays there.
    zero = out == 0.0
    x = xp.where(zero, xp.ones_like(out), out)
    return xp.where(zero, xp.zeros_like(out), x * log_gamma_slope(a, x, xp.log(x)))


def gamma_elements(keys: Array, a: Array, /, *, log_space: bool) -> Array:
    xp = array_namespace(keys, a)
    one = xp.ones_like(a)
    # Of a parameter below 1 by way of one above it.
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
    """Try cubes of normal numbers about 1 until one is taken for each element: one trial a step for all of them.

    A number that has no cube above 0 is another step, and not a trial: so what the keys of an element make does not
    depend on the others.
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
        # 0 has no logarithm; that of 1/2⁶⁵ is as far below any bound.
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
