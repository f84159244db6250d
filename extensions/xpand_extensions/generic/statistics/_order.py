"""Quantiles by a sort."""

import math
from typing import Any, Final

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks
from xpand_extensions._bounds import index_dtype
from xpand_extensions.sorting import searchsorted

from .._last_axis import as_last

_PLOTTING: Final[dict[str, tuple[float, float]]] = {
    "linear": (1.0, 1.0),
    "lower": (1.0, 1.0),
    "higher": (1.0, 1.0),
    "midpoint": (1.0, 1.0),
    "nearest": (1.0, 1.0),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}
"""Parameters alpha and beta of Hyndman and Fan: element k of n is the quantile (k - alpha) / (n + 1 - alpha - beta)."""
_SELECTING: Final = {
    "lower": "floor",
    "higher": "ceil",
    "nearest": "round",
    "inverted_cdf": "floor",
    "closest_observation": "floor",
}
"""The methods that select an element, with the function that rounds its position."""


def quantile(
    x: Array,
    /,
    q: Any,
    *,
    axis: Any = None,
    method: Any = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Array:
    if weights is not None:
        return _weighted(x, q, weights, axis, method, keepdims, skips_nan=False)
    xp = array_namespace(x) if isinstance(q, (float, tuple)) else array_namespace(x, q)
    q = as_array(xp, x, q)
    flat = as_last(xp, x, axis)
    size = flat.shape[-1]
    if not size:
        return arranged(xp, nothing(xp, flat, q), x, q, axis, keepdims)
    nan = xp.isnan(flat)
    ordered = xp.sort(xp.where(nan, math.inf, flat), axis=-1, stable=False)  # the standard leaves the order of NaN open
    low, high, part = positions(xp, xp.reshape(q, (-1,)), size, method)
    high_values = None if high is None else xp.take(ordered, high, axis=-1)
    result = between(xp, xp.take(ordered, low, axis=-1), high_values, part)
    return arranged(xp, without(xp, result, xp.any(nan, axis=-1, keepdims=True), q), x, q, axis, keepdims)


def nanquantile(
    x: Array,
    /,
    q: Any,
    *,
    axis: Any = None,
    method: Any = "linear",
    keepdims: bool = False,
    weights: Array | None = None,
) -> Array:
    if weights is not None:
        return _weighted(x, q, weights, axis, method, keepdims, skips_nan=True)
    xp = array_namespace(x) if isinstance(q, (float, tuple)) else array_namespace(x, q)
    q = as_array(xp, x, q)
    flat = as_last(xp, x, axis)
    if not flat.shape[-1]:
        return arranged(xp, nothing(xp, flat, q), x, q, axis, keepdims)
    nan = xp.isnan(flat)
    ordered = xp.sort(xp.where(nan, math.inf, flat), axis=-1, stable=False)  # the standard leaves the order of NaN open
    number = xp.sum(xp.astype(~nan, index_dtype(xp, checks.device_of(x))), axis=-1, keepdims=True)
    some = xp.astype(xp.maximum(number, xp.ones_like(number)), q.dtype)
    low, high, part = positions(xp, xp.reshape(q, (-1,)), some, method)
    high_values = None if high is None else xp.take_along_axis(ordered, high, axis=-1)
    result = between(xp, xp.take_along_axis(ordered, low, axis=-1), high_values, part)
    return arranged(xp, without(xp, result, number == 0, q), x, q, axis, keepdims)


def _weighted(x: Array, q: Any, weights: Array, axis: Any, method: str, keepdims: bool, *, skips_nan: bool) -> Array:
    """Select the elements at which the sum of the weights of sorted elements reaches each fraction of the whole."""
    xp = array_namespace(x, weights) if isinstance(q, (float, tuple)) else array_namespace(x, q, weights)
    q = as_array(xp, x, q)
    if weights.ndim != x.ndim:
        weights = xp.reshape(weights, tuple([size if i in axis else 1 for i, size in enumerate(x.shape)]))
    flat, weights = as_last(xp, x, axis), as_last(xp, xp.broadcast_to(weights, x.shape), axis)
    if not flat.shape[-1]:
        return arranged(xp, nothing(xp, flat, q), x, q, axis, keepdims)
    nan = xp.isnan(flat)
    if skips_nan:
        weights = xp.where(nan, xp.zeros_like(weights), weights)
    flat = xp.where(nan, math.inf, flat)
    order = xp.argsort(flat, axis=-1, stable=False)
    ordered = xp.take_along_axis(flat, order, axis=-1)
    sums = xp.cumulative_sum(xp.astype(xp.take_along_axis(weights, order, axis=-1), q.dtype), axis=-1)
    whole = sums[..., -1:]
    undefined = ~((whole > 0) & (whole < math.inf) & xp.all(weights >= 0, axis=-1, keepdims=True))
    if not skips_nan:
        undefined = undefined | xp.any(nan, axis=-1, keepdims=True)
    sums = xp.where(undefined, xp.ones_like(sums), sums)
    fractions = xp.reshape(q, (-1,))
    wanted = xp.where(undefined, xp.ones_like(whole), whole) * xp.where(fractions >= 0, fractions, 0.0)
    search = searchsorted.native(sums, wanted)
    # Elements of weight 0 at either end are not selected.
    first = search(sums, xp.zeros_like(wanted), side="right")
    last = search(sums, xp.broadcast_to(sums[..., -1:], wanted.shape), side="left")
    low = xp.minimum(xp.maximum(search(sums, wanted, side="left"), first), last)
    result = xp.take_along_axis(ordered, low, axis=-1)
    if method == "averaged_inverted_cdf":
        high = xp.minimum(search(sums, wanted, side="right"), last)
        half = xp.full(wanted.shape, 0.5, dtype=q.dtype, device=checks.device_of(x))
        result = between(xp, result, xp.take_along_axis(ordered, xp.maximum(high, low), axis=-1), half)
    return arranged(xp, without(xp, result, undefined, q), x, q, axis, keepdims)


def as_array(xp: Namespace, x: Array, q: Any) -> Array:
    """Make an array of quantiles with a data type that is precise enough for positions."""
    device = checks.device_of(x)
    # JAX by default and some devices have no float64.
    dtype = xp.__array_namespace_info__().dtypes(device=device, kind="real floating").get("float64", xp.float32)
    if isinstance(q, (float, tuple)):
        return xp.asarray(q, dtype=dtype, device=device)
    return xp.astype(q, dtype, copy=False)


def positions(xp: Namespace, q: Array, size: Any, method: str) -> tuple[Array, Array | None, Array | None]:
    """Find the two sorted elements around each quantile, and the distance of the quantile from the lower one.

    Returns:
        The positions of the lower elements, the positions of the higher elements, and the distances. The last two are
        None if the method selects an element.
    """
    q = xp.where((q >= 0) & (q <= 1), q, xp.zeros_like(q))
    upper = None
    if method == "inverted_cdf":
        position = xp.ceil(size * q) - 1
    elif method == "averaged_inverted_cdf":
        position, upper = xp.ceil(size * q) - 1, xp.floor(size * q)
    elif method == "closest_observation":
        position = xp.round(size * q) - 1  # of two equally near elements, the one with an even number
    else:
        alpha, beta = _PLOTTING[method]
        # Avoid the rounding of terms that cancel for the first five methods.
        position = (size - 1) * q if alpha == beta == 1 else size * q + (alpha + q * (1 - alpha - beta)) - 1
    zero = xp.zeros_like(position)
    position = xp.minimum(xp.maximum(position, zero), zero + (size - 1))
    integers = index_dtype(xp, checks.device_of(q))
    choose = _SELECTING.get(method)
    if choose is not None:
        return xp.astype(getattr(xp, choose)(position), integers), None, None
    if upper is not None:
        upper = xp.minimum(xp.maximum(upper, zero), zero + (size - 1))
        return xp.astype(position, integers), xp.astype(upper, integers), (upper - position) / 2
    lower, upper = xp.floor(position), xp.ceil(position)
    part = (upper - lower) / 2 if method == "midpoint" else position - lower
    return xp.astype(lower, integers), xp.astype(upper, integers), part


def position(q: float, size: int) -> tuple[int, int, float]:
    """Compute `positions` by the method "linear" for one known fraction."""
    found = q * (size - 1)
    low = math.floor(found)
    return low, math.ceil(found), found - low


def between(xp: Namespace, low: Array, high: Array | None, part: Array | None) -> Array:
    """Interpolate, without warnings or NaN for infinite ends."""
    if high is None or part is None:
        return low
    part = xp.astype(part, low.dtype, copy=False)
    one = xp.ones_like(part)
    infinite = xp.isinf(low) | xp.isinf(high)
    # Interpolate finite ends. An infinite end is the result, unless its weight is 0 or the ends are opposite.
    zero = xp.zeros_like(low)
    a, b = xp.where(infinite, zero, low), xp.where(infinite, zero, high)
    # Equal ends give exactly this value. The difference is only used for equal ends, since others may overflow.
    equal = a == b
    finite = xp.where(equal, a + (b - xp.where(equal, a, b)) * part, a * (one - part) + b * part)
    only_low = (part == 0) | (low == high)
    ends = xp.where(only_low | xp.isfinite(high), low, xp.where(xp.isinf(low), math.nan, high))
    return xp.where(infinite, ends, finite)


def without(xp: Namespace, result: Array, undefined: Array, q: Array) -> Array:
    """Insert NaN for slices without a quantile, and for invalid fractions."""
    return xp.where(undefined | ~((q >= 0) & (q <= 1)), math.nan, result)


def nothing(xp: Namespace, flat: Array, q: Array) -> Array:
    """Make quantiles of no elements: NaN."""
    shape = (*flat.shape[:-1], math.prod(q.shape))
    return xp.full(shape, math.nan, dtype=flat.dtype, device=checks.device_of(flat))


def arranged(xp: Namespace, result: Array, x: Array, q: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Move the last axis, of the quantiles, to the front, or remove it."""
    last = result.ndim - 1
    result = xp.permute_dims(result, (last, *range(last)))
    return xp.reshape(result, shape(x, q.shape, axes, keepdims))


def shape(x: Array, q: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """Return the shape of quantiles: the shape of the fractions, then that of `x` without the axes."""
    if keepdims:
        return (*q, *(1 if axis in axes else size for axis, size in enumerate(x.shape)))
    return (*q, *(size for axis, size in enumerate(x.shape) if axis not in axes))
