"""Elements that are selected by integer arrays."""

from typing import Any, Final

import torch

from ._table import both, known

_T: Final = torch.Tensor
_INTEGERS: Final = (torch.int32, torch.int64)


@known(_T.__getitem__)
def _getitem(xp: Any, input: Any, key: Any) -> Any:
    return xp.wrap(input)[key]


@known(*both("index_select"))
def _index_select(xp: Any, input: Any, dim: int, index: Any) -> Any:
    return xp.take(input, index, axis=dim) if index.ndim == 1 and input.ndim else NotImplemented


@known(*both("take_along_dim"))
def _take_along_dim(xp: Any, input: Any, indices: Any, dim: int | None = None) -> Any:
    if dim is None or indices.ndim != input.ndim:
        return NotImplemented
    return _gather(xp, input, dim, indices)


@known(*both("gather"))
def _gather(xp: Any, input: Any, dim: int, index: Any) -> Any:
    if index.ndim != input.ndim or not input.ndim or index.dtype not in _INTEGERS:
        return NotImplemented
    axis = dim % input.ndim
    if any(n != m for i, (n, m) in enumerate(zip(input.shape, index.shape)) if i != axis):
        return NotImplemented  # the standard has no smaller index
    return xp.take_along_axis(input, index, axis=axis)
