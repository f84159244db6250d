"""Statistics on PyTorch: its own cumulative operations, and few small ones for one quantile."""

from typing import Any, Final

import torch

import xpand.torch as xp
from xpand._typing import Array
from xpand_extensions.generic import statistics as generic
from xpand_extensions.generic._last_axis import as_last
from xpand_extensions.generic.statistics import _order as order
from xpand_extensions.generic.statistics._cumulative import with_initial

_UNSIGNED: Final = frozenset({torch.uint16, torch.uint32, torch.uint64})
"""Types for which PyTorch has few functions."""


def quantile(x: Array, q: Any, /, *, axis: Any = None, method: Any = "linear", keepdims: bool = False) -> Array:
    flat = as_last(xp, x, axis)
    if not isinstance(q, float) or method != "linear" or not flat.shape[-1]:
        return generic.quantile(x, q, axis=axis, method=method, keepdims=keepdims)
    low, high, part = order.place(q, flat.shape[-1])
    ordered = torch.sort(flat, dim=-1).values
    result, last = ordered[..., low], ordered[..., -1]
    if part:
        first, second = result, ordered[..., high]
        result = first * (1 - part) + second * part
        # Two equal ends give just these; how much either of them counts in the derivative stays.
        rounding = torch.where((first == second) & torch.isfinite(first), first - result, 0.0)
        result = result + rounding.detach()
    # NaN comes last in PyTorch's order.
    return torch.where(torch.isnan(last), torch.nan, result).reshape(order.shape(x, (), axis, keepdims))


def nansum(x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
    # Of complex numbers PyTorch has none.
    if not x.dtype.is_floating_point or not x.ndim:
        return generic.nansum(x, axis=axis, keepdims=keepdims)
    return torch.nansum(x, dim=axis, keepdim=keepdims)


def cumulative_max(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    if x.dtype in _UNSIGNED:
        return generic.cumulative_max(x, axis=axis, include_initial=include_initial)
    return with_initial(torch.cummax(x, axis).values, "cumulative_max", axis, include_initial)


def cumulative_min(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    if x.dtype in _UNSIGNED:
        return generic.cumulative_min(x, axis=axis, include_initial=include_initial)
    return with_initial(torch.cummin(x, axis).values, "cumulative_min", axis, include_initial)


def logcumsumexp(x: Array, /, *, axis: Any = None, include_initial: bool = False) -> Array:
    # The derivative of PyTorch's own is NaN at -infinity, which the lowest finite number therefore stands for.
    low = x == -torch.inf
    total = torch.logcumsumexp(torch.where(low, torch.finfo(x.dtype).min, x), axis)
    nothing = torch.cumsum(~low, axis) == 0
    return with_initial(torch.where(nothing, -torch.inf, total), "logcumsumexp", axis, include_initial)
