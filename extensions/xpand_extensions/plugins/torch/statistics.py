"""Statistics on PyTorch: its own cumulative operations."""

from typing import Any, Final

import torch

from xpand._typing import Array
from xpand_extensions.generic import statistics as generic
from xpand_extensions.generic._statistics_cumulative import with_initial

_UNSIGNED: Final = frozenset({torch.uint16, torch.uint32, torch.uint64})
"""Types for which PyTorch has few functions."""


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
