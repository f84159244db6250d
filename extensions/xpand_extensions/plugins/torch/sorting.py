"""Sorting on PyTorch, by its selection and bisection, with a defined order of equal values and NaN."""

from typing import Final

import torch

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._dtypes import SIGNED
from xpand_extensions.generic import sorting as generic
from xpand_extensions.generic._selection import select
from xpand_extensions.sorting import Side, TopK

from ._unsigned import ordered

_FEW: Final = 32
"""The number of values up to which Python compares them faster than PyTorch."""


def _gathered(x: Array, axis: int, indices: Array) -> Array:
    signed = SIGNED.get(x.dtype)
    return x.gather(axis, indices) if signed is None else x.view(signed).gather(axis, indices).view(x.dtype)


def top_k(x: Array, /, k: int, *, axis: int = -1, largest: bool = True) -> TopK:
    key = ordered(x)
    if is_concrete(x) and 0 < 4 * k < x.shape[axis]:
        indices = _selected(key.detach(), k, axis, largest)
    else:
        indices = _sorted(key, k, axis, largest)
    return TopK(_gathered(x, axis, indices), indices)


def _sorted(key: Array, k: int, axis: int, largest: bool) -> Array:
    return key.sort(dim=axis, descending=largest, stable=True).indices.narrow(axis, 0, k)


def _selected(key: Array, k: int, axis: int, largest: bool) -> Array:
    """Select without a full sort. PyTorch selects any of equal values: a further value shows whether there are any."""
    values, indices = key.topk(k + 1, axis, largest)
    if key.ndim == 1 and k < _FEW:
        known = values.tolist()
        if (
            len({*known}) == len(known) and known[0] == known[0] and known[-1] == known[-1]
        ):  # NaN would be first or last
            return indices.narrow(axis, 0, k)
    before, after = values.narrow(axis, 0, k), values.narrow(axis, 1, k)
    if bool((before > after if largest else before < after).all()):
        return indices.narrow(axis, 0, k)
    last, beyond = before.narrow(axis, k - 1, 1), after.narrow(axis, k - 1, 1)
    if bool(last.isnan().any()):
        return _sorted(key, k, axis, largest)
    if bool((last == beyond).any()):
        moved = select(key.movedim(axis, -1), last.movedim(axis, -1), k, largest=largest)
        indices = moved.movedim(-1, axis)
    else:
        indices = indices.narrow(axis, 0, k).sort(dim=axis).values
    return indices.gather(axis, _sorted(key.gather(axis, indices), k, axis, largest))


def partition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    return _gathered(x, axis, argpartition(x, kth, axis=axis))


def argpartition(x: Array, /, kth: int, *, axis: int = -1) -> Array:
    """Sort by small integers, for values below, equal to and above the one at `kth`. It is ten times faster."""
    key = ordered(x.detach())
    if not key.numel():
        return key.argsort(dim=axis)
    sought = key.kthvalue(kth + 1, dim=axis, keepdim=True).values
    group = (~(key < sought)).to(torch.uint8) + ~(key <= sought)
    if key.is_floating_point():
        missing = key.isnan()
        group = torch.where(sought.isnan(), missing.to(torch.uint8), group)
    return group.argsort(dim=axis, stable=True)


def searchsorted(x1: Array, x2: Array, /, *, side: Side = "left", sorter: Array | None = None) -> Array:
    x1, x2 = ordered(x1), ordered(x2)
    if sorter is not None:
        x1 = x1.gather(-1, sorter.to(torch.int64))
    if x1.ndim > 1:
        lead = torch.broadcast_shapes(x1.shape[:-1], x2.shape[:-1])
        x1, x2 = x1.expand(*lead, x1.shape[-1]), x2.expand(*lead, x2.shape[-1])
    if 0 in x1.shape or 0 in x2.shape:
        return torch.zeros(x2.shape, dtype=torch.int64, device=x2.device)
    if not is_concrete(x1) or not is_concrete(x2):
        return generic.searchsorted(x1, x2, side=side)
    x1, x2 = x1.detach().contiguous(), x2.detach().contiguous()
    # PyTorch inserts NaN at the end, but is wrong if the sorted values contain NaN.
    if not x1.is_floating_point() or not bool(x1[..., -1].isnan().any()):
        return torch.searchsorted(x1, x2, side=side)
    missing = x1.isnan()
    numbers = (~missing).sum(-1, keepdim=x1.ndim > 1)
    found = torch.searchsorted(x1.masked_fill(missing, torch.inf), x2, side=side).minimum(numbers)
    return torch.where(x2.isnan(), numbers if side == "left" else x1.shape[-1], found)
