"""Windows on Dask: each block by its own library, together with the elements of later blocks in its windows."""

from collections.abc import Callable
from functools import partial
from typing import Any

import dask.array as da
from dask.array.overlap import ensure_minimum_chunksize

import xpand.dask.array as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions import windows
from xpand_extensions.scatter._segments import Combination, identity
from xpand_extensions.windows._arguments import NAMES, Pass, passes, reducers
from xpand_extensions.windows._passes import pad_axis


def sliding_window_view(
    x: Array, /, window_shape: Any, *, axis: Any = None, strides: Any = 1, window_dilation: Any = 1
) -> Array:
    steps = passes(window_shape, axis, strides, ((0, 0),) * len(axis), window_dilation)
    of_block = partial(
        _apply, windows.sliding_window_view, window_shape, {"axis": axis, "window_dilation": window_dilation}
    )
    return _of_blocks(x, steps, of_block, new=window_shape)


def _reduce(combination: Combination, x: Array, steps: tuple[Pass, ...]) -> Array:
    for each in steps:
        x = pad_axis(xp, x, each, identity(xp, x.dtype, combination))
    options = {"axis": [each.axis for each in steps], "window_dilation": [each.dilation for each in steps]}
    function = getattr(windows, NAMES[combination])
    return _of_blocks(x, steps, partial(_apply, function, [each.size for each in steps], options))


window_sum, window_prod, window_min, window_max = reducers(_reduce)


def _apply(function: Callable[..., Any], window_shape: Any, options: dict[str, Any], x: Array) -> Any:
    return function(x, window_shape, **options)


def _of_blocks(x: Array, steps: tuple[Pass, ...], of_block: Callable[[Array], Any], new: tuple[int, ...] = ()) -> Array:
    """Apply a window function with stride 1 to each block, then select windows by the strides."""
    depth = {each.axis: each.span - 1 for each in steps}
    counts = [x.shape[k] - depth.get(k, 0) for k in range(x.ndim)]
    if any(count <= 0 for k, count in enumerate(counts) if k in depth):
        shape = [max(count, 0) for count in counts]
        empty = da.zeros((*shape, *new), dtype=x.dtype)
        return _strided(empty, steps)
    # A block must hold the elements that windows of the previous block need. The last block must hold a whole window.
    chunks = [ensure_minimum_chunksize(depth[k] + 1, c) if k in depth else c for k, c in enumerate(x.chunks)]
    x = x.rechunk(tuple(chunks))
    lengths = [(*c[:-1], c[-1] - depth.get(k, 0)) for k, c in enumerate(x.chunks)]
    result = da.map_overlap(
        of_block,
        x,
        depth={k: (0, depth.get(k, 0)) for k in range(x.ndim)},
        boundary="none",
        trim=False,
        align_arrays=False,
        new_axis=list(range(x.ndim, x.ndim + len(new))) or None,
        chunks=(*lengths, *((size,) for size in new)),
        meta=da.utils.meta_from_array(x, ndim=x.ndim + len(new)),
    )
    return _strided(result, steps)


def _strided(x: Array, steps: tuple[Pass, ...]) -> Array:
    key = [slice(None)] * x.ndim
    for each in steps:
        key[each.axis] = slice(None, None, each.stride)
    return x[tuple(key)]
