"""Functions of whole arrays, applied to the blocks of lazy arrays.

These functions build a graph and compute nothing. They take a function of blocks, or its name in the namespace of the
blocks. So the same graph works for blocks of NumPy and of CuPy.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial, wraps
from itertools import count
from typing import Any, TypeAlias, TypeVar

import dask
import dask.array as da
import numpy as np
from dask.array.core import concatenate_axes
from dask.utils import parse_bytes
from numpy.lib.array_utils import normalize_axis_index

from ..._namespace import array_namespace
from ...typing import DType, LibraryArray as Array

F = TypeVar("F", bound=Callable[..., Any])

Function: TypeAlias = str | Callable[..., Any]
"""A function of blocks, or the (dotted) name of one in the namespace of the blocks."""

Index = tuple[int, ...]
"""Labels of the axes of one operand. Axes with the same label are the same axis."""

Core = tuple[Sequence[float], DType]
"""The sizes of the trailing axes of an output (NaN if a size depends on values), and its data type."""


def call(*blocks: Any, function: Function, **kwargs: Any) -> Any:
    """Call a function of blocks."""
    if not isinstance(function, str):
        return function(*blocks, **kwargs)
    target: Any = array_namespace(*blocks)
    for name in function.split("."):
        target = getattr(target, name)
    return target(*blocks, **kwargs)


def elementwise(function: Function, *args: Any, **kwargs: Any) -> Array:
    """Apply an elementwise function to broadcast arrays and Python scalars, block by block.

    Keywords are the same as for Dask's `elemwise`: `out`, `where`, and `dtype`. By default, the data type is inferred
    by a call with one element.
    """
    result = da.core.elemwise(partial(call, function=function), *args, **kwargs)
    if result is NotImplemented:  # Dask could not infer the data type
        types = ", ".join(str(getattr(a, "dtype", type(a).__name__)) for a in args)
        raise TypeError(f"{function}: not defined for arguments of type {types}")
    return result


def by_blocks(function: F) -> F:
    """Return a function that applies an elementwise function of blocks, whose result has the promoted data type."""

    @wraps(function)
    def run(*arrays: Any) -> Any:
        return elementwise(function, *arrays, dtype=da.result_type(*arrays))

    return run  # type: ignore[return-value]


def is_known(x: Array) -> bool:
    """Return whether all sizes of an array are known."""
    return not any(math.isnan(size) for size in x.shape)


def with_sizes(x: Array) -> Array:
    """Return the same array with its sizes, which are computed. Dask's method changes the array itself."""
    found = da.Array(x.dask, x.name, x.chunks, meta=x._meta).compute_chunk_sizes()
    chunks = tuple(tuple(map(int, along)) for along in found.chunks)
    return da.Array(x.dask, x.name, chunks, meta=x._meta)


def merge(x: Array, axes: Sequence[int]) -> Array:
    """Merge the chunks along each of `axes`. If blocks become larger than Dask's chunk size, split the other axes.

    Arrays with an unknown or zero size cannot be rechunked, and are returned unchanged.
    """
    if all(x.numblocks[axis] == 1 for axis in axes) or not is_known(x) or x.size == 0:
        return x
    block = math.prod(x.shape[axis] if axis in axes else max(x.chunks[axis]) for axis in range(x.ndim))
    small = block * x.dtype.itemsize <= parse_bytes(dask.config.get("array.chunk-size"))
    return x.rechunk({axis: -1 if axis in axes else "auto" for axis in (axes if small else range(x.ndim))})


def _meta(like: Array, ndim: int, dtype: DType) -> Array:
    """Make an empty block of the same library as `like`. Dask takes the type of the result's blocks from it."""
    return np.empty_like(like._meta, shape=(0,) * ndim, dtype=dtype)


def _joined(nested: Any, axes: Sequence[int]) -> Any:
    """Join the nested lists of blocks that Dask passes for axes missing in the output. Do not copy a single block."""
    block = nested
    while isinstance(block, list) and len(block) == 1:
        block = block[0]
    return concatenate_axes(nested, axes) if isinstance(block, list) else block


def _call_joined(
    *nested: Any, function: Function, joins: Sequence[Sequence[int]], keywords: Sequence[str], **kwargs: Any
) -> Any:
    blocks = [_joined(n, axes) for n, axes in zip(nested, joins)]
    positional = len(blocks) - len(keywords)
    return call(*blocks[:positional], function=function, **dict(zip(keywords, blocks[positional:])), **kwargs)


def _pick(results: Any, position: int) -> Any:
    return results[position]


def gather(
    function: Function,
    output: Index,
    *operands: tuple[Array, Index],
    dtype: DType,
    sizes: dict[int, float] | None = None,
    keywords: Sequence[str] = (),
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks, after merging the chunks along axes whose label is not in `output`.

    Args:
        function: The function of blocks.
        output: The labels of the result's axes.
        *operands: Arrays with the labels of their axes. Axes with the same label broadcast, and get the same chunks.
        dtype: The data type of the result.
        sizes: The sizes of the result's axes that no operand has; NaN if a size depends on values.
        keywords: The parameter names for the last operands.
        **kwargs: More arguments for the function.
    """
    joins = [[axis for axis, label in enumerate(index) if label not in output] for _, index in operands]
    merged = [merge(x, axes) for (x, _), axes in zip(operands, joins)]
    flat = [part for x, (_, index) in zip(merged, operands) for part in (x, index)]
    return da.blockwise(
        partial(_call_joined, function=function, joins=joins, keywords=keywords, **kwargs),
        output,
        *flat,
        new_axes=sizes,
        dtype=dtype,
        meta=_meta(operands[0][0], len(output), dtype),
        token=function.rpartition(".")[2] if isinstance(function, str) else function.__name__.strip("_"),
    )


def along_axis(
    function: Function, x: Array, axis: int, *, dtype: DType, size: float | None = None, **kwargs: Any
) -> Array:
    """Apply a function along one axis. `size` is the new size of the axis, or None if it stays the same."""
    axis = normalize_axis_index(axis, x.ndim)
    index = tuple(range(x.ndim))
    output = (*index[:axis], x.ndim, *index[axis + 1 :])
    sizes = {x.ndim: x.shape[axis] if size is None else size}
    found = gather(function, output, (x, index), dtype=dtype, sizes=sizes, axis=axis, **kwargs)
    # Split the axis again if its chunks were merged. Do not split a single chunk that the user chose.
    return found if x.numblocks[axis] == 1 else _divided(found, axis)


def _divided(x: Array, axis: int) -> Array:
    """Split an axis if blocks are larger than Dask's chunk size."""
    if not is_known(x) or x.size == 0:
        return x
    block = math.prod(map(max, x.chunks)) * x.dtype.itemsize
    return x if block <= parse_bytes(dask.config.get("array.chunk-size")) else x.rechunk({axis: "auto"})


def map_core(
    function: Function, arrays: Sequence[Array], ndims: Sequence[int], outputs: Sequence[Core], **kwargs: Any
) -> tuple[Array, ...]:
    """Apply a function of the last axes of arrays, such as matrices, to each block of the stack.

    Args:
        function: The function of blocks, which must accept stacks.
        arrays: The operands. Their leading axes broadcast.
        ndims: For each operand, the number of last axes that the function needs in one chunk.
        outputs: The trailing shape and the data type of each result. If there are several, the function returns a
            sequence.
        **kwargs: More arguments for the function.
    """
    stack = max(x.ndim - n for x, n in zip(arrays, ndims))
    labels: Iterator[int] = count(stack)
    operands = [
        (x, (*range(stack - x.ndim + n, stack), *(next(labels) for _ in range(n)))) for x, n in zip(arrays, ndims)
    ]
    batch = tuple(range(stack))
    if len(outputs) == 1:
        shape, dtype = outputs[0]
        sizes = {next(labels): size for size in shape}
        return (gather(function, (*batch, *sizes), *operands, dtype=dtype, sizes=sizes, **kwargs),)
    # One intermediate array has the tuples that the function returns as blocks. Each result picks one position.
    results = gather(function, batch, *operands, dtype=outputs[0][1], **kwargs)
    picked = []
    for position, (shape, dtype) in enumerate(outputs):
        sizes = {next(labels): size for size in shape}
        picked.append(
            da.blockwise(
                _pick,
                (*batch, *sizes),
                results,
                batch,
                position=position,
                new_axes=sizes,
                dtype=dtype,
                meta=_meta(arrays[0], stack + len(shape), dtype),
            )
        )
    return tuple(picked)
