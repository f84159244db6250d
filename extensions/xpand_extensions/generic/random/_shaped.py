"""Distributions with parameters for any library, in terms of uniform and normal numbers."""

import math
from typing import Any

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace

from ... import autodiff, special
from ...random._continuous import exponential, maxwell
from ...random._keys import split
from ...random._uniform import normal, rademacher, uniform
from ._normal import normal_of


def truncated_normal(key: Array, /, lower: Array, upper: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, lower, upper)
    root = math.sqrt(2.0)
    u = uniform(key, shape, dtype=dtype, minval=special.erf(lower / root), maxval=special.erf(upper / root))
    certain = xp.abs(u) == 1.0
    x = normal_of(xp, xp.where(certain, xp.zeros_like(u), u), dtype)
    x = xp.where(certain, xp.copysign(xp.full_like(u, math.inf), u), x)
    least, most = _inside(xp, lower, math.inf), _inside(xp, upper, -math.inf)
    return xp.minimum(xp.maximum(x, least), most)


def _inside(xp: Namespace, bound: Array, towards: float) -> Array:
    """Return the next number to a bound, a constant."""
    bound = autodiff.stop_gradient(bound)
    return xp.nextafter(bound, xp.full_like(bound, towards))


def pareto(key: Array, /, b: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, b)
    return xp.exp(xp.divide(exponential(key, shape, dtype), b))


def rayleigh(key: Array, /, scale: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, scale)
    return scale * xp.sqrt(-2.0 * xp.log(uniform(key, shape, dtype=dtype)))


def weibull_min(
    key: Array, /, scale: Array, concentration: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    xp = array_namespace(key, scale, concentration)
    return xp.multiply(xp.pow(exponential(key, shape, dtype), 1.0 / concentration), scale)


def double_sided_maxwell(key: Array, /, loc: Array, scale: Array, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key, loc, scale)
    keys = split(key)
    x = rademacher(keys[1, ...], shape, dtype=dtype) * maxwell(keys[0, ...], shape, dtype)
    return xp.add(xp.multiply(x, scale), loc)


def wald(key: Array, /, mean: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, mean)
    keys = split(key)
    y = normal(keys[0, ...], shape, dtype=dtype) ** 2
    square = mean * mean
    x = mean + square * y / 2.0 - mean / 2.0 * xp.sqrt(4.0 * mean * y + square * (y * y))
    return xp.where(xp.less_equal(uniform(keys[1, ...], shape, dtype=dtype), mean / (mean + x)), x, square / x)


def triangular(
    key: Array, /, left: Array, mode: Array, right: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    xp = array_namespace(key, left, mode, right)
    u = uniform(key, shape, dtype=dtype)
    # Functions, because only one of the parameters may be traced by a transformation.
    width, below, above = xp.subtract(right, left), xp.subtract(mode, left), xp.subtract(right, mode)
    rises = xp.less(u, xp.divide(below, width))
    # The root of 0 where it isn't taken has no derivative.
    products = xp.multiply(xp.multiply(width, u), below), xp.multiply(xp.multiply(width, 1.0 - u), above)
    root = xp.sqrt(xp.where(rises, *products))
    return xp.where(rises, xp.add(left, root), xp.subtract(right, root))


def lognormal(key: Array, /, sigma: Array | float = 1.0, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, sigma)
    return xp.exp(xp.multiply(normal(key, shape, dtype=dtype), sigma))
