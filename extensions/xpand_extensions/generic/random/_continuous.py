"""Continuous distributions for any library, computed from uniform and normal numbers.

Uniform numbers between bounds are u (high - low) + low, rounded once, because JAX's compiler uses a fused multiply-add.

To get the same samples on processors, in float32 and float64, the sum is computed exactly, as a rounded sum and its
rounding error, and corrected where the error makes a difference.
"""

import math
from collections.abc import Callable
from typing import Any, Final, cast

from xpand import array_namespace, is_concrete
from xpand.extend import Array, DType, Namespace, checks

from ... import autodiff, special
from ..._dispatch import in_one_namespace
from ..._dtypes import plain_sum, widened
from ...random._arguments import in_device
from ...random._continuous import exponential as exponential_, maxwell as maxwell_
from ...random._keys import bits, split
from ...random._uniform import normal, rademacher, uniform
from ..special._error import erfcx
from ._gamma import sign_and_log
from ._normal import lowest, normal_of


def exponential(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    return -xp.log1p(-uniform(key, shape, dtype=dtype))


def gumbel(key: Array, /, shape: Any = (), dtype: DType | None = None, mode: Any = None) -> Array:
    xp = array_namespace(key)
    info = xp.finfo(dtype)
    if mode == "highest" and dtype == xp.float32:
        return _gumbel_of_integers(xp, key, shape)
    if mode == "low":
        return -xp.log(-xp.log(uniform(key, shape, dtype=dtype, minval=float(info.smallest_normal), maxval=1.0)))
    both = uniform(key, (2, *shape), dtype=dtype)
    high, low = both[0, ...], both[1, ...]
    fine = float(info.eps) * low + float(info.smallest_normal)
    return -xp.log(-xp.log1p(-xp.where(high >= 0.5, high, high + fine)))


def _gumbel_of_integers(xp: Namespace, key: Array, shape: tuple[int, ...]) -> Array:
    """Make a sample from 64 bits as a fraction: use its first 24 significant bits, or those of 1 minus the fraction."""
    words = bits(key, (2, *shape), dtype=xp.uint32)
    words = xp.astype(words, xp.int64)
    high, low = words[0, ...], words[1, ...]
    is_low = high < 2**31
    borrow = xp.where(low == 0, xp.zeros_like(low), xp.ones_like(low))
    x = _truncated(xp, xp.where(is_low, high, 2**32 - high - borrow), xp.where(is_low, low, borrow * 2**32 - low))
    # Each logarithm gets numbers below 1/2, at which it is exact.
    low_ = -xp.log(-xp.log1p(-xp.where(is_low, x, 0.25 * xp.ones_like(x))))
    return xp.where(is_low, low_, -xp.log(-xp.log(xp.where(is_low, 0.25 * xp.ones_like(x), x))))


def _truncated(xp: Namespace, high: Array, low: Array) -> Array:
    """Convert (2³² high + low) / 2⁶⁴ to float32, rounded towards 0; return 2⁻⁶⁵ for 0."""
    # float64 is enough: bits beyond the 53rd are not among the first 24.
    low = xp.where(high < 2**21, low, low // 2**11 * 2**11)
    wide = xp.astype(high, xp.float64) * 2.0**-32 + xp.astype(low, xp.float64) * 2.0**-64
    narrow = xp.astype(wide, xp.float32)
    # The product is the next smaller number, for every mantissa.
    narrow = xp.where(xp.astype(narrow, xp.float64) > wide, narrow * (1.0 - 2.0**-24), narrow)
    return xp.where(narrow == 0.0, xp.full_like(narrow, 2.0**-65), narrow)


def laplace(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    info = xp.finfo(dtype)
    u = uniform(key, shape, dtype=dtype, minval=-1.0 + 0.5 * float(info.eps), maxval=1.0)
    return xp.sign(u) * xp.log1p(-xp.abs(u))


def logistic(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    u = uniform(key, shape, dtype=dtype, minval=float(xp.finfo(dtype).smallest_normal), maxval=1.0)
    return xp.log(u) - xp.log1p(-u)


def cauchy(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    u = uniform(key, shape, dtype=dtype, minval=float(xp.finfo(dtype).eps), maxval=1.0)
    return xp.tan(math.pi * (u - 0.5))


def maxwell(key: Array, /, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key)
    x = normal(key, (*shape, 3), dtype=dtype)
    return xp.sqrt(plain_sum(xp, x * x, axis=-1))


def correction(u: Array, span: Array, low: Array) -> Array:
    """Return the difference of u · span + low between rounding once and twice, or 0 if it is not finite."""
    u, span, low = in_one_namespace(u, span, low)
    xp = array_namespace(u)
    fused = _fused_64 if u.dtype == xp.float64 else _fused_32
    twice = xp.add(xp.multiply(u, span), low)
    finite = xp.isfinite(twice)
    zero = xp.zeros_like(twice)
    once = fused(u, xp.where(finite, span, zero), xp.where(finite, low, zero))
    return xp.where(finite, once - xp.where(finite, twice, zero), zero)


def scaled(
    key: Array,
    u: Array,
    minval: Array | float,
    maxval: Array | float,
    *,
    correction: Callable[[Array, Array, Array], Array] = correction,
) -> Array:
    """Scale uniform numbers `u` in [0, 1) to the interval [minval, maxval).

    `u` is a multiple of the data type's epsilon, so `1 - u` is exact.
    """
    known = not checks.is_array(minval) and not checks.is_array(maxval)
    if known and (minval, maxval) == (0.0, 1.0):
        return u
    xp = array_namespace(u)
    # Use at least one axis, since NumPy warns if scalars overflow.
    low, high = (_with_an_axis(in_device(xp, key, x, u.dtype)) for x in (minval, maxval))
    u, shape = _with_an_axis(u), u.shape
    xp = array_namespace(u, low, high)
    span = xp.subtract(high, low)
    found = xp.add(xp.multiply(u, span), low)
    if u.dtype in (xp.float32, xp.float64) and not (known and _is_exact(cast("float", maxval - minval))):
        # The correction is a constant, so it does not change the derivatives.
        found = xp.add(found, correction(*(autodiff.stop_gradient(x) for x in (u, span, low))))
    found = xp.maximum(low, found)
    if not known or may_round_up(minval, maxval):
        found = below(found, low, high)
    return xp.reshape(found, shape)


def may_round_up(minval: Any, maxval: Any) -> bool:
    """Return whether u (maxval - minval) + minval may be rounded to `maxval` for the largest u below 1.

    It differs from `maxval` by eps times the width, which must be more than half the distance of two numbers there.
    """
    mantissa, exponent = math.frexp(maxval)
    return maxval - minval <= math.ldexp(0.5, exponent - (mantissa == 0.5))


def below(x: Array, low: Array, high: Array) -> Array:
    """Replace numbers that were rounded up to `high` by the next smaller one, without a change of derivatives."""
    xp = array_namespace(x, low, high)
    rounded, least, most = (autodiff.stop_gradient(each) for each in (x, low, high))
    is_high = (rounded >= most) & (most > least) & xp.isfinite(most)
    most = xp.where(xp.isfinite(most), most, xp.ones_like(most))
    step = most - xp.nextafter(most, xp.full_like(most, -math.inf))
    return xp.subtract(x, xp.where(is_high, step, xp.zeros_like(step)))


def _with_an_axis(x: Array) -> Array:
    return x if x.ndim else array_namespace(x).reshape(x, (1,))


def _is_exact(span: float) -> bool:
    """Return whether products with a number are exact, because it is a power of two."""
    return math.isfinite(span) and math.frexp(span)[0] in (0.5, -0.5, 0.0)


def _fused_32(u: Array, span: Array, low: Array) -> Array:
    """Multiply and add in float64, where the product is exact, and round to float32 as if only once."""
    xp = array_namespace(u)
    u, span, low = (xp.astype(x, xp.float64) for x in (u, span, low))
    total, left = _sum(u * span, low)
    found = xp.astype(total, xp.float32)
    # In float64 the value is halfway between two float32 numbers, but the exact value is nearer to the other one.
    nearest = xp.astype(found, xp.float64)
    other = 2.0 * total - nearest
    narrow = xp.astype(xp.where(xp.abs(other) < 1e38, other, nearest), xp.float32)
    beyond = ((left > 0.0) & (other > nearest)) | ((left < 0.0) & (other < nearest))
    return xp.where(beyond & (xp.astype(narrow, xp.float64) == other), narrow, found)


def _fused_64(u: Array, span: Array, low: Array) -> Array:
    """Multiply and add in twice the precision, and round once."""
    xp = array_namespace(u)
    product, error = _product(u, span)
    total, left = _sum(product, low)
    left, least = _sum(left, error)
    found, rest = _sum(total, left)
    # The first two parts are halfway between two numbers, but the exact value is nearer to the other one.
    other = found + 2.0 * rest
    beyond = ((least > 0.0) & (rest > 0.0)) | ((least < 0.0) & (rest < 0.0))
    return xp.where(beyond & (other - found == 2.0 * rest), other, found)


def _sum(x: Array, y: Array) -> tuple[Array, Array]:
    """Return a sum and its rounding error (Knuth's method)."""
    total = x + y
    of_y = total - x
    return total, (x - (total - of_y)) + (y - of_y)


def _product(u: Array, span: Array) -> tuple[Array, Array]:
    """Return a product and its rounding error, by splitting both factors (Dekker's method)."""
    xp = array_namespace(u)
    # Splitting overflows if factors are too large.
    scale = xp.where(xp.abs(span) > 1e290, xp.full_like(span, 2.0**-40), xp.ones_like(span))
    small = span * scale
    bits = small * 134217729.0
    upper = bits - (bits - small)
    lower = small - upper
    first = xp.floor(u * 2.0**26) * 2.0**-26
    second = u - first
    product = u * small
    error = ((first * upper - product) + first * lower + second * upper) + second * lower
    return product / scale, error / scale


def truncated_normal(key: Array, /, lower: Array, upper: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    return between(key, lower, upper, shape, dtype, in_a_tail(lower, upper))


def between(
    key: Array, lower: Array, upper: Array, shape: tuple[int, ...], dtype: DType | None, has_tails: bool
) -> Array:
    """Sample from the normal distribution between bounds. Some pairs of bounds may lie in one tail."""
    xp = array_namespace(key, lower, upper)
    u = uniform(key, shape, dtype=dtype)
    x = _from_any_sides(u, lower, upper) if has_tails else _from_both_sides(u, lower, upper)
    least, most = _inside(xp, lower, math.inf), _inside(xp, upper, -math.inf)
    return xp.minimum(xp.maximum(x, least), most)


_STEPS: Final = 4
_TAIL: Final = 1.0
"""Where both bounds are further from 0 on one side, samples are computed from the tail."""


def in_a_tail(lower: Array, upper: Array) -> bool:
    """Return whether some bounds are, or may be, in one tail."""
    xp = array_namespace(lower, upper)
    if not (is_concrete(lower) and is_concrete(upper)):
        return True
    return bool(xp.any(xp.greater(lower, _TAIL)) or xp.any(xp.less(upper, -_TAIL)))


@widened
def _from_any_sides(u: Array, lower: Array, upper: Array, /) -> Array:
    """Return the normal number at the share u of the probability between two bounds, wherever they are."""
    xp = array_namespace(u, lower, upper)
    is_low = xp.broadcast_to(xp.less(upper, -_TAIL), u.shape)
    is_tail = is_low | xp.greater(lower, _TAIL)
    # Negative bounds are mirrored.
    nearer, farther = xp.where(is_low, -upper, lower), xp.where(is_low, -lower, upper)
    safe, share = xp.full_like(nearer, 2.0), xp.where(is_low, 1.0 - u, u)
    tail = _in_the_tail(xp, share, xp.where(is_tail, nearer, safe), xp.where(is_tail, farther, safe + 1.0))
    zero, one = xp.zeros_like(nearer), xp.ones_like(nearer)
    both = _from_both_sides(u, xp.where(is_tail, -one, lower + zero), xp.where(is_tail, one, upper + zero))
    return xp.where(is_tail, xp.where(is_low, -tail, tail), both)


def _from_both_sides(u: Array, lower: Array, upper: Array) -> Array:
    """Scale numbers from 0 to below 1 to the range of the error function between the bounds, and invert it."""
    xp = array_namespace(u, lower, upper)
    root, epsilon = math.sqrt(2.0), float(xp.finfo(u.dtype).eps)
    x = scaled(u, u, special.erf(lower / root), special.erf(upper / root))
    # Without a bound, the value would be infinite at -1.
    return normal_of(xp, xp.clip(x, lowest(epsilon), -lowest(epsilon)), u.dtype)


def _in_the_tail(xp: Namespace, share: Array, lower: Array, upper: Array) -> Array:
    """Return the number above which is the probability (1 - share) Q(lower) + share Q(upper), for `lower` above 0.

    Q(x) is exp(-x²/2) erfcx(x/√2) / 2. The distance d to the lower bound solves
    lower d + d²/2 - log(erfcx((lower + d)/√2) / erfcx(lower/√2)) = -log(1 - share (1 - Q(upper)/Q(lower))).
    Nothing underflows, and for a distant bound the first part is all.
    """
    root = math.sqrt(0.5)
    start = erfcx(lower * root)
    bounded = upper < math.inf
    # Bounds in the wrong order, which have no meaning, raise no warnings of NumPy.
    width = xp.maximum(xp.where(bounded, upper, lower) - lower, xp.zeros_like(lower))
    beyond = xp.exp(-width * (lower + 0.5 * width)) * (erfcx((lower + width) * root) / start)
    inside = xp.where(bounded, 1.0 - beyond, xp.ones_like(beyond))
    # At 1, which only mirrored shares reach, the value would be infinite.
    goal = -xp.log1p(-xp.minimum(share * inside, xp.full_like(share, 1.0 - 0.5 * float(xp.finfo(share.dtype).eps))))
    # Newton's method. The function is convex, so that all steps after the first one decrease.
    ratio = goal / lower
    d = 2.0 * ratio / (1.0 + xp.sqrt(1.0 + 2.0 * (ratio / lower)))
    for _ in range(_STEPS):
        end = erfcx((lower + d) * root)
        error = d * (lower + 0.5 * d) - xp.log(end / start) - goal
        d = d - error * end * math.sqrt(0.5 * math.pi)
    return lower + d


def _inside(xp: Namespace, bound: Array, towards: float) -> Array:
    """Return the number next to a bound, as a constant."""
    bound = autodiff.stop_gradient(bound)
    return xp.nextafter(bound, xp.full_like(bound, towards))


def pareto(key: Array, /, b: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, b)
    return xp.exp(xp.divide(exponential_(key, shape, dtype), b))


def rayleigh(key: Array, /, scale: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, scale)
    u = uniform(key, shape, dtype=dtype)
    # The logarithm of 0 would be infinite.
    u = xp.maximum(u, xp.full_like(u, 0.5 * float(xp.finfo(dtype).eps)))
    return scale * xp.sqrt(-2.0 * xp.log(u))


def weibull_min(
    key: Array, /, scale: Array, concentration: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    xp = array_namespace(key, scale, concentration)
    return xp.multiply(xp.pow(exponential_(key, shape, dtype), 1.0 / concentration), scale)


def double_sided_maxwell(key: Array, /, loc: Array, scale: Array, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key, loc, scale)
    keys = split(key)
    x = rademacher(keys[1, ...], shape, dtype=dtype) * maxwell_(keys[0, ...], shape, dtype)
    return xp.add(xp.multiply(x, scale), loc)


def wald(key: Array, /, mean: Array, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, mean)
    keys = split(key)
    half = mean * normal(keys[0, ...], shape, dtype=dtype) ** 2 / 2.0
    # The samples mean / ratio and mean * ratio are the roots of a quadratic equation, here without cancellation.
    # Two roots, because the product would overflow.
    ratio = 1.0 + half + xp.sqrt(half) * xp.sqrt(2.0 + half)
    chosen = xp.less_equal(uniform(keys[1, ...], shape, dtype=dtype), 1.0 / (1.0 + 1.0 / ratio))
    return xp.where(chosen, mean / ratio, mean * xp.where(chosen, xp.ones_like(ratio), ratio))


def triangular(
    key: Array, /, left: Array, mode: Array, right: Array, shape: Any = None, dtype: DType | None = None
) -> Array:
    xp = array_namespace(key, left, mode, right)
    u = uniform(key, shape, dtype=dtype)
    # Functions, because a transformation may trace only one of the parameters.
    width = xp.subtract(right, left)
    rising, falling = xp.divide(xp.subtract(mode, left), width), xp.divide(xp.subtract(right, mode), width)
    rises = xp.less(u, rising)
    # Avoid the infinite derivative of the root of 0 where the root is not used. Products with the width underflow.
    root = width * xp.sqrt(xp.where(rises, xp.multiply(u, rising), xp.multiply(1.0 - u, falling)))
    return xp.where(rises, xp.add(left, root), xp.subtract(right, root))


def lognormal(key: Array, /, sigma: Array | float = 1.0, shape: Any = None, dtype: DType | None = None) -> Array:
    xp = array_namespace(key, sigma)
    return xp.exp(xp.multiply(normal(key, shape, dtype=dtype), sigma))


def multivariate_normal(
    key: Array, /, mean: Array, cov: Array, shape: Any = None, dtype: Any = None, method: Any = "cholesky"
) -> Array:
    xp = array_namespace(key, mean, cov)
    factor = _factor(cov, method)
    x = xp.astype(normal(key, (*shape, mean.shape[-1]), dtype), xp.result_type(dtype, cov.dtype))
    moved = xp.matmul(xp.astype(factor, x.dtype), xp.expand_dims(x, axis=-1))[..., 0]
    return xp.astype(xp.add(mean, moved), dtype)


def _factor(cov: Array, method: str) -> Array:
    """Return a matrix whose product with its transpose is `cov`."""
    xp = array_namespace(cov)
    if method == "cholesky":
        return xp.linalg.cholesky(cov)
    if method == "svd":
        vectors, values, _ = xp.linalg.svd(cov)
    else:
        values, vectors = xp.linalg.eigh(cov)
        # Rounding may make eigenvalues of a singular matrix negative.
        values = xp.maximum(values, xp.zeros_like(values))
    return vectors * xp.expand_dims(xp.sqrt(values), axis=-2)


def orthogonal(key: Array, /, n: int, shape: Any = (), dtype: DType | None = None, m: int | None = None) -> Array:
    xp = array_namespace(key)
    columns = n if m is None else m
    x = normal(key, (*shape, max(n, columns), min(n, columns)), dtype)
    q, r = xp.linalg.qr(x)
    diagonal = xp.linalg.diagonal(r)
    # The factorization's choice of signs would not be uniform.
    q = q * xp.expand_dims(xp.sign(diagonal), axis=-2)
    return xp.matrix_transpose(q) if n < columns else q


def ball(key: Array, /, d: int, p: Array | float = 2.0, shape: Any = (), dtype: DType | None = None) -> Array:
    xp = array_namespace(key, p)
    keys = split(key)
    sign, logarithm = sign_and_log(keys[0, ...], p, (*shape, d), dtype)
    e = xp.expand_dims(exponential_(keys[1, ...], shape, dtype), axis=-1)
    zero = e == 0.0
    last = xp.where(zero, xp.full_like(e, -math.inf), xp.log(xp.where(zero, xp.ones_like(e), e)))
    total = special.logsumexp(xp.concat([p * logarithm, last], axis=-1), axis=-1, keepdims=True)
    return sign * xp.exp(logarithm - total / p)
