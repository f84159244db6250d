"""Sorting, searching and sets."""

from __future__ import annotations

import math
from typing import Any, Literal

import torch
from array_api_compat.torch import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from torch import Tensor

from .._common.integers import LARGEST, SMALLEST, insertion
from ..typing import LibraryArray as Array
from ._binary import promote, refuse_names, same_type
from ._concrete import is_concrete
from ._differentiated import is_all_false, is_differentiated
from ._dtypes import LIMITS, SIGNED, as_tensor, fitting, to_ordered, to_signed

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "nonzero",
    "searchsorted",
    "sort",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "where",
]


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return a sorted copy; with `stable`, equal elements keep their order."""
    if kwargs:
        refuse_names("sort", kwargs)
    return torch.sort(x, dim=axis, descending=descending, stable=stable, **kwargs)[0]


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **kwargs: Any) -> Array:
    """Return the indices that sort `x`; with `stable`, equal elements keep their order."""
    if kwargs:
        refuse_names("argsort", kwargs)
    return torch.argsort(x, dim=axis, descending=descending, stable=stable, **kwargs)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the first largest element along an axis, or of the flattened array."""
    return torch.argmax(to_ordered(x) if x.dtype in SIGNED else x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the first smallest element along an axis, or of the flattened array."""
    return torch.argmin(to_ordered(x) if x.dtype in SIGNED else x, axis, keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero, one array for each dimension."""
    if x.ndim == 0:
        raise ValueError("nonzero: `x` has no dimension; add one with `reshape` or `expand_dims`")
    return tuple(torch.nonzero(to_signed(x) if x.dtype in SIGNED else x, as_tuple=True))


def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the elements of `x1` where `condition` is true, and of `x2` elsewhere."""
    if isinstance(x1, Tensor):
        if isinstance(x2, Tensor):
            if x1.dtype is not x2.dtype:
                x1, x2 = promote(x1, x2)
        else:
            if type(x2) is int and not SMALLEST <= x2 <= LARGEST:
                x2 = fitting("where", x2, x1.dtype)
            if x1.dtype in SIGNED:
                x1, x2 = same_type(x1, x2)
    elif isinstance(x2, Tensor):
        if type(x1) is int and not SMALLEST <= x1 <= LARGEST:
            x1 = fitting("where", x1, x2.dtype)
        if x2.dtype in SIGNED:
            x1, x2 = same_type(x1, x2)
    if isinstance(x1, Tensor) and x1.dtype in SIGNED:  # PyTorch 2.11 has no kernels for these types
        return torch.where(condition, to_signed(x1), to_signed(x2)).view(x1.dtype)
    return torch.where(condition, x1, x2)


def searchsorted(
    x1: Array,
    x2: Array | float,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
    **kwargs: Any,
) -> Array:
    """Return the indices at which to insert `x2`, an array or a scalar, into the sorted `x1` or `x1[sorter]`."""
    if not isinstance(x2, Tensor):
        if type(x2) is int and x1.dtype in LIMITS:
            x2, side = insertion(x2, side, LIMITS[x1.dtype])  # type: ignore[assignment]
        x2 = as_tensor(x2, x1)
    if x1.dtype is not x2.dtype:
        x1, x2 = same_type(x1, x2)
    if x1.dtype in SIGNED:
        x1, x2 = to_ordered(x1), to_ordered(x2)
    if sorter is not None:
        sorter = sorter.to(torch.int64).contiguous()
    # PyTorch warns about arrays that are not contiguous.
    x1, x2 = x1.contiguous(), x2.contiguous()
    if x1.dtype.is_floating_point and not _ends_with_number(x1, sorter):
        return _searchsorted_with_nan(x1, x2, side, sorter, kwargs)
    return torch.searchsorted(x1, x2, side=side, sorter=sorter, **kwargs)


def _ends_with_number(x: Array, sorter: Array | None) -> bool:
    """Return whether a sorted array is known to have no NaN, which sorts last."""
    if not (x.is_cpu and is_concrete(x)):
        return False
    if x.ndim == 1 and sorter is None:
        return not x.shape[0] or not math.isnan(x[-1].item())
    last = x[..., -1:] if sorter is None else torch.take_along_dim(x, sorter[..., -1:], -1)
    return is_all_false(torch.isnan(last))


def _searchsorted_with_nan(x1: Array, x2: Array, side: str, sorter: Array | None, kwargs: dict[str, Any]) -> Array:
    """Count NaN as larger than all numbers. In PyTorch's binary search, it is smaller."""
    nan = torch.isnan(x1)
    found = torch.searchsorted(x1.masked_fill(nan, math.inf), x2, side=side, sorter=sorter, **kwargs)
    numbers = torch.sum(~nan, -1, keepdim=x1.ndim > 1).to(found.dtype)
    of_nan = numbers if side == "left" else x1.shape[-1]
    return torch.where(torch.isnan(x2), of_nan, torch.minimum(found, numbers))


def unique_values(x: Array, /) -> Array:
    """Return the distinct elements in ascending order; every NaN is distinct."""
    return torch.unique(x) if _has_kernel(x) else unique_all(x).values


def unique_counts(x: Array, /) -> UniqueCountsResult:
    """Return the distinct elements in ascending order, and their counts; every NaN is distinct."""
    if _has_kernel(x):
        return UniqueCountsResult(*torch.unique(x, return_counts=True))
    values, _, _, counts = unique_all(x)
    return UniqueCountsResult(values, counts)


def unique_inverse(x: Array, /) -> UniqueInverseResult:
    """Return the distinct elements in ascending order, and the indices that rebuild `x`; every NaN is distinct."""
    if _has_kernel(x):
        return UniqueInverseResult(*torch.unique(x, return_inverse=True))
    values, _, inverse, _ = unique_all(x)
    return UniqueInverseResult(values, inverse)


def unique_all(x: Array, /) -> UniqueAllResult:
    """Return the distinct elements in ascending order, their first indices, the indices that rebuild `x`, and counts.

    `torch.unique` does not return first indices and does not accept complex numbers, so this uses a stable sort.
    """
    elements, order = _sorted(x.flatten())
    first = torch.ones_like(elements, dtype=torch.bool)
    plain = elements.detach()
    torch.ne(plain[1:], plain[:-1], out=first[1:])
    starts = torch.nonzero(first)[:, 0]
    inverse = torch.empty_like(order)
    inverse[order] = torch.cumsum(first, 0) - 1
    counts = torch.diff(starts, append=starts.new_full((1,), order.shape[0]))
    return UniqueAllResult(elements[starts], order[starts], inverse.reshape(x.shape), counts)


def _has_kernel(x: Array) -> bool:
    """Return whether `torch.unique` supports an array. It lacks complex numbers and derivatives."""
    return not x.dtype.is_complex and not is_differentiated(x)


def _sorted(x: Array) -> tuple[Array, Array]:
    """Return a vector sorted stably, and the order. Complex numbers are sorted by real, then by imaginary parts."""
    if not x.dtype.is_complex:
        elements, order = torch.sort(x, stable=True)
        return elements, order
    order = torch.argsort(x.imag, stable=True)
    order = order[torch.argsort(x.real[order], stable=True)]
    return x[order], order
