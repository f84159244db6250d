"""Convolutions on NumPy: `np.correlate` of flattened rows for one channel, matrix products for several channels.

Both work on blocks that stay in the processor's cache.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

import numpy as np

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions.convolution import _pieces as pieces
from xpand_extensions.convolution._geometry import Geometry, convolver, part_of, transposer
from xpand_extensions.convolution._pieces import dilated, reached
from xpand_extensions.generic import convolution as generic

_BLOCK: Final = 1 << 13
"""Elements of a block of rows: 64 KiB of float64. Four times as many would be freed after each call."""
_MATRIX: Final = 1 << 16
"""Elements of a matrix of points. Measured for 16 channels of 64 by 64: 3.7 ms; half or twice as many take 7 ms."""


def _conv(what: Geometry, x: Array, kernel: Array) -> Array:
    sizes = what.sizes(x.shape[2:], kernel.shape[2:])
    x = dilated(xp, x, what.input_dilation)
    alone = kernel.shape[1] == 1 and kernel.shape[0] == what.groups
    adjacent = what.strides[-1:] == what.kernel_dilation[-1:] == (1,)
    if alone and adjacent and len(sizes) == what.groups == x.shape[0] == 1:
        (low, high), taps = what.padding[0], kernel.shape[2]
        # Don't compute all elements if few are needed.
        if 0 <= low < taps and 0 <= high < taps and 2 * sizes[0] >= x.shape[2]:
            whole = _correlated(x[0, 0], kernel[0, 0], "full")
            return whole[None, None, taps - 1 - low : len(whole) - (taps - 1 - high)]
    out = np.empty((x.shape[0], kernel.shape[0], *sizes), x.dtype)
    if not sizes:
        what = Geometry((1,), ((0, 0),), (1,), (1,), what.groups)
        _multiply(what, x[..., None], kernel[..., None], out[..., None])
    elif alone and adjacent:
        # Infinities may cancel at the joints of rows, where sums are not used.
        with np.errstate(invalid="ignore"):
            _correlate_rows(what, x, kernel, out)
    else:
        _multiply(what, _padded(x, what.padding), kernel, out)
    return out


def _padded(x: Array, padding: Sequence[tuple[int, int]]) -> Array:
    if not any(map(any, padding)):
        return x
    x = x[(..., *(slice(max(-low, 0), n - max(-high, 0)) for n, (low, high) in zip(x.shape[2:], padding)))]
    ends = [(max(low, 0), max(high, 0)) for low, high in padding]
    if not any(map(any, ends)):
        return x
    out = np.zeros((*x.shape[:2], *(n + low + high for n, (low, high) in zip(x.shape[2:], ends))), x.dtype)
    out[(..., *(slice(low, low + n) for n, (low, _) in zip(x.shape[2:], ends)))] = x
    return out


def _correlate_rows(what: Geometry, x: Array, kernel: Array, out: Array) -> None:
    """Convolve each channel separately. Rows that are adjacent in memory are one long row to `np.correlate`.

    Results that span two rows are dropped. Measured for 1e7 elements and 3 by 3 taps: half
    the time of `scipy.ndimage.correlate`.
    """
    if out.ndim == 3:  # a single row
        what = Geometry((1, *what.strides), ((0, 0), *what.padding), (1, 1), (1, *what.kernel_dilation), what.groups)
        x, kernel, out = x[:, :, None], kernel[:, :, None], out[:, :, None]
    *outer, rows, points = out.shape[2:]
    ends = what.padding[-2:]
    x = _padded(x, (*what.padding[:-2], (0, 0), (0, 0)))
    step, apart = what.strides[-2], what.kernel_dilation[-2]
    taps, last = kernel.shape[-2:]
    across = min(points, _BLOCK)
    width = across + last - 1
    some = min(max(1, _BLOCK // (width * step)), rows)
    block = np.empty(((some - 1) * step + (taps - 1) * apart + 1, width), x.dtype)
    line = block.reshape(-1)
    for lane, channel, *position in np.ndindex(*out.shape[:2], *outer):
        target = out[(lane, channel, *position)]
        planes = [
            (
                x[
                    (
                        lane,
                        channel,
                        *(p * s + t * d for p, s, t, d in zip(position, what.strides, tap, what.kernel_dilation)),
                    )
                ],
                tap,
            )
            for tap in np.ndindex(*kernel.shape[2:-2])
        ]
        for first, column in itertools.product(range(0, rows, some), range(0, points, across)):
            count, number = min(some, rows - first), min(across, points - column)
            length = (count - 1) * step * width + number + last - 1
            total: Any = None
            for plane, tap in planes:
                _fill(block, plane, (first * step - ends[0][0], column - ends[1][0]))
                for t in range(taps):
                    start = t * apart * width
                    part = _correlated(line[start : start + length], kernel[(channel, 0, *tap, t)])
                    total = part if total is None else np.add(total, part, out=total)
            strides = (step * width * out.itemsize, out.itemsize)
            target[first : first + count, column : column + number] = np.ndarray(
                (count, number), out.dtype, total, 0, strides
            )


def _correlated(line: Array, taps: Array, mode: Literal["valid", "full"] = "valid") -> Array:
    if len(taps) == 1:  # takes half the time of a correlation
        return line * taps
    # The wrapper conjugates the taps, and exchanges the arrays if there are more taps than elements.
    return np.correlate(line, taps.conj(), mode) if len(taps) <= len(line) else np.convolve(line, taps[::-1], mode)


def _fill(block: Array, plane: Array, corner: tuple[int, int]) -> None:
    """Copy the part of a plane under a block with its first element at `corner`, and zeros outside of the plane."""
    (top, left), (high, wide) = corner, block.shape
    rows = slice(min(max(-top, 0), high), max(min(high, plane.shape[0] - top), 0))
    columns = slice(min(max(-left, 0), wide), max(min(wide, plane.shape[1] - left), 0))
    block[: rows.start] = 0
    block[rows.stop :] = 0
    block[:, : columns.start] = 0
    block[:, columns.stop :] = 0
    block[rows, columns] = plane[max(top, 0) : max(top + rows.stop, 0), max(left, 0) : max(left + columns.stop, 0)]


def _multiply(what: Geometry, x: Array, kernel: Array, out: Array) -> None:
    """Multiply the kernel, as a matrix, by the points under it, copied block by block."""
    groups, into = what.groups, kernel.shape[1]
    batch, _, *sizes = out.shape
    taps = kernel.shape[2:]
    weights = kernel.reshape(groups, -1, into * math.prod(taps))
    x = x.reshape(batch, groups, into, *x.shape[2:])
    result = out.reshape(batch, groups, -1, math.prod(sizes))
    row = math.prod(sizes[1:])
    for lanes, rows in _blocks(batch, sizes[0], weights.shape[0] * weights.shape[2] * row):
        count = rows.stop - rows.start
        met = np.empty((lanes.stop - lanes.start, groups, into, *taps, count, *sizes[1:]), x.dtype)
        for tap in itertools.product(*map(range, taps)):
            key = reached(what, sizes, tap)
            met[(slice(None),) * 3 + tap] = x[lanes][(..., *key)][..., rows, *(slice(None) for _ in sizes[1:])]
        matrix = met.reshape(*met.shape[:2], weights.shape[2], count * row)
        np.matmul(weights, matrix, out=result[lanes, ..., rows.start * row : rows.stop * row])


def _blocks(lanes: int, rows: int, row: int) -> Iterator[tuple[slice, slice]]:
    """Divide a batch into blocks of lanes, or of rows of one lane, with `row` elements each."""
    whole = _MATRIX // max(rows * row, 1)
    if whole:
        for first in range(0, lanes, whole):
            yield slice(first, min(first + whole, lanes)), slice(0, rows)
        return
    some = max(1, _MATRIX // row)
    for lane in range(lanes):
        for first in range(0, rows, some):
            yield slice(lane, lane + 1), slice(first, min(first + some, rows))


def _conv_transpose(what: Geometry, x: Array, kernel: Array) -> Array:
    """Add the product with each tap at the positions of the tap. With inserted zeros, most products would be 0."""
    groups, into, taps = what.groups, kernel.shape[1], kernel.shape[2:]
    batch, _, *sizes = x.shape
    cut = tuple([(-low, -high) for low, high in what.padding])
    if what.strides == what.kernel_dilation == x.shape[:1] == x.shape[1:2] == kernel.shape[1:2] == (1,):
        return _padded(np.convolve(x[0, 0], kernel[0, 0])[None, None], cut)
    whole = [(n - 1) * stride + covered for n, stride, covered in zip(sizes, what.strides, what.spans(taps))]
    out = np.zeros((batch, groups * into, *whole), x.dtype)
    grouped = out.reshape(batch, groups, into, *whole)
    weights = np.swapaxes(kernel.reshape(groups, -1, into, *taps), 1, 2)
    matrix = x.reshape(batch, groups, -1, math.prod(sizes))
    for tap in itertools.product(*map(range, taps)):
        # For one channel, a matrix product takes seven times as long.
        part = weights[(..., *tap)] * matrix if matrix.shape[2] == 1 else np.matmul(weights[(..., *tap)], matrix)
        grouped[(..., *reached(what, sizes, tap))] += part.reshape(batch, groups, into, *sizes)
    return _padded(out, cut)


conv = convolver(_conv)
conv_transpose = transposer(_conv_transpose)


def convolve(x: Array, kernel: Array, /, *, mode: Any = "full", axes: Any = None, method: Any = "auto") -> Array:
    if x.ndim != 1 or not axes or not x.size or not kernel.size or pieces.takes_fft(x, kernel, axes, method):
        return generic.convolve(x, kernel, mode=mode, axes=axes, method=method)
    start, length = part_of(mode, x.size, kernel.size)
    return np.convolve(x, kernel)[start : start + length]
