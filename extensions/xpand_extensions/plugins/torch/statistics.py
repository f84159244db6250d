"""Statistics on PyTorch: by its cumulative operations, and by few small operations for one quantile."""

import math
from collections.abc import Callable
from typing import Any

import torch

import xpand.torch as xp
from xpand.extend import Array
from xpand.torch._differentiated import is_differentiated
from xpand.torch._dtypes import SIGNED
from xpand_extensions._dtypes import widened
from xpand_extensions.generic import statistics as generic
from xpand_extensions.generic._last_axis import as_last
from xpand_extensions.generic.statistics import _order as order
from xpand_extensions.generic.statistics._ranks import rank_by
from xpand_extensions.statistics._arguments import with_initial

from ._plain import is_on_host


def quantile(
    x: Array, /, q: Any, *, axis: Any = None, method: Any = "linear", keepdims: bool = False, weights: Any = None
) -> Array:
    flat = as_last(xp, x, axis)
    if not isinstance(q, float) or method != "linear" or not flat.shape[-1]:
        return generic.quantile(x, q, axis=axis, method=method, keepdims=keepdims, weights=weights)
    low, high, part = order.position(q, flat.shape[-1])
    ordered = torch.sort(flat, dim=-1).values
    result, last = ordered[..., low], ordered[..., -1]
    if part:
        first, second = result, ordered[..., high]
        result = first * (1 - part) + second * part
        # Between two equal values, the result is exactly their value. Their weights in the derivative stay.
        rounding = torch.where((first == second) & torch.isfinite(first), first - result, 0.0)
        result = result + rounding.detach()
    # NaN comes last in PyTorch's order.
    return torch.where(torch.isnan(last), torch.nan, result).reshape(order.shape(x, (), axis, keepdims))


def rankdata(x: Array, /, method: str = "average", *, axis: Any = None) -> Array:
    return rank_by(lambda order, values: torch.scatter(values, -1, order, values), x, method, axis)


def nansum(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    # PyTorch's nansum does not support complex numbers.
    if not x.dtype.is_floating_point or not x.ndim:
        return generic.nansum(x, axis=axis, keepdims=keepdims)
    return torch.nansum(x, dim=axis, keepdim=keepdims)


@widened
def nanmean(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    if not x.ndim or not is_on_host(x):
        return generic.nanmean(x, axis=axis, keepdims=keepdims)
    return torch.nanmean(x, dim=axis, keepdim=keepdims)


def nanmax(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nan_extreme(torch.amax, generic.nanmax, -math.inf, x, axis, keepdims)


def nanmin(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    return _nan_extreme(torch.amin, generic.nanmin, math.inf, x, axis, keepdims)


def _nan_extreme(
    native: Callable[..., Array], other: Callable[..., Array], fill: float, x: Array, axis: Any, keepdims: bool
) -> Array:
    if 0 not in x.shape and is_on_host(x):
        found = native(torch.nan_to_num(x, nan=fill, posinf=math.inf, neginf=-math.inf), dim=axis, keepdim=keepdims)
        if not bool((found == fill).any()):  # else all may be NaN
            return found
    return other(x, axis=axis, keepdims=keepdims)


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return _extreme("cumulative_max", torch.cummax, x, axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    return _extreme("cumulative_min", torch.cummin, x, axis, include_initial)


def _extreme(name: str, native: Callable[..., Any], x: Array, axis: int, include_initial: bool) -> Array:
    if x.dtype in SIGNED:
        unsigned: Array = getattr(generic, name)(x, axis=axis, include_initial=include_initial)
        return unsigned
    return with_initial(native(x, axis).values, name, axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    if is_differentiated(x):
        # PyTorch's derivatives are quotients of exponentials, which are inexact if these differ much in size.
        return generic.logcumsumexp(x, axis=axis, include_initial=include_initial)
    return with_initial(torch.logcumsumexp(x, axis), "logcumsumexp", axis, include_initial)
