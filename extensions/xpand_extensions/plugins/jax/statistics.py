"""Statistics on JAX: the generic versions, compiled, and XLA's cumulative operations."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import jax
import jax.numpy as jnp

from xpand.extend import Array
from xpand_extensions._dispatch import forwards_to
from xpand_extensions.generic import statistics as generic
from xpand_extensions.generic.statistics._ranks import rank_by
from xpand_extensions.statistics._arguments import with_initial

from ._placement import argument

_REDUCTION = ("axis", "keepdims")
nansum = jax.jit(generic.nansum, static_argnames=_REDUCTION)
nanprod = jax.jit(generic.nanprod, static_argnames=_REDUCTION)
nanmin = jax.jit(generic.nanmin, static_argnames=_REDUCTION)
nanmax = jax.jit(generic.nanmax, static_argnames=_REDUCTION)
nanmean = jax.jit(generic.nanmean, static_argnames=_REDUCTION)
nanvar = jax.jit(generic.nanvar, static_argnames=(*_REDUCTION, "correction"))
nanstd = jax.jit(generic.nanstd, static_argnames=(*_REDUCTION, "correction"))
nanargmin = jax.jit(generic.nanargmin, static_argnames=_REDUCTION)
nanargmax = jax.jit(generic.nanargmax, static_argnames=_REDUCTION)
ptp = jax.jit(generic.ptp, static_argnames=_REDUCTION)
average = jax.jit(generic.average, static_argnames=_REDUCTION)
cov = jax.jit(generic.cov, static_argnames=("rowvar", "correction"))
skew = jax.jit(generic.skew, static_argnames=(*_REDUCTION, "bias"))
kurtosis = jax.jit(generic.kurtosis, static_argnames=(*_REDUCTION, "bias", "fisher"))
mode = jax.jit(generic.mode, static_argnames=_REDUCTION)
corrcoef = jax.jit(generic.corrcoef, static_argnames="rowvar")
gradient = jax.jit(generic.gradient, static_argnames=("axis", "edge_order"))


@partial(jax.jit, static_argnames=("method", "axis"))
def rankdata(x: Array, /, method: str = "average", *, axis: Any = None) -> Array:
    place = lambda order, values: jnp.put_along_axis(values, order, values, axis=-1, inplace=False)
    return rank_by(place, x, method, axis)


def _quantile(function: Callable[..., Array]) -> Callable[..., Array]:
    """Compile a quantile. The fractions are a traced argument, so other fractions need no compilation."""
    compiled = jax.jit(function, static_argnames=(*_REDUCTION, "method"))

    @forwards_to(function)
    def quantile(x: Array, q: Any, /, **options: Any) -> Array:
        return compiled(x, argument(q, float), **options)

    return quantile


quantile = _quantile(generic.quantile)
nanquantile = _quantile(generic.nanquantile)


def _cumulative(function: Callable[..., Array], facade: Callable[..., Array]) -> Callable[..., Array]:
    @partial(jax.jit, static_argnames=("axis", "include_initial"))
    @wraps(facade)
    def accumulate(x: Array, /, *, axis: int, include_initial: bool) -> Array:
        return with_initial(function(x, axis), facade.__name__, axis, include_initial)

    found: Callable[..., Array] = accumulate
    return found


cumulative_max = _cumulative(jax.lax.cummax, generic.cumulative_max)
cumulative_min = _cumulative(jax.lax.cummin, generic.cumulative_min)
logcumsumexp = _cumulative(jax.lax.cumlogsumexp, generic.logcumsumexp)
