"""Convolutions on Dask: the blocks' library computes each block of the result from its part of the input.

The generic version would make a task for each tap and block.
"""

import itertools

import dask.array as da

import xpand.dask.array as xp
from xpand.dask.array._blocks import gather
from xpand.extend import LibraryArray as Array
from xpand_extensions import convolution
from xpand_extensions.convolution._geometry import Geometry, by_dilation, convolver, transposer
from xpand_extensions.convolution._pieces import by_taps, dilated


def _conv(what: Geometry, x: Array, kernel: Array) -> Array:
    if not what.strides:
        return by_taps(what, x, kernel)
    sizes = what.sizes(x.shape[2:], kernel.shape[2:])
    x = dilated(xp, x, what.input_dilation).rechunk({1: -1})
    kernel = kernel.rechunk(-1)
    ranges = [_split(size, x.numblocks[axis]) for axis, size in enumerate(sizes, start=2)]
    blocks = [_block(what, x, kernel, positions) for positions in itertools.product(*ranges)]
    for axis in reversed(range(2, x.ndim)):
        number = len(ranges[axis - 2])
        blocks = [da.concatenate(blocks[i : i + number], axis=axis) for i in range(0, len(blocks), number)]
    return blocks[0]


def _split(size: int, number: int) -> list[tuple[int, int]]:
    """Split a size into ranges of nearly equal length."""
    number = min(number, size)
    ends = [size * i // number for i in range(number + 1)]
    return list(itertools.pairwise(ends))


def _block(what: Geometry, x: Array, kernel: Array, positions: tuple[tuple[int, int], ...]) -> Array:
    """Compute the elements of the result between two positions along each spatial axis."""
    key, padding = [], []
    spans = what.spans(kernel.shape[2:])
    for (first, end), size, stride, span, (low, _) in zip(positions, x.shape[2:], what.strides, spans, what.padding):
        start, stop = first * stride - low, (end - 1) * stride + span - low
        inside = slice(min(max(start, 0), size), min(max(stop, 0), size))
        key.append(inside)
        # If a block is only padding, put all of it on one side.
        before = min(max(-start, 0), stop - start)
        padding.append((before, stop - start - before - (inside.stop - inside.start)))
    n = len(positions)
    new = tuple(range(3 + 2 * n, 3 + 3 * n))
    return gather(
        _conv_block,
        (0, 1, *new),
        (x[(..., *key)], (0, 2, *range(3, 3 + n))),
        (kernel, (1, 3 + 3 * n, *range(3 + n, 3 + 2 * n))),
        dtype=x.dtype,
        sizes={axis: end - first for axis, (first, end) in zip(new, positions)},
        what=Geometry(what.strides, tuple(padding), (1,) * n, what.kernel_dilation, what.groups),
    )


def _conv_block(x: Array, kernel: Array, *, what: Geometry) -> Array:
    return convolution.conv(
        x,
        kernel,
        strides=what.strides,
        padding=what.padding,
        kernel_dilation=what.kernel_dilation,
        feature_groups=what.groups,
    )


conv = convolver(_conv)
conv_transpose = transposer(by_dilation(_conv))
