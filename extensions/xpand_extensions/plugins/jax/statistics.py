"""Statistics on JAX: the generic versions, compiled, and XLA's cumulative operations."""

from typing import Any

import jax

from xpand._typing import Array
from xpand_extensions.generic import statistics as generic
from xpand_extensions.statistics._initial import with_initial

from ._placement import argument

_REDUCTION = ("axis", "keepdims")
_nansum = jax.jit(generic.nansum, static_argnames=_REDUCTION)
_nanprod = jax.jit(generic.nanprod, static_argnames=_REDUCTION)
_nanmin = jax.jit(generic.nanmin, static_argnames=_REDUCTION)
_nanmax = jax.jit(generic.nanmax, static_argnames=_REDUCTION)
_nanmean = jax.jit(generic.nanmean, static_argnames=_REDUCTION)
_nanvar = jax.jit(generic.nanvar, static_argnames=(*_REDUCTION, "correction"))
_nanstd = jax.jit(generic.nanstd, static_argnames=(*_REDUCTION, "correction"))
_nanargmin = jax.jit(generic.nanargmin, static_argnames=_REDUCTION)
_nanargmax = jax.jit(generic.nanargmax, static_argnames=_REDUCTION)
_ptp = jax.jit(generic.ptp, static_argnames=_REDUCTION)
_average = jax.jit(generic.average, static_argnames=_REDUCTION)
_quantile = jax.jit(generic.quantile, static_argnames=(*_REDUCTION, "method"))
_nanquantile = jax.jit(generic.nanquantile, static_argnames=(*_REDUCTION, "method"))
_cov = jax.jit(generic.cov, static_argnames=("rowvar", "correction"))
_corrcoef = jax.jit(generic.corrcoef, static_argnames="rowvar")
_gradient = jax.jit(generic.gradient, static_argnames=("axis", "edge_order"))
_cumulative_max = jax.jit(jax.lax.cummax, static_argnums=1)
_cumulative_min = jax.jit(jax.lax.cummin, static_argnums=1)
_logcumsumexp = jax.jit(jax.lax.cumlogsumexp, static_argnums=1)


def nansum(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nansum(x, axis=axis, keepdims=keepdims)


def nanprod(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nanprod(x, axis=axis, keepdims=keepdims)


def nanmin(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nanmin(x, axis=axis, keepdims=keepdims)


def nanmax(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nanmax(x, axis=axis, keepdims=keepdims)


def nanmean(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nanmean(x, axis=axis, keepdims=keepdims)


def nanvar(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    return _nanvar(x, axis=axis, correction=correction, keepdims=keepdims)


def nanstd(x: Array, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    return _nanstd(x, axis=axis, correction=correction, keepdims=keepdims)


def nanargmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return _nanargmin(x, axis=axis, keepdims=keepdims)


def nanargmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    return _nanargmax(x, axis=axis, keepdims=keepdims)


def ptp(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _ptp(x, axis=axis, keepdims=keepdims)


def average(x: Array, /, *, axis: Any = None, weights: Array | None = None, keepdims: bool = False) -> Array:
    return _average(x, axis=axis, weights=weights, keepdims=keepdims)


# The fractions are arguments, not constants: others compile nothing anew.


def quantile(x: Array, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Array:
    return _quantile(x, argument(q, float), axis=axis, method=method, keepdims=keepdims)


def nanquantile(x: Array, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Array:
    return _nanquantile(x, argument(q, float), axis=axis, method=method, keepdims=keepdims)


def cov(
    x: Array,
    /,
    *,
    rowvar: bool = True,
    correction: float = 1.0,
    fweights: Array | None = None,
    aweights: Array | None = None,
) -> Array:
    return _cov(x, rowvar=rowvar, correction=correction, fweights=fweights, aweights=aweights)


def corrcoef(x: Array, /, *, rowvar: bool = True) -> Array:
    return _corrcoef(x, rowvar=rowvar)


def gradient(f: Array, /, *spacing: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    return _gradient(f, *spacing, axis=axis, edge_order=edge_order)


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_cumulative_max(x, axis), "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_cumulative_min(x, axis), "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return with_initial(_logcumsumexp(x, axis), "logcumsumexp", axis, include_initial)
