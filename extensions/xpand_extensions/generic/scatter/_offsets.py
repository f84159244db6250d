"""Convert segments given by offsets to segments given by ids."""

import math
from typing import Final

from xpand import array_namespace
from xpand.extend import Array, checks
from xpand_extensions._bounds import index_dtype, resolve
from xpand_extensions._rows import row_kernels, rows
from xpand_extensions.scatter import segment_max, segment_mean, segment_min, segment_prod, segment_sum
from xpand_extensions.scatter._offsets import SegmentOperation

_REDUCE: Final = {
    "add": segment_sum,
    "multiply": segment_prod,
    "min": segment_min,
    "max": segment_max,
    "mean": segment_mean,
}


def segment_reduce(values: Array, offsets: Array, /, *, operation: SegmentOperation = "add", axis: int = 0) -> Array:
    xp = array_namespace(values)
    reduce = _REDUCE[operation].native(values)
    batch, size, number = tuple(offsets.shape[:-1]), values.shape[axis], offsets.shape[-1] - 1
    lanes = math.prod(batch)
    ids = segment_ids(xp.reshape(offsets, (lanes, number + 1)), size)
    if not batch:
        ids = xp.reshape(ids, (size,))
        return reduce(values, ids, num_segments=number, axis=axis, indices_are_sorted=True, mode="drop")
    # Give each batch element its own segments, one after the other.
    before, after = tuple(values.shape[len(batch) : axis]), tuple(values.shape[axis + 1 :])
    inner = (math.prod(before), math.prod(after))
    values = xp.permute_dims(xp.reshape(values, (lanes, inner[0], size, inner[1])), (0, 2, 1, 3))
    first = xp.arange(lanes, dtype=ids.dtype, device=checks.device_of(ids)) * number
    ids = xp.where((ids >= 0) & (ids < number), ids + xp.expand_dims(first, axis=1), lanes * number)
    found = reduce(
        xp.reshape(values, (lanes * size, *inner)),
        xp.reshape(ids, (lanes * size,)),
        num_segments=lanes * number,
        axis=0,
        indices_are_sorted=False,
        mode="drop",
    )
    found = xp.permute_dims(xp.reshape(found, (lanes, number, *inner)), (0, 2, 1, 3))
    return xp.reshape(found, (*batch, *before, number, *after))


def offset_facts(offsets: Array, /) -> tuple[Array, Array, Array]:
    xp = array_namespace(offsets)
    # Convert to the index type, since PyTorch cannot compare most unsigned integers.
    ends = xp.astype(offsets, index_dtype(xp, checks.device_of(offsets)), copy=False)
    return xp.min(offsets), xp.max(offsets), xp.any(ends[..., 1:] < ends[..., :-1])


def segment_ids(offsets: Array, size: int) -> Array:
    """Return the segment of each of `size` positions, shape `(lanes, size)`; -1 is before the first segment."""
    xp = array_namespace(offsets)
    device = checks.device_of(offsets)
    lanes = offsets.shape[0]
    if not lanes * size:
        return xp.zeros((lanes, size), dtype=index_dtype(xp, device), device=device)
    # Count the offsets at each position, then accumulate. This is faster than a search and works on every library.
    index, _ = resolve(
        "segment_reduce", xp, offsets, size + 1, "clip", row_kernels(offsets).bounds, axis=None, from_end=False
    )
    chosen = rows(xp, index, False, (lanes,), size + 1, 1, tuple(index.shape))
    none = xp.zeros((chosen.count, 1), dtype=index.dtype, device=device)
    ones = xp.ones((chosen.index.shape[0], 1), dtype=index.dtype, device=device)
    number = row_kernels(none)._write_rows(none, chosen, ones, "add")
    number = xp.reshape(number, (lanes, size + 1))
    return xp.cumulative_sum(number, axis=1)[:, :size] - 1
