"""Scatter and segment reductions on NumPy: `ufunc.at`, and SciPy's sparse product for sums of rows."""

import math
from functools import cache
from typing import Any, Final

import numpy as np

import xpand.numpy as xp
from xpand.extend import LibraryArray as Array, Scalar
from xpand_extensions._at import GenericAt
from xpand_extensions._bounds import Mode, out_of_bounds, resolve
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._index import Rows, check_types
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic import scatter as generic
from xpand_extensions.scatter import Index
from xpand_extensions.scatter._at import At, Operation
from xpand_extensions.scatter._offsets import SegmentOperation
from xpand_extensions.scatter._segments import Reduction, nothing, reducers

from ._rows import are_within, blocks, flat, no_mask

_UFUNCS: Final = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}


_MANY: Final = 4096
"""The number of elements from which on a sparse product adds rows faster."""


class NumpyAt(GenericAt):
    """An array of NumPy at an index."""

    __slots__ = ()

    @staticmethod
    def bounds(index: Array) -> tuple[int, int]:
        return int(index.min()), int(index.max())

    def _write(self, operation: Operation, values: Array | Scalar, mode: Mode | None) -> Array:
        values = self._values(values)
        # NumPy's own index checks bounds. The generic version handles shapes that NumPy would broadcast differently.
        if mode not in (None, "raise") or (values.ndim > 1 and values.shape[0] == 1):
            return super()._write(operation, values, mode)
        name = f"at.{operation}"
        items = check_types(name, xp, self.x, self.index)
        if any(isinstance(item, np.ndarray) and item.dtype == np.uint64 for item in items):
            # NumPy reads the largest uint64 numbers as negative indices.
            return super()._write(operation, values, mode)
        out = np.array(self.x)
        try:
            if operation == "set":
                out[self.index] = values
            elif any(isinstance(item, np.ndarray) for item in items):
                _UFUNCS[operation].at(out, self.index, values)
            else:
                out[self.index] = _UFUNCS[operation](out[self.index], values)
        except (IndexError, TypeError, ValueError):
            # Repeat the call with the generic version, whose messages name the argument.
            return super()._write(operation, values, mode)
        return out

    def _write_positions(self, operation: Operation, values: Any, mode: Mode | None) -> Array:
        if self.index.dtype.kind == "i" and not (np.ndim(values) > 1 and values.shape[0] == 1):
            out = np.array(self.x)
            try:
                if operation == "set":
                    out[self.index] = values
                else:
                    _UFUNCS[operation].at(out, self.index, values)
            except IndexError:
                pass  # the generic version's message names the argument
            else:
                return out
        return self._write(operation, values, mode)

    def _read_positions(self) -> Array:
        if self.index.dtype.kind == "i":
            try:
                return self.x.take(self.index, 0)
            except IndexError:
                pass
        return self._read(None, None)

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        if rows.width != 1 or rows.dropped:
            return super()._read_rows(table, rows, fill)
        # This is four times as fast as rows of one element.
        return np.take(table[:, 0], rows.index)[:, None]

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        index = rows.index
        if rows.dropped:
            inside = index < rows.count
            index, values = index[inside], values[inside]
        return _updated(table, index, values, operation)


def at(x: Array, index: Index = ..., /) -> At:
    no_mask("at", x)
    return NumpyAt(x, index)


def _kernel(what: Reduction, values: Array, ids: Array) -> Array:
    """Reduce segments. `ufunc.at` raises for too large ids, but counts negative ids from the end."""
    no_mask(what.function, values)
    if ids.size and ids.dtype != np.uint64 and ids.min() >= 0:
        ids = ids.astype(np.intp, copy=False)
        try:
            return _reduce(what, values, ids)
        except IndexError:
            if what.mode == "raise":
                raise out_of_bounds(what.function, int(ids.max()), None, what.num_segments) from None
    ids, dropped = resolve(
        what.function, xp, ids, what.num_segments, what.mode, NumpyAt.bounds, axis=None, from_end=False
    )
    if dropped:
        inside = ids < what.num_segments
        ids, values = ids[inside], values[inside]
    return _reduce(what, values, ids)


def _updated(table: Array, index: Array, values: Array, operation: Operation) -> Array:
    """Return a table of shape `(count, width)` with updated rows. Several values for a row are applied in order."""
    if operation in ("add", "subtract") and _sums_first(table):
        total = _sums(table.shape[0], index, values)
        return _UFUNCS[operation](table, total, out=total)
    out = np.array(table, order="C")
    _update(out, index, values, operation)
    return out


def _update(out: Array, index: Array, values: Array, operation: Operation) -> None:
    """Update elements of a vector or rows of a table, in place."""
    if operation in ("min", "max"):
        # A ufunc's `at` warns for NaN, although the ufunc itself does not.
        with np.errstate(invalid="ignore"):
            return _update_each(out, index, values, operation)
    return _update_each(out, index, values, operation)


def _update_each(out: Array, index: Array, values: Array, operation: Operation) -> None:
    if out.shape[1:] == (1,):
        out, values = out[:, 0], values[:, 0]
    if operation == "set":
        out[index] = values
    elif out.ndim == 1:
        _UFUNCS[operation].at(out, index, values)
    else:  # element by element, since a ufunc's `at` has a fast path only for one axis
        width = out.shape[1]
        positions = (index[:, None] * width + np.arange(width)).reshape(-1)
        _UFUNCS[operation].at(out.reshape(-1), positions, values.reshape(-1))


def _sums_first(x: Array) -> bool:
    """Return whether to add rows, of shape `(n, width)`, to zeros, and their sums to a table."""
    return x.shape[1] > 1 and x.dtype.char != "e" and _has_products()


@cache
def _has_products() -> bool:
    return import_if_usable("scipy.sparse") is not None


def _sums(count: int, index: Array, values: Array) -> Array:
    """Add values of shape `(n, width)` to `count` rows of zeros. A sparse product has the same order as `add.at`.

    A million rows of 8 take 7 ms by the product; `add.at` takes 70 ms, and `bincount` by columns 57 ms. Ten rows take
    60 µs by the product; `add.at` takes 8.
    """
    if values.size < _MANY:
        total = np.zeros((count, values.shape[1]), values.dtype)
        _update(total, index, values, "add")
        return total
    from scipy.sparse import csr_array

    number = len(index)
    pick = csr_array((np.ones(number, values.dtype), index, np.arange(number + 1)), shape=(number, count))
    return pick.T @ values


def _reduce(what: Reduction, values: Array, ids: Array) -> Array:
    """Reduce segments. Raise `IndexError` for an id beyond the last segment."""
    result = nothing(xp, values, what)
    table = result
    if values.ndim > 1:
        if ids.size and ids.max() >= what.num_segments:
            raise IndexError
        width = math.prod(values.shape[1:])
        values = values.reshape(len(ids), width)
        if what.combination == "add" and _sums_first(values):
            return np.reshape(_sums(what.num_segments, ids, values), result.shape)
        table = np.reshape(result, (what.num_segments, width))
    _update(table, ids, values, what.combination)
    return result


@forwards_to(generic.scatter)
def scatter(
    x: Array, indices: Array, values: Any, /, *, operation: Any = "set", mode: Any = None, **axes: int
) -> Array:
    no_mask("scatter", x)
    if axes["axis"] == 0 and mode in (None, "raise") and are_within(indices, x.shape[:1]):
        table, values = _spread(x, values, indices.shape, 1)
        index = indices.reshape(-1).astype(np.intp, copy=False)
        if operation == "mean":
            return _averaged(table, index, values).reshape(x.shape)
        return _updated(table, index, values, operation).reshape(x.shape)
    return generic.scatter(x, indices, values, operation=operation, mode=mode, **axes)


@forwards_to(generic.scatter_nd)
def scatter_nd(
    x: Array, indices: Array, values: Any, /, *, operation: Any = "set", mode: Any = None, **axes: Any
) -> Array:
    no_mask("scatter_nd", x)
    k = indices.shape[-1]
    is_plain = k and not axes["batch_dims"] and axes["axes"] == tuple(range(k))
    if is_plain and mode in (None, "raise") and are_within(indices, x.shape[:k]):
        table, values = _spread(x, values, indices.shape[:-1], k)
        positions = indices.reshape(-1, k)
        if operation == "mean":
            return _averaged(table, flat(positions, x.shape[:k]), values).reshape(x.shape)
        if table.shape[1] > 1:
            return _updated(table, flat(positions, x.shape[:k]), values, operation).reshape(x.shape)
        out = np.array(table, order="C")
        for part in blocks(len(positions)):
            _update(out, flat(positions[part], x.shape[:k]), values[part], operation)
        return out.reshape(x.shape)
    return generic.scatter_nd(x, indices, values, operation=operation, mode=mode, **axes)


def _averaged(table: Array, index: Array, values: Array) -> Array:
    """Replace rows by the averages of their values, without the generic version's loop."""
    total = _updated(np.zeros_like(table), index, values, "add")
    number = np.bincount(index, minlength=len(table))[:, None]
    np.divide(total, number, out=total, where=number > 0, casting="same_kind")
    np.copyto(total, table, where=number == 0)
    return total


def _spread(x: Array, values: Array | Scalar, positions: tuple[int, ...], axes: int) -> tuple[Array, Array]:
    """Return `x` as a table with rows along its first `axes` axes, and the values as another table."""
    width = math.prod(x.shape[axes:])
    values = np.asarray(values, dtype=x.dtype)
    shape = positions + x.shape[axes:]
    if values.shape != shape:
        values = np.broadcast_to(values, shape)
    return x.reshape(math.prod(x.shape[:axes]), width), values.reshape(math.prod(positions), width)


segment_sum, segment_prod, segment_min, segment_max, segment_mean = reducers(_kernel)


def segment_reduce(values: Array, offsets: Array, /, *, operation: SegmentOperation = "add", axis: int = 0) -> Array:
    no_mask("segment_reduce", values)
    # `reduceat` treats empty segments as segments of one value, and would add float16 in float16.
    is_plain = offsets.ndim == 1 and operation != "mean" and values.dtype.char != "e"
    if not is_plain or len(offsets) == 1 or (offsets[1:] == offsets[:-1]).any():
        return generic.segment_reduce(values, offsets, operation=operation, axis=axis)
    size = values.shape[axis]
    if offsets[-1] < size:
        values = values[(slice(None),) * axis + (slice(0, int(offsets[-1])),)]
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = _UFUNCS[operation].reduceat(values, offsets[:-1].astype(np.intp, copy=False), axis, values.dtype)
    return found


def offset_facts(offsets: Array, /) -> tuple[Any, Any, Any]:
    is_falling = (offsets[..., 1:] < offsets[..., :-1]).any()
    low, high = (offsets, offsets) if is_falling else (offsets[..., 0], offsets[..., -1])
    return low.min(), high.max(), is_falling
