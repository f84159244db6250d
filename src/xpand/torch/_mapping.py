"""Rules of `torch.func.vmap` that PyTorch lacks: for another data type of the same bits, counting, and conjugates.

PyTorch refuses to map the first and warns of the others. The unsigned integers need the first in nearly every function.
A rule that is registered here holds for all code in the process, but only for operations without a rule of PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..typing import DType, LibraryArray as Array
from . import _private as private

_MAPPED = "FuncTorchBatched"


def _mapped(function: Callable[..., Array]) -> Callable[..., Array]:
    """Map `function`, of an array whose first axis is that of the map, at the level that is being interpreted."""

    def rule(x: Array, *options: object) -> Array:
        level = private.current_level()
        assert level is not None
        stacked, axis = private.unwrap_mapped(x, level)
        with private.without_mapping():
            return private.wrap_mapped(function(stacked.movedim(axis, 0), *options), 0, level)

    return rule


def _view(x: Array, dtype: DType) -> Array:
    if x.ndim == 1 and dtype.itemsize != x.dtype.itemsize:
        x.new_empty(()).view(dtype)  # the mapped array is 0-d: PyTorch raises its own error
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
_LIBRARY = torch.library.Library("aten", "IMPL")  # the rules are removed with it

for _name, _function in _RULES.items():
    if not private.has_kernel(f"aten::{_name}", _MAPPED):
        _LIBRARY.impl(_name, _mapped(_function), _MAPPED)
