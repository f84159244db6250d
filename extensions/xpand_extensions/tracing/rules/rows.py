"""Rules of writing rows of tables, see `tracing._indexing`."""

from collections.abc import Callable
from typing import Any, Final

from xpand.extend import device_of
from xpand_extensions._at import GenericAt
from xpand_extensions._index import Rows

from ...extend._derivatives import LINEAR, First, joint
from .._indexing import read_rows, write_rows

_NAMES: Final = ("rows.set", "rows.add", "rows.multiply", "rows.min", "rows.max")


def _multiplied(xp: Any, table: Any, values: Any, index: Any, *, dropped: bool, unique: bool) -> Any:
    """Multiply by products within runs of equal indices. Their derivatives are right at zeros."""
    if 0 in values.shape or 0 in table.shape:
        return table
    table = xp.wrap(table)
    rows = Rows(xp.wrap(index), table.shape[0], table.shape[1], tuple(index.shape), unique, dropped)
    return GenericAt(table)._write_rows(table, rows, xp.wrap(values), "multiply")


def _extremum(
    xp: Any, tangents: Any, out: Any, table: Any, values: Any, index: Any, *, dropped: bool, unique: bool
) -> Any:
    """Push tangents through a minimum or maximum: average over all values equal to it."""
    options = {"dropped": dropped, "unique": unique}
    of_table = xp.astype(xp.equal(table, out), out.dtype)
    of_values = xp.astype(xp.equal(values, read_rows(xp, out, index, dropped=dropped)), out.dtype)
    count = write_rows(xp, "add", of_table, of_values, index, **options)
    nan = xp.full_like(count, xp.nan)
    total = None
    if tangents[0] is not None:
        total = tangents[0] * of_table
    if tangents[1] is not None:
        start = xp.zeros_like(of_table) if total is None else total
        total = write_rows(xp, "add", start, tangents[1] * of_values, index, **options)
    return None if total is None else total / xp.where(count == 0, nan, count)


def _zeroed(xp: Any, ct: Any, i: int, table: Any, values: Any, index: Any, **options: Any) -> Any:
    zeros = xp.zeros(tuple(values.shape), dtype=ct.dtype, device=device_of(values))
    return write_rows(xp, "set", ct, zeros, index, **options)


def _read_last(xp: Any, ct: Any, i: int, table: Any, values: Any, index: Any, *, dropped: bool, unique: bool) -> Any:
    """Read the values that were set. If a row was set several times, the last value counts."""
    found = read_rows(xp, ct, index, dropped=dropped)
    if unique:
        return found
    number = xp.reshape(xp.arange(index.shape[0], dtype=index.dtype, device=device_of(values)), (-1, 1))
    none = xp.zeros((table.shape[0], 1), dtype=index.dtype, device=device_of(values))
    writer = write_rows(xp, "set", none, number, index, dropped=dropped)
    return xp.where(read_rows(xp, writer, index, dropped=dropped) == number, found, xp.zeros_like(found))


DERIVATIVES: Final[dict[str, Any]] = {
    "rows.set": First(LINEAR, LINEAR),
    "rows.add": First(LINEAR, LINEAR),
    "rows.min": joint(_extremum),
    "rows.max": joint(_extremum),
}

LINEAR_IN_ALL: Final = ("rows.set", "rows.add")

TRANSPOSES: Final[dict[str, Any]] = {
    "rows.set": First(_zeroed, _read_last),
    "rows.add": First(
        lambda xp, ct, i, *args, **options: ct,
        lambda xp, ct, i, table, values, index, *, dropped, unique: read_rows(xp, ct, index, dropped=dropped),
    ),
}

DECOMPOSITIONS: Final[dict[str, Any]] = {"rows.multiply": _multiplied}


def _batched(name: str) -> Callable[..., Any]:
    operation = name.rpartition(".")[2]

    def rule(xp: Any, mapped: Any, table: Any, values: Any, index: Any, *, dropped: bool, unique: bool) -> Any:
        lanes = next(x.shape[0] for x, is_mapped in zip((table, values, index), mapped) if is_mapped)
        spread = [
            x if is_mapped else xp.broadcast_to(xp.expand_dims(x, axis=0), (lanes, *x.shape))
            for x, is_mapped in zip((table, values), mapped)
        ]
        count, width = spread[0].shape[1:]
        if not mapped[2]:
            # All lanes have the same rows, so lanes become columns.
            wide = [xp.reshape(xp.moveaxis(x, 0, 1), (x.shape[1], lanes * width)) for x in spread]
            found = write_rows(xp, operation, wide[0], wide[1], index, dropped=dropped, unique=unique)
            return xp.moveaxis(xp.reshape(found, (count, lanes, width)), 1, 0)
        index = numbered(xp, index, count, dropped)
        long = [xp.reshape(x, (lanes * x.shape[1], width)) for x in spread]
        found = write_rows(xp, operation, long[0], long[1], index, dropped=dropped, unique=unique)
        return xp.reshape(found, (lanes, count, width))

    return rule


def numbered(xp: Any, index: Any, count: int, dropped: bool) -> Any:
    """Flatten an index `(lanes, n)` of rows into one index for the rows of all batch elements."""
    lanes = index.shape[0]
    first = xp.reshape(xp.arange(lanes, dtype=index.dtype, device=getattr(index, "device", None)) * count, (-1, 1))
    found = index + first
    if dropped:
        beyond = xp.full_like(index, lanes * count)
        found = xp.where(index < count, found, beyond)
    return xp.reshape(found, (lanes * index.shape[1],))


BATCHING: Final[dict[str, Any]] = {name: _batched(name) for name in _NAMES}

SHAPES: Final[dict[str, Any]] = dict.fromkeys(_NAMES, lambda namespace, table, values, index, **options: table)

REASONS: Final[dict[str, str]] = dict.fromkeys(SHAPES, "the rows of all lanes become rows of one table")
