"""Segment operations of tinyarray: the sum alone; xpand's generic versions do the rest."""

from typing import Any

import numpy as np
import tinyarray


def segment_sum(
    values: tinyarray.Array,
    segment_ids: tinyarray.Array,
    /,
    *,
    num_segments: int | None = None,
    axis: int = 0,
    indices_are_sorted: bool = False,
    mode: Any = None,
) -> tinyarray.Array:
    """Sum the values of each segment in NumPy's memory; the facade has filled in what its caller left out."""
    data, ids = np.moveaxis(values._data, axis, 0), segment_ids._data.astype(np.int64)
    inside = (ids >= 0) & (ids < num_segments)
    if mode == "raise" and not inside.all():
        bad = ids[~inside][0]
        raise IndexError(f"segment_sum: segment_ids has {bad}, out of bounds for num_segments={num_segments}")
    if mode == "clip":
        ids = np.clip(ids, 0, num_segments - 1)
    elif mode == "wrap":
        ids = ids % num_segments
    elif mode == "drop":
        data, ids = data[inside], ids[inside]
    total = np.zeros((num_segments, *data.shape[1:]), data.dtype)
    np.add.at(total, ids, data)
    return tinyarray.Array(np.moveaxis(total, 0, axis))
