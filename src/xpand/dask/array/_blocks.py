"""Functions of whole arrays, applied to the blocks of lazy ones.

Everything here builds a graph and computes nothing. A function is named, not passed: which library it comes from is
asked of the blocks when they exist, so that blocks of NumPy and of CuPy are served by the same graph, each with the
corrections of its own namespace.
"""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.array.core import concatenate_axes
from dask.utils import parse_bytes
from numpy.lib.array_utils import normalize_axis_index

from ..._namespace import array_namespace
from ...typing import DType, LibraryArray as Array

Index = tuple[int, ...]
"""Labels of the axes of one operand; axes with the same label run together."""

Core = tuple[Sequence[float], DType]
"""Size of the trailing axes of an output, NaN where it depends on the data, and its data type."""


def call(*blocks: Any, function: str, **kwargs: Any) -> Any:
    """Call the function of this (dotted) name from the namespace of the blocks."""
    target: Any = array_namespace(*blocks)
    for name in function.split("."):
        target = getattr(target, name)
    return target(*blocks, **kwargs)


def elementwise(function: str, *args: Any, **kwargs: Any) -> Array:
    """Apply an elementwise function to broadcast arrays and Python scalars, block by block.

    Keywords are those of Dask's `elemwise`: `out`, `where`, and `dtype`, else inferred by a call with one element.
    """
    result = da.core.elemwise(partial(call, function=function), *args, **kwargs)
    if result is NotImplemented:  # how Dask says that the inference of the data type failed
        types = ", ".join(str(getattr(a, "dtype", type(a).__name__)) for a in args)
        raise TypeError(f"{function}: not defined for arguments of type {types}")
    return result


def is_known(x: Array) -> bool:
    """Return whether all sizes of an array are known before it is computed."""
    return not any(math.isnan(size) for size in x.shape)


def merge(x: Array, axes: Sequence[int]) -> Array:
    """Bring `axes` into one chunk each; where blocks grow beyond Dask's chunk size, the other axes are split for it.

    An array whose sizes are unknown, or zero, can't be rechunked so and comes back as it is.
    """
    if all(x.numblocks[axis] == 1 for axis in axes) or not is_known(x) or x.size == 0:
        return x
    block = math.prod(x.shape[axis] if axis in axes else max(x.chunks[axis]) for axis in range(x.ndim))
    small = block * x.dtype.itemsize <= parse_bytes(dask.config.get("array.chunk-size"))
    return x.rechunk({axis: -1 if axis in axes else "auto" for axis in (axes if small else range(x.ndim))})


def _meta(like: Array, ndim: int, dtype: DType) -> Array:
    """Make an empty block of the kind that `like` has, which tells Dask the kind of the result's blocks."""
    return np.empty_like(like._meta, shape=(0,) * ndim, dtype=dtype)


def _joined(nested: Any, axes: Sequence[int]) -> Any:
    """Join the nested lists of blocks that Dask passes for axes that the output lacks; a single block isn't copied."""
    block = nested
    while isinstance(block, list) and len(block) == 1:
        block = block[0]
    return concatenate_axes(nested, axes) if isinstance(block, list) else block


def _call_joined(
    *nested: Any, function: str, joins: Sequence[Sequence[int]], keywords: Sequence[str], **kwargs: Any
) -> Any:
    blocks = [_joined(n, axes) for n, axes in zip(nested, joins)]
    positional = len(blocks) - len(keywords)
    return call(*blocks[:positional], function=function, **dict(zip(keywords, blocks[positional:])), **kwargs)


def _pick(results: Any, position: int) -> Any:
    return results[position]


def gather(
    function: str,
    output: Index,
    *operands: tuple[Array, Index],
    dtype: DType,
    sizes: dict[int, float] | None = None,
    keywords: Sequence[str] = (),
    **kwargs: Any,
) -> Array:
    """Apply a function to blocks that are whole along every axis whose label is not in `output`.

    Args:
        function: Name of the function in the blocks' namespace.
        output: Labels of the result's axes.
        *operands: Each array with the labels of its axes. Axes of one label broadcast and are chunked alike.
        dtype: The result's data type.
        sizes: Size of each axis of the result that is in no operand; NaN if it depends on the data.
        keywords: Names by which the last operands are passed.
        **kwargs: Passed on to the function.
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
        token=function.rpartition(".")[2],
    )


def along_axis(function: str, x: Array, axis: int, *, dtype: DType, size: float | None = None, **kwargs: Any) -> Array:
    """Apply a function that works along one axis, whose size becomes `size` (None: stays)."""
    axis = normalize_axis_index(axis, x.ndim)
    index = tuple(range(x.ndim))
    output = (*index[:axis], x.ndim, *index[axis + 1 :])
    sizes = {x.ndim: x.shape[axis] if size is None else size}
    found = gather(function, output, (x, index), dtype=dtype, sizes=sizes, axis=axis, **kwargs)
    # Chunks that were merged for the function are split again; chunks that the user chose stay.
    return found if x.numblocks[axis] == 1 else _divided(found, axis)


def _divided(x: Array, axis: int) -> Array:
    """Split an axis where blocks are larger than Dask's chunk size."""
    if not is_known(x) or x.size == 0:
        return x
    block = math.prod(map(max, x.chunks)) * x.dtype.itemsize
    return x if block <= parse_bytes(dask.config.get("array.chunk-size")) else x.rechunk({axis: "auto"})


def map_core(
    function: str, arrays: Sequence[Array], ndims: Sequence[int], outputs: Sequence[Core], **kwargs: Any
) -> tuple[Array, ...]:
    """Apply a function of the last axes of arrays (of matrices, say) over stacks, one block of the stack at a time.

    Args:
        function: Name of the function; it must map over stacks by itself.
        arrays: Operands, whose leading axes broadcast.
        ndims: For each operand, how many last axes the function consumes as a whole.
        outputs: For each result, its trailing shape and data type. Several: the function returns a sequence.
        **kwargs: Passed on to the function.
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
    # One intermediate array, whose blocks are the tuples that the function returns, and one array for each position.
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
