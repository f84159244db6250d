"""Scatter and segment reductions with the standard alone."""

import math

from xpand import array_namespace
from xpand.extend import Array
from xpand_extensions._at import GenericAt, binary
from xpand_extensions._bounds import resolve
from xpand_extensions._runs import Runs
from xpand_extensions.scatter import Index
from xpand_extensions.scatter._at import At
from xpand_extensions.scatter._segments import Reduction, identity, nothing, reducers

from ._nd import scatter, scatter_nd
from ._offsets import offset_facts, segment_reduce


def at(x: Array, index: Index = ..., /) -> At:
    return GenericAt(x, index)


def _kernel(what: Reduction, values: Array, ids: Array) -> Array:
    xp = array_namespace(values)
    empty = nothing(xp, values, what)
    ids, _ = resolve(what.function, xp, ids, what.num_segments, what.mode, GenericAt.bounds, axis=None, from_end=False)
    if 0 in values.shape or not what.num_segments:
        return empty
    table = xp.reshape(values, (values.shape[0], math.prod(values.shape[1:])))
    # Wrapped ids, and negative ids that are moved past the end, need not be sorted.
    runs = Runs.of(xp, ids, what.num_segments, is_sorted=what.is_sorted and what.mode in ("raise", "clip"))
    total = runs.reduce(table, binary(xp, what.combination, values.dtype), identity(xp, values.dtype, what.combination))
    present = xp.reshape(runs.present, (-1, *(1 for _ in values.shape[1:])))
    return xp.where(present, xp.reshape(total, empty.shape), empty)


segment_sum, segment_prod, segment_min, segment_max, segment_mean = reducers(_kernel)
