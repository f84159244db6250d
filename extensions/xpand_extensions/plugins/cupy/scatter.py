"""Scatter and segment reductions on CuPy, by cupyx.scatter_add, scatter_min and scatter_max.

These process elements in an order that differs from run to run, so sums of floating-point numbers differ in the last
digits. `set` still keeps the last of several values. They wrap indices out of bounds, so indices are checked first.
"""

import math
from typing import Any, Final

import cupy as cp
import cupyx

import xpand.cupy as xp
from xpand.extend import LibraryArray as Array
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import resolve
from xpand_extensions._index import Rows
from xpand_extensions._runs import Runs
from xpand_extensions.scatter import Index
from xpand_extensions.scatter._at import At, Operation
from xpand_extensions.scatter._segments import Reduction, nothing, reducers

_SCATTER: Final = {"add": cupyx.scatter_add, "min": cupyx.scatter_min, "max": cupyx.scatter_max}

# CUDA's atomic operations support few integer types. A sum may use any wider type, or the unsigned type of the same
# width: the lowest bits are the same. A million float32 numbers, one by one, would lose four digits.
_SMALL: Final = {"int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}
_ADD_AS: Final = _SMALL | {"int64": "uint64", "float16": "float64", "float32": "float64"}
_ORDER_AS: Final = _SMALL | {"bool": "int32", "float16": "float32"}
_HIGHEST: Final = 2**63


class CupyAt(GenericAt):
    """An array of CuPy at an index."""

    __slots__ = ()

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        # Dropped values go to an additional row.
        table = cp.concatenate([table, cp.zeros((1, rows.width), dtype=table.dtype)])
        if operation == "set":
            order = cp.arange(1, len(rows.index) + 1, dtype=cp.uint64)
            last = cp.zeros(len(table), dtype=cp.uint64)
            cupyx.scatter_max(last, rows.index, order)
            chosen = values[cp.maximum(last, 1).astype(cp.int64) - 1]
            return cp.where((last > 0)[:, None], chosen, table)[: rows.count]
        if operation in ("add", "min", "max"):
            return _combine(table, rows.index, values, operation)[: rows.count]
        if operation == "subtract" and table.dtype.kind != "u":
            return _combine(table, rows.index, -values, "add")[: rows.count]
        return super()._write_rows(table[: rows.count], rows, values, operation)


def at(x: Array, index: Index = ..., /) -> At:
    return CupyAt(x, index)


def _combine(table: Array, index: Array, values: Array, operation: str) -> Array:
    """Update rows of a table by their sum, minimum or maximum with all values for them."""
    dtype = table.dtype
    if dtype.kind == "c":  # for sums only: the kernel supports separate columns for the real and the imaginary part
        part = dtype.char.lower()
        table, values = (cp.ascontiguousarray(x).view(part) for x in (table, values))
        return _combine(table, index, values, operation).view(dtype)
    if operation == "add":
        wide = _ADD_AS.get(dtype.name, dtype.name)
        return _scattered(table.astype(wide), index, values.astype(wide), operation).astype(dtype)
    if dtype == cp.int64:
        # Read as unsigned numbers with the highest bit flipped, they have the same order.
        high = cp.uint64(_HIGHEST)
        unsigned = _scattered(table.view(cp.uint64) ^ high, index, values.view(cp.uint64) ^ high, operation)
        return (unsigned ^ high).view(dtype)
    wide = _ORDER_AS.get(dtype.name, dtype.name)
    result = _scattered(table.astype(wide), index, values.astype(wide), operation).astype(dtype)
    if dtype.kind != "f":
        return result
    # The atomic minimum and maximum of a number and NaN return the number.
    missing = _scattered(cp.isnan(table).astype(cp.int32), index, cp.isnan(values).astype(cp.int32), "max")
    return cp.where(missing > 0, cp.asarray(math.nan, dtype=dtype), result)


def _scattered(table: Array, index: Array, values: Array, operation: str) -> Array:
    out = cp.array(table)
    _SCATTER[operation](out, index, values)
    return out


def _kernel(what: Reduction, values: Array, ids: Array) -> Array:
    empty: Any = nothing(xp, values, what)
    ids, _ = resolve(what.function, xp, ids, what.num_segments, what.mode, GenericAt.bounds, axis=None, from_end=False)
    if 0 in values.shape or not what.num_segments:
        return empty
    width = math.prod(values.shape[1:])
    table, values = empty.reshape(what.num_segments, width), values.reshape(values.shape[0], width)
    if what.combination == "multiply":
        runs = Runs.of(xp, ids, what.num_segments)
        total = runs.reduce(values, cp.multiply, 1)
        return cp.where(runs.present[:, None], total, table).reshape(empty.shape)
    table = cp.concatenate([table, table[:1]])
    return _combine(table, ids, values, what.combination)[: what.num_segments].reshape(empty.shape)


segment_sum, segment_prod, segment_min, segment_max, segment_mean = reducers(_kernel)
