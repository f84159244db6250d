"""Rules of `torch.func.vmap` that PyTorch lacks: for `view(dtype)`, `count_nonzero` and `conj_physical`.

PyTorch raises an error for the first, which nearly every function on unsigned integers needs, and warns about the
others. A rule is only registered if PyTorch has none. It then applies to all code in the process.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..typing import DType, LibraryArray as Array
from . import _private as private

_MAPPED = "FuncTorchBatched"


def _mapped(function: Callable[..., Array]) -> Callable[..., Array]:
    """Make the rule of an operation. `function` does it for all lanes, which are along the first axis of its array."""

    def rule(x: Array, *options: object) -> Array:
        level = private.current_level()
        assert level is not None
        stacked, axis = private.unwrap_mapped(x, level)
        with private.without_mapping():
            return private.wrap_mapped(function(stacked.movedim(axis, 0), *options), 0, level)

    return rule


def _view(x: Array, dtype: DType) -> Array:
    if x.ndim == 1 and dtype.itemsize != x.dtype.itemsize:
        x.new_empty(()).view(dtype)  # each lane is 0-d, for which PyTorch raises an error
    return x.view(dtype)


def _count_nonzero(x: Array, dim: int | None = None) -> Array:
    dims = tuple(range(1, x.ndim)) if dim is None else (dim % max(x.ndim - 1, 1) + 1,)
    found = torch.ne(x, 0)
    return torch.sum(found, dims) if x.ndim > 1 else found.to(torch.int64)


_RULES: dict[str, Callable[..., Tensor]] = {
    "view.dtype": _view,
    "count_nonzero": _count_nonzero,
    "_conj_physical": torch.conj_physical,
}
_LIBRARY = torch.library.Library("aten", "IMPL")  # PyTorch removes the rules if this object is deleted

for _name, _function in _RULES.items():
    if not private.has_kernel(f"aten::{_name}", _MAPPED):
        _LIBRARY.impl(_name, _mapped(_function), _MAPPED)
