"""Indexing on Dask, where the generic version would make too many tasks or needs an unknown size."""

from typing import Any

import dask.array as da

from xpand.dask.array import _blocks
from xpand.extend import LibraryArray as Array
from xpand_extensions import indexing as facade
from xpand_extensions.generic import indexing as generic


def argwhere(x: Array, /, *, size: int | None = None, fill_value: int = 0) -> Array:
    return da.argwhere(x) if size is None else generic.argwhere(x, size=size, fill_value=fill_value)


def repeat(
    x: Array, /, repeats: int | Array, *, axis: int | None = None, total_repeat_length: int | None = None
) -> Array:
    assert axis is not None, "the facade fills it in"
    if total_repeat_length is None or isinstance(repeats, int):
        return generic.repeat(x, repeats, axis=axis, total_repeat_length=total_repeat_length)
    positions = tuple(range(x.ndim))
    return _blocks.gather(
        _repeat_block,
        (*positions[:axis], x.ndim, *positions[axis + 1 :]),
        (x, positions),
        (da.broadcast_to(repeats, (x.shape[axis],)), (axis,)),
        dtype=x.dtype,
        sizes={x.ndim: total_repeat_length},
        axis=axis,
        total=total_repeat_length,
    )


def _repeat_block(x: Array, repeats: Array, *, axis: int, total: int) -> Any:
    # Only here a number turns out to be negative. It counts as 0.
    return facade.repeat(x, repeats.clip(0), axis=axis, total_repeat_length=total)
