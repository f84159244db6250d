"""Reads and writes of table rows at a flat index; all indexing with integers reduces to them.

A table has the shape `(count, width)`, an index the shape `(n,)`, and the values for its rows `(n, width)`; an index
equal to `count` stands for a row that is dropped, where `dropped` says that there may be such. On the library's own
arrays, each operation uses the library's fastest function.
"""

from typing import Any

from xpand import array_namespace
from xpand.extend import LibraryArray as Array
from xpand_extensions._at import GenericAt

from .._index import Basic, Rows
from ..scatter._at import At, Operation
from ._core import TracedArray
from ._indexing import applied


def write_rows(
    xp: Any, operation: str, table: Array, values: Array, index: Array, *, dropped: bool = False, unique: bool = False
) -> Array:
    """Update rows of a table."""
    return applied(xp, f"rows.{operation}", (table, values, index), {"dropped": dropped, "unique": unique})


def read_rows(xp: Any, table: Array, index: Array, *, dropped: bool = False) -> Array:
    """Read rows of a table; those dropped are zero."""
    count, width = table.shape
    if not count:
        return xp.zeros((*index.shape, width), dtype=table.dtype, device=getattr(table, "device", None))
    inside = None
    if dropped:
        inside = index < count
        index = xp.where(inside, index, xp.zeros_like(index))
    if width == 1:  # which NumPy reads four times as fast without the axis
        found = xp.reshape(xp.take(xp.reshape(table, (count,)), index), (index.shape[0], 1))
    else:
        found = xp.take(table, index, axis=0)
    return found if inside is None else xp.where(xp.expand_dims(inside, axis=1), found, xp.zeros_like(found))


class TracedAt(GenericAt):
    """A traced array at an index: rows are read and written by operations that have rules."""

    __slots__ = ()

    def _write_basic(self, selection: Basic, values: Array) -> Array:
        x = array_namespace(self.x).wrap(self.x)
        return applied(x._namespace, "setitem", (x, values), {"key": selection.key})

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        if rows.dropped or rows.width != 1:
            return super()._read_rows(table, rows, fill)
        return read_rows(array_namespace(table), table, rows.index)

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        xp = array_namespace(table)
        options = {"dropped": rows.dropped, "unique": rows.unique}
        if operation == "power":
            return super()._write_rows(table, rows, values, operation)
        if operation == "subtract":
            return table - write_rows(xp, "add", xp.zeros_like(table), values, rows.index, **options)
        if operation == "divide":
            return table / write_rows(xp, "multiply", xp.ones_like(table), values, rows.index, **options)
        return write_rows(xp, operation, table, values, rows.index, **options)


def at(x: TracedArray, index: Any = ..., /) -> At:
    """Return a traced array at an index."""
    return TracedAt(x, index)
