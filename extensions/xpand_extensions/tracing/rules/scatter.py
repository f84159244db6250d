"""Rules of facades that read and write at indices, of reductions over segments, and of writing rows of tables.

If tangents need the same operation as values, it is applied to them: by the library on its own arrays, otherwise traced
as reads of elements and writes of rows.
"""

from collections.abc import Callable
from typing import Any, Final

from xpand.extend import device_of
from xpand_extensions import indexing, scatter
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import index_dtype, resolve
from xpand_extensions._dtypes import is_narrow
from xpand_extensions._index import Rows
from xpand_extensions._rows import row_kernels

from ...extend._derivatives import LINEAR, First, contribution, joint
from .._indexing import read_rows, write_rows
from ._derived import Axes, same

_READING: Final = ("take", "take_along_axis", "gather", "gather_nd")
_SEGMENTS: Final = ("segment_sum", "segment_prod", "segment_min", "segment_max", "segment_mean")


def native(facade: Any, *args: Any, **options: Any) -> Any:
    """Apply the operation of a facade to checked arguments, traced or not."""
    return facade.native(*[x for x in args if hasattr(x, "dtype")])(*args, **options)


def _read(name: str) -> joint:
    facade = getattr(indexing, name)

    def rule(xp: Any, tangents: Any, out: Any, x: Any, indices: Any, fill_value: Any = None, **options: Any) -> Any:
        t, fill = tangents["x"], tangents["fill_value"]
        t = xp.zeros_like(x) if t is None else t
        # Reads out of bounds return the fill value, and its derivative.
        return native(facade, t, indices, **options, fill_value=fill if hasattr(fill, "dtype") else 0.0)

    return joint(rule)


def _written(name: str) -> Callable[[dict[str, Any]], joint | None]:
    """Make the rule of writes that are linear in all arrays. Other writes trace the generic implementation."""
    facade = getattr(scatter, name)

    def rule(xp: Any, tangents: Any, out: Any, x: Any, indices: Any, values: Any, **options: Any) -> Any:
        t, of_values = tangents["x"], tangents["values"]
        t = xp.zeros_like(x) if t is None else t
        return native(facade, t, indices, of_values if hasattr(of_values, "dtype") else 0.0, **options)

    linear = joint(rule)
    return lambda static: linear if static["operation"] in ("set", "add", "subtract", "mean") else None


def _of_segments(xp: Any, y: Any, segment_ids: Any, num_segments: int, axis: int, mode: Any, **options: Any) -> Any:
    """Give each position the value of its segment. Dropped positions get zero."""
    index, dropped = resolve(
        "segment_sum", xp, segment_ids, num_segments, mode, row_kernels(segment_ids).bounds, axis=None, from_end=False
    )
    if not num_segments:
        shape = (*y.shape[:axis], *segment_ids.shape, *y.shape[axis + 1 :])
        return xp.zeros(shape, dtype=y.dtype, device=getattr(y, "device", None))
    if not dropped:
        return xp.take(y, index, axis=axis)
    inside = index < num_segments
    found = xp.take(y, xp.where(inside, index, xp.zeros_like(index)), axis=axis)
    inside = xp.reshape(inside, (-1, *(1,) * (len(y.shape) - axis - 1)))
    return xp.where(inside, found, xp.zeros_like(found))


def _mean(xp: Any, t: Any, out: Any, values: Any, segment_ids: Any, axis: int, **options: Any) -> Any:
    if is_narrow(xp, out.dtype):
        t, out = (xp.astype(each, xp.float32) for each in (t, out))
        return xp.astype(_mean(xp, t, out, values, segment_ids, axis, **options), values.dtype)
    device = getattr(segment_ids, "device", None)
    ones = xp.ones_like(segment_ids, dtype=index_dtype(xp, device))
    count = native(scatter.segment_sum, ones, segment_ids, axis=0, **options)
    count = xp.astype(xp.maximum(count, xp.ones_like(count)), out.dtype)
    shape = (-1, *(1,) * (len(out.shape) - axis - 1))
    return native(scatter.segment_sum, t, segment_ids, axis=axis, **options) / xp.reshape(count, shape)


def _extremum(xp: Any, t: Any, out: Any, values: Any, segment_ids: Any, **options: Any) -> Any:
    """Push a tangent through minima or maxima: average over all equal values; NaN if the extreme is NaN."""
    is_it = xp.astype(xp.equal(values, _of_segments(xp, out, segment_ids, **options)), out.dtype)
    count = native(scatter.segment_sum, is_it, segment_ids, **options)
    count = xp.where(xp.isnan(out), out, xp.maximum(count, xp.ones_like(count)))
    return native(scatter.segment_sum, t * is_it, segment_ids, **options) / count


_NAMES: Final = ("rows.set", "rows.add", "rows.multiply", "rows.min", "rows.max")


def _multiplied(xp: Any, table: Any, values: Any, index: Any, *, dropped: bool, unique: bool) -> Any:
    """Multiply by products within runs of equal indices. Their derivatives are right at zeros."""
    if 0 in values.shape or 0 in table.shape:
        return table
    table = xp.wrap(table)
    rows = Rows(xp.wrap(index), table.shape[0], table.shape[1], tuple(index.shape), unique, dropped)
    return GenericAt(table)._write_rows(table, rows, xp.wrap(values), "multiply")


def _extremum_of_rows(
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


DERIVATIVES: Final[dict[str, Any]] = {
    **{f"indexing.{name}": _read(name) for name in _READING},
    "scatter.scatter": _written("scatter"),
    "scatter.scatter_nd": _written("scatter_nd"),
    "scatter.segment_max": {"values": contribution(_extremum)},
    "scatter.segment_mean": {"values": contribution(_mean)},
    "scatter.segment_min": {"values": contribution(_extremum)},
    "scatter.segment_sum": {"values": LINEAR},
    "rows.set": First(LINEAR, LINEAR),
    "rows.add": First(LINEAR, LINEAR),
    "rows.min": joint(_extremum_of_rows),
    "rows.max": joint(_extremum_of_rows),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "scatter.segment_sum": {
        "values": lambda xp, ct, values, segment_ids, **options: _of_segments(xp, ct, segment_ids, **options)
    },
    "rows.set": First(_zeroed, _read_last),
    "rows.add": First(
        lambda xp, ct, i, *args, **options: ct,
        lambda xp, ct, i, table, values, index, *, dropped, unique: read_rows(xp, ct, index, dropped=dropped),
    ),
}


def _batched_segments(name: str) -> Callable[..., Any]:
    facade = getattr(scatter, name)

    def rule(
        xp: Any, mapped: Any, values: Any, segment_ids: Any, num_segments: int, axis: int, mode: Any, **options: Any
    ) -> Any:
        if not mapped["segment_ids"]:
            return native(facade, values, segment_ids, num_segments=num_segments, axis=axis + 1, mode=mode, **options)
        lanes, size = segment_ids.shape
        if not mapped["values"]:
            values = xp.broadcast_to(xp.expand_dims(values, axis=0), (lanes, *values.shape))
        rows = xp.moveaxis(values, axis + 1, 1) if axis else values
        rest = tuple(rows.shape[2:])
        index, dropped = resolve(
            name, xp, segment_ids, num_segments, mode, row_kernels(segment_ids).bounds, axis=None, from_end=False
        )
        found = native(
            facade,
            xp.reshape(rows, (lanes * size, *rest)),
            numbered(xp, index, num_segments, dropped),
            num_segments=lanes * num_segments,
            axis=0,
            indices_are_sorted=False,
            mode="drop" if dropped else mode,
        )
        found = xp.reshape(found, (lanes, num_segments, *rest))
        return xp.moveaxis(found, 1, axis + 1) if axis else found

    return rule


# The segments of all lanes become segments of one array, and the rows of all lanes become rows of one table.
BATCHING: Final[dict[str, Any]] = {
    **{f"scatter.{name}": _batched_segments(name) for name in _SEGMENTS},
    **{name: _batched(name) for name in _NAMES},
}


AXES: Final[dict[str, Axes]] = {
    f"scatter.{name}": Axes(
        "values:...[(axis)],segment_ids:[n]->...[(axis:k)]",
        sizes=lambda lengths, num_segments, **params: {"k": num_segments},
        dtype=same,
    )
    for name in _SEGMENTS
}

LINEAR_IN_ALL: Final = ("rows.set", "rows.add")

DECOMPOSITIONS: Final[dict[str, Any]] = {"rows.multiply": _multiplied}

SHAPES: Final[dict[str, Any]] = dict.fromkeys(_NAMES, lambda namespace, table, values, index, **options: table)
