"""Statistics on JAX: the generic versions, compiled, and XLA's cumulative operations."""

from typing import Any

import jax

from xpand.extend import Array
from xpand_extensions.generic import statistics as generic
from xpand_extensions.statistics._initial import with_initial

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
_quantile = jax.jit(generic.quantile, static_argnames=(*_REDUCTION, "method"))
_nanquantile = jax.jit(generic.nanquantile, static_argnames=(*_REDUCTION, "method"))
cov = jax.jit(generic.cov, static_argnames=("rowvar", "correction"))
corrcoef = jax.jit(generic.corrcoef, static_argnames="rowvar")
gradient = jax.jit(generic.gradient, static_argnames=("axis", "edge_order"))
_cumulative_max = jax.jit(jax.lax.cummax, static_argnums=1)
_cumulative_min = jax.jit(jax.lax.cummin, static_argnums=1)
_logcumsumexp = jax.jit(jax.lax.cumlogsumexp, static_argnums=1)


# The fractions are arguments, not constants: others compile nothing anew.


def quantile(x: Array, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Array:
    return _quantile(x, argument(q, float), axis=axis, method=method, keepdims=keepdims)


def nanquantile(x: Array, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Array:
    return _nanquantile(x, argument(q, float), axis=axis, method=method, keepdims=keepdims)


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_cumulative_max(x, axis), "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_cumulative_min(x, axis), "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_logcumsumexp(x, axis), "logcumsumexp", axis, include_initial)
