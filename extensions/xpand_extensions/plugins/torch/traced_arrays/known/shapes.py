"""Functions that rearrange elements. Most of their results are views, here as in PyTorch."""

import math
from collections.abc import Callable
from typing import Any, Final

import torch

from xpand_extensions.tracing._core import TracedArray
from xpand_extensions.tracing._views import linked

from ._table import Known, both, known, several

_T: Final = torch.Tensor


def _along(input: Any, dim: int, part: Any) -> Any:
    """Return the part of an array along an axis."""
    return input[(*[slice(None)] * (dim % input.ndim), part, ...)]


@known(_T.view)
def _view(xp: Any, input: Any, *shape: Any) -> Any:
    shape = several(shape)
    return NotImplemented if any(isinstance(x, torch.dtype) for x in shape) else xp.reshape(input, shape)


@known(torch.reshape)
def _reshape(xp: Any, input: Any, shape: Any) -> Any:
    return xp.reshape(input, tuple(shape))


@known(_T.reshape)
def _reshape_method(xp: Any, input: Any, *shape: Any) -> Any:
    return xp.reshape(input, several(shape))


@known(_T.view_as, _T.reshape_as)
def _view_as(xp: Any, input: Any, other: Any) -> Any:
    return xp.reshape(input, tuple(other.shape))


@known(*both("flatten"))
def _flatten(xp: Any, input: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    if not isinstance(start_dim, int) or not isinstance(end_dim, int):
        return NotImplemented
    if not input.ndim:
        return xp.reshape(input, (1,))
    first, last = start_dim % input.ndim, end_dim % input.ndim
    if first > last:
        return NotImplemented
    if first == last:
        return input
    shape = tuple(input.shape)
    return xp.reshape(input, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


@known(*both("ravel"))
def _ravel(xp: Any, input: Any) -> Any:
    return xp.reshape(input, (-1,))


@known(*both("unflatten"))
def _unflatten(xp: Any, input: Any, dim: Any, sizes: Any) -> Any:
    if not isinstance(dim, int):
        return NotImplemented
    shape, axis = tuple(input.shape), dim % input.ndim
    return xp.reshape(input, (*shape[:axis], *sizes, *shape[axis + 1 :]))


@known(*both("transpose", "swapdims"))
def _transpose(xp: Any, input: Any, dim0: int, dim1: int) -> Any:
    if not input.ndim or not (isinstance(dim0, int) and isinstance(dim1, int)):
        return NotImplemented
    axes = list(range(input.ndim))
    axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
    return xp.permute_dims(input, tuple(axes))


@known(*both("swapaxes"))
def _swapaxes(xp: Any, input: Any, axis0: int, axis1: int) -> Any:
    return _transpose(xp, input, axis0, axis1)


@known(torch.permute)
def _permute(xp: Any, input: Any, dims: Any) -> Any:
    return xp.permute_dims(input, tuple(dims))


@known(_T.permute)
def _permute_method(xp: Any, input: Any, *dims: Any) -> Any:
    return xp.permute_dims(input, several(dims))


@known(*both("t"))
def _t(xp: Any, input: Any) -> Any:
    return xp.matrix_transpose(input) if input.ndim == 2 else NotImplemented


@known(*both("squeeze"))
def _squeeze(xp: Any, input: Any, dim: Any = None) -> Any:
    axes = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    if not all(isinstance(axis, int) and -input.ndim <= axis < input.ndim for axis in axes):
        return NotImplemented
    return xp.squeeze(input, axis=tuple(axis % input.ndim for axis in axes if input.shape[axis] == 1))


@known(*both("unsqueeze"))
def _unsqueeze(xp: Any, input: Any, dim: int) -> Any:
    return xp.expand_dims(input, axis=dim)


@known(_T.expand)
def _expand(xp: Any, input: Any, *size: Any) -> Any:
    size = several(size)
    shape = (*[None] * (len(size) - input.ndim), *input.shape)
    if len(shape) != len(size):
        return NotImplemented
    return xp.broadcast_to(input, tuple(old if new == -1 else new for new, old in zip(size, shape)))


@known(_T.expand_as)
def _expand_as(xp: Any, input: Any, other: Any) -> Any:
    return xp.broadcast_to(input, tuple(other.shape))


@known(*both("broadcast_to"))
def _broadcast_to(xp: Any, input: Any, size: Any) -> Any:
    return _expand(xp, input, *size)


@known(*both("movedim", "moveaxis"))
def _movedim(xp: Any, input: Any, source: Any, destination: Any) -> Any:
    def axes(positions: Any) -> Any:
        return tuple(positions) if isinstance(positions, list) else positions

    return xp.moveaxis(input, axes(source), axes(destination))


@known(*both("split"))
def _split(xp: Any, tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    size = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step <= 0 or not size:
            return NotImplemented
        sections = [min(step, size - start) for start in range(0, size, step)]
    else:
        sections = list(split_size_or_sections)
        if sum(sections) != size:
            return NotImplemented
    return _sections(xp.wrap(tensor) if not isinstance(tensor, TracedArray) else tensor, sections, dim)


@known(*both("split_with_sizes"))
def _split_with_sizes(xp: Any, input: Any, split_sizes: Any, dim: int = 0) -> Any:
    return _split(xp, input, list(split_sizes), dim)


def _sections(x: Any, sections: list[int], dim: int) -> tuple[Any, ...]:
    starts = [sum(sections[:i]) for i in range(len(sections))]
    return tuple(_along(x, dim, slice(start, start + size)) for start, size in zip(starts, sections))


@known(*both("chunk"))
def _chunk(xp: Any, input: Any, chunks: int, dim: int = 0) -> Any:
    return _split(xp, input, -(-input.shape[dim] // chunks) if chunks > 0 else 0, dim)


@known(*both("tensor_split"))
def _tensor_split(xp: Any, input: Any, indices_or_sections: Any, dim: int = 0) -> Any:
    size = input.shape[dim]
    if isinstance(indices_or_sections, torch.Tensor):
        return NotImplemented
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0:
            return NotImplemented
        return _sections(input, [size // count + (i < size % count) for i in range(count)], dim)
    ends = [*indices_or_sections, size]
    if ends != sorted(ends) or ends[0] < 0:
        return NotImplemented
    return _sections(input, [end - start for start, end in zip([0, *ends], ends)], dim)


def _split_in(axis_of: Callable[[Any], int]) -> Known:
    def apply(xp: Any, input: Any, indices_or_sections: Any) -> Any:
        return _tensor_split(xp, input, indices_or_sections, axis_of(input))

    return apply


known(*both("hsplit"))(_split_in(lambda x: 1 if x.ndim > 1 else 0))
known(*both("vsplit"))(_split_in(lambda x: 0))
known(*both("dsplit"))(_split_in(lambda x: 2))


@known(*both("unbind"))
def _unbind(xp: Any, input: Any, dim: int = 0) -> Any:
    return tuple(xp.unstack(input, axis=dim))


@known(*both("narrow"))
def _narrow(xp: Any, input: Any, dim: int, start: Any, length: int) -> Any:
    size = input.shape[dim]
    if not isinstance(start, int) or not (-size <= start <= size and length >= 0):
        return NotImplemented
    start += size * (start < 0)
    return _along(input, dim, slice(start, start + length)) if start + length <= size else NotImplemented


@known(*both("select"))
def _select(xp: Any, input: Any, dim: int, index: Any) -> Any:
    return _along(input, dim, index) if isinstance(index, int) else NotImplemented


@known(*both("diagonal"))
def _diagonal(xp: Any, input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    return xp.linalg.diagonal(xp.moveaxis(input, (dim1, dim2), (-2, -1)), offset=offset)


@known(torch.cat, torch.concat, torch.concatenate)
def _cat(xp: Any, tensors: Any, dim: int = 0) -> Any:
    # PyTorch skips arrays of shape (0,).
    return NotImplemented if any(tuple(x.shape) == (0,) for x in tensors) else xp.concat(list(tensors), axis=dim)


@known(torch.stack)
def _stack(xp: Any, tensors: Any, dim: int = 0) -> Any:
    return xp.stack(list(tensors), axis=dim)


@known(torch.tile)
def _tile(xp: Any, input: Any, dims: Any) -> Any:
    return xp.tile(input, tuple(dims))


@known(_T.tile)
def _tile_method(xp: Any, input: Any, *dims: Any) -> Any:
    return xp.tile(input, several(dims))


@known(_T.repeat)
def _repeat(xp: Any, input: Any, *repeats: Any) -> Any:
    repeats = several(repeats)
    return NotImplemented if len(repeats) < input.ndim else xp.tile(input, repeats)


@known(*both("repeat_interleave"))
def _repeat_interleave(xp: Any, input: Any, repeats: Any, dim: int | None = None) -> Any:
    if not isinstance(repeats, int):
        return NotImplemented
    return xp.repeat(xp.reshape(input, (-1,)) if dim is None else input, repeats, axis=dim or 0)


@known(*both("roll"))
def _roll(xp: Any, input: Any, shifts: Any, dims: Any = None) -> Any:
    both_given = [tuple(x) if isinstance(x, (tuple, list)) else x for x in (shifts, dims)]
    if both_given[1] == ():
        both_given[1] = None
    if isinstance(both_given[0], tuple) and len(both_given[0]) == 1 and both_given[1] is None:
        both_given[0] = both_given[0][0]
    return xp.roll(input, both_given[0], axis=both_given[1])


@known(torch.flip)
def _flip(xp: Any, input: Any, dims: Any) -> Any:
    return xp.flip(input, axis=tuple(dims)) if len(dims) else NotImplemented


@known(_T.flip)
def _flip_method(xp: Any, input: Any, *dims: Any) -> Any:
    return _flip(xp, input, several(dims))


def _triangle(name: str) -> Any:
    def apply(xp: Any, input: Any, diagonal: int = 0) -> Any:
        return getattr(xp, name)(input, k=diagonal)

    return apply


for _name in ("tril", "triu"):
    known(*both(_name))(_triangle(_name))


@known(_T.contiguous)
def _contiguous(xp: Any, input: Any, memory_format: Any = torch.contiguous_format) -> Any:
    if memory_format is not torch.contiguous_format:
        return NotImplemented
    if input._view is None:
        return input
    op, params = xp.operations["reshape"], {"shape": tuple(input.shape), "copy": None}
    same = xp.array_type(input._trace, input._value, input._extra)
    return linked(same, input, op, params, _made_contiguous)


def _made_contiguous(x: Any, **params: Any) -> Any:
    return x.contiguous()
