"""Scatter and segment reductions on PyTorch, by `index_add`, `scatter_reduce` and `index_put`."""

import math
from collections.abc import Callable
from typing import Any, Final, Self, TypeGuard

import torch

import xpand.torch as xp
from xpand import UnsupportedError, is_concrete
from xpand.extend import LibraryArray as Array, Scalar
from xpand.torch._concrete import without_grad
from xpand.torch._dtypes import SIGNED, from_ordered
from xpand_extensions._at import GenericAt, binary
from xpand_extensions._bounds import Mode, out_of_bounds, resolve
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._index import Basic, Mask, Rows
from xpand_extensions._runs import Runs
from xpand_extensions.generic.scatter._nd import scatter as generic_scatter, scatter_nd as generic_scatter_nd, write
from xpand_extensions.generic.scatter._offsets import segment_reduce as generic_segment_reduce
from xpand_extensions.scatter import Index
from xpand_extensions.scatter._at import At, Operation
from xpand_extensions.scatter._nd import ScatterOperation
from xpand_extensions.scatter._offsets import SegmentOperation
from xpand_extensions.scatter._segments import Reduction, identity, reducers

from ._plain import is_plain
from ._rows import are_within, checks_itself, flat, select
from ._unsigned import ordered

_SEGMENT_REDUCE: Final = {
    "add": ("sum", 0.0),
    "multiply": ("prod", 1.0),
    "min": ("min", math.inf),
    "max": ("max", -math.inf),
    "mean": ("mean", None),
}

_WIDE: Final = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}
"""The data types in which values of shorter ones are added: one by one, a million would lose four digits."""

_BLOCK: Final = 1 << 16
"""The number of values that are converted at a time."""

_FEW: Final = 16
"""A table with more rows than this number for each value is not converted."""

_REDUCE: Final = {"multiply": "prod", "min": "amin", "max": "amax"}


class TorchAt(GenericAt):
    """A tensor at an index."""

    __slots__ = ()

    @staticmethod
    def bounds(index: Array) -> tuple[int, int]:
        low, high = torch.aminmax(index.to(torch.int64) if index.dtype in SIGNED else index)
        if index.dtype == torch.uint64 and int(low) < 0:
            return 0, int(low) % 2**64
        return int(low), int(high)

    @staticmethod
    def runs(index: Array, count: int) -> Runs:
        return _Runs.of_index(index, count)

    def _read_basic(self, key: tuple[int | slice, ...]) -> Array:
        forward, flipped = _forward(key)
        found = self.x[forward]
        return found.flip(flipped) if flipped else found

    def _write_basic(self, selection: Basic, values: Array) -> Array:
        forward, flipped = _forward(selection.key)
        values = values.flip(flipped) if flipped else values
        if type(self.x) is type(values) and is_concrete(self.x) and is_concrete(values):
            out = self.x.clone()
            out[forward] = values
            return out
        # Under vmap, a write in place would raise if the values are mapped over and the array is not.
        numbers = torch.arange(self.x.numel(), device=self.x.device).reshape(self.x.shape)[forward]
        return self.x.flatten().scatter(0, numbers.flatten(), values.flatten()).reshape(self.x.shape)

    def _read_rows(self, table: Array, rows: Rows, fill: Any) -> Array:
        # There are no negative indices; the standard's `take` would check for them.
        return super()._read_rows(table, rows, fill) if rows.dropped else select(table, 0, rows.index)

    def _write_rows(self, table: Array, rows: Rows, values: Array, operation: Operation) -> Array:
        index, count = rows.index, rows.count
        if rows.dropped:
            # Add a row for dropped values. It has ones, because their powers have finite gradients.
            table = torch.cat([table, table.new_ones((1, rows.width))])
            count += 1
        if rows.unique and operation != "set":
            values = binary(xp, operation, table.dtype)(table.index_select(0, index), values)
            operation = "set"
        if operation == "set":
            table = _set(table, index, values, unique=rows.unique)
        elif operation == "power":
            wider = Rows(without_grad(index), count, rows.width, rows.shape, unique=False, dropped=False)
            table = super()._write_rows(table, wider, values, operation)
        elif operation == "divide":
            table = table / _combine(torch.ones_like(table), index, values, "multiply")
        else:
            table = _combine(table, index, values, operation)
        return table[: rows.count] if rows.dropped else table

    def _apply_rows(self, table: Array, rows: Rows, function: Callable[[Array], Array]) -> Array:
        if rows.dropped:
            table = torch.cat([table, table.new_ones((1, rows.width))])
        count = rows.count + rows.dropped
        wider = Rows(without_grad(rows.index), count, rows.width, rows.shape, unique=rows.unique, dropped=False)
        return super()._apply_rows(table, wider, function)[: rows.count]

    def _write_positions(self, operation: Any, values: Any, mode: Mode | None) -> Array:
        if checks_itself(self.x, self.index):
            try:
                index = self.index.reshape(-1).to(torch.int64)
                return _scatter(self.x, index, values, 1, tuple(self.index.shape), operation)
            except (IndexError, RuntimeError):
                pass  # an index is out of bounds or negative, which `_write` supports
        return self._write(operation, values, mode)

    def _read_positions(self) -> Array:
        if checks_itself(self.x, self.index):
            try:
                found = select(self.x, 0, self.index.reshape(-1))
            except (IndexError, RuntimeError):
                pass
            else:
                return found.reshape(self.index.shape + self.x.shape[1:])
        return self._read(None, None)

    def _masked(self, selection: Mask) -> Array:
        raise UnsupportedError(
            "at.get: under torch.func or torch.compile, the number of elements that a boolean mask selects is unknown; "
            "use `xp.where(mask, x, …)`"
        )


def at(x: Array, index: Index = ..., /) -> At:
    return TorchAt(x, index)


def _forward(key: tuple[int | slice, ...]) -> tuple[tuple[int | slice, ...], list[int]]:
    """Reverse slices with negative steps, which PyTorch lacks; also return their axes in the result."""
    forward: list[int | slice] = []
    flipped: list[int] = []
    axis = 0
    for entry in key:
        if isinstance(entry, slice) and entry.step < 0:
            size = len(range(entry.start, -1 if entry.stop is None else entry.stop, entry.step))
            last = entry.start + (size - 1) * entry.step
            entry = slice(last, entry.start + 1, -entry.step)
            flipped.append(axis)
        forward.append(entry)
        axis += not isinstance(entry, int)
    return tuple(forward), flipped


def _set(table: Array, index: Array, values: Array, *, unique: bool) -> Array:
    """Write values to rows. The last of several values for a row is written, which `index_put` does not guarantee."""
    signed = SIGNED.get(table.dtype)
    if signed is not None:
        return _set(table.view(signed), index, values.view(signed), unique=unique).view(table.dtype)
    if unique:
        return table.index_put((index,), values)
    if _is_ordered(index, values):
        # Measured for a million values: 4 ms; the maximum of the positions takes 40 ms.
        if table.shape[1] == 1:
            return table.squeeze(1).scatter(0, index, values.squeeze(1)).unsqueeze(1)
        return table.scatter(0, index[:, None].expand(values.shape), values)
    order = torch.ones_like(index).cumsum(0) - 1
    none = index.new_full((len(table),), -1)
    try:
        last = none.scatter_reduce(0, index, order, "amax")
    except NotImplementedError:  # distributed tensors
        runs = _Runs.of_index(index, len(table))
        return torch.where(runs.present[:, None], runs.last(values), table)
    return torch.where((last >= 0)[:, None], values.index_select(0, last.clamp(min=0)), table)


def _is_ordered(index: Array, values: Array) -> bool:
    """Return whether PyTorch's `scatter` writes the last of several values for a row, as on the CPU.

    It returns False for differentiated values: overwritten ones would get a gradient, too.
    """
    return is_concrete(index) and index.is_cpu and not values.requires_grad


class _Runs(Runs):
    """Runs of an index with `0 <= index < count`."""

    __slots__ = ()

    @classmethod
    def of_index(cls, index: Array, count: int) -> Self:
        """Find the runs by counting: under vmap, `searchsorted` would copy and warn."""
        order = index.argsort(stable=True)
        lengths = index.new_zeros(count).index_add(0, index, torch.ones_like(index))
        stop = lengths.cumsum(0)
        return cls(xp, index.index_select(0, order), order, stop - lengths, stop)

    @property
    def longest(self) -> int:
        lengths = without_grad(self.stop - self.first)
        return int(lengths.max()) if lengths.numel() and is_concrete(lengths) else len(self.sorted_index)


def _combine(table: Array, index: Array, values: Array, operation: str) -> Array:
    """Combine each row of a table with all values for it: add, subtract, multiply, minimum or maximum."""
    signed = SIGNED.get(table.dtype)
    if signed is not None and operation in ("min", "max"):
        return from_ordered(_combine(ordered(table), index, ordered(values), operation), table.dtype)
    if signed is not None:  # the same bits, whether signed or not
        return _combine(table.view(signed), index, values.view(signed), operation).view(table.dtype)
    narrow = table.shape[1] == 1
    if operation in ("add", "subtract"):
        wide = _wide_of(table)
        if wide is None or len(index) < 2:
            return _added(table, index, values, operation)
        if len(table) < _FEW * len(index) or not is_concrete(index):
            return _added_to(table.to(wide), index, values, operation).to(table.dtype)
        rows, inverse = torch.unique(index, return_inverse=True)
        sums = _added_to(values.new_zeros((len(rows), table.shape[1]), dtype=wide), inverse, values, operation)
        return _added(table, rows, sums.to(table.dtype), "add")
    if operation == "multiply" and not is_concrete(values):
        # The gradient of scatter_reduce's product reads values, which raises under vmap.
        runs = _Runs.of_index(index, len(table))
        total = runs.reduce(values, torch.mul, 1)
        return table * torch.where(runs.present[:, None], total, torch.ones_like(total))
    try:
        if narrow:  # 1.1 ms instead of 2.2 ms
            return table.squeeze(1).scatter_reduce(0, index, values.squeeze(1), _REDUCE[operation]).unsqueeze(1)
        return table.scatter_reduce(0, index[:, None].expand(values.shape), values, _REDUCE[operation])
    except NotImplementedError:  # distributed tensors
        runs = _Runs.of_index(index, len(table))
        combine = torch.minimum if operation == "min" else torch.maximum
        found = runs.reduce(values, combine, identity(xp, table.dtype, "min" if operation == "min" else "max"))
        return torch.where(runs.present[:, None], combine(table, found), table)


def _added(table: Array, index: Array, values: Array, operation: str) -> Array:
    if operation == "add" and table.shape[1] == 1:
        # Measured for a million values: 0.5 ms; index_add takes 1.0 ms.
        return table.squeeze(1).scatter_add(0, index, values.squeeze(1)).unsqueeze(1)
    return table.index_add(0, index, values, alpha=1 if operation == "add" else -1)


def _added_to(table: Array, index: Array, values: Array, operation: str) -> Array:
    """Add to a new table of a wider data type. Many values are converted in blocks, which stay in the cache."""
    if len(index) <= _BLOCK or type(table) is not torch.Tensor or not is_plain(table, index, values):
        return _added(table, index, values.to(table.dtype), operation)
    for start in range(0, len(index), _BLOCK):
        part = slice(start, start + _BLOCK)
        added = values[part].to(table.dtype)
        if operation == "add" and table.shape[1] == 1:
            table.squeeze(1).scatter_add_(0, index[part], added.squeeze(1))
        else:
            table.index_add_(0, index[part], added, alpha=1 if operation == "add" else -1)
    return table


def _wide_of(x: Array) -> Any:
    """Return the data type in which numbers are added; None for their own. Apple's GPUs have no float64."""
    return None if x.device.type == "mps" else _WIDE.get(x.dtype)


def _kernel(what: Reduction, values: Array, ids: Array) -> Array:
    size, dtype = what.num_segments, values.dtype
    wide = _wide_of(values) if what.combination == "add" else None
    is_long = wide is not None and len(ids) > _BLOCK and is_plain(values, ids)
    values = values if wide is None or is_long else values.to(wide)
    # `new_full`: the values may be distributed.
    empty = values.new_full((size, *values.shape[1:]), identity(xp, values.dtype, what.combination))
    # On the CPU, the scatter itself raises for ids out of bounds, unless it is empty. On a GPU it would crash.
    dropped = False
    found_out = ids.device.type == "cpu" and ids.dtype != torch.uint64 and size and 0 not in values.shape
    if what.mode != "raise" or not found_out:
        ids, dropped = resolve(what.function, xp, ids, size, what.mode, TorchAt.bounds, axis=None, from_end=False)
    elif ids.dtype != torch.int64:
        ids = ids.to(torch.int64)
    try:
        if values.ndim == 1 and what.combination == "add" and values.dtype not in SIGNED and not (dropped or is_long):
            return empty.scatter_add(0, ids, values).to(dtype)  # half the time for few values
        width = math.prod(values.shape[1:])
        table = empty.reshape(size, width)
        if dropped:
            table = torch.cat([table, table.new_zeros((1, width))])
        result = _combine(table, ids, values.reshape(values.shape[0], width), what.combination)
    except (IndexError, RuntimeError):
        if is_concrete(ids) and ids.numel():
            low, high = TorchAt.bounds(ids)
            if low < 0 or high >= size:
                raise out_of_bounds(what.function, high if high >= size else low, None, size) from None
        raise
    return result[:size].reshape(empty.shape).to(dtype)


@forwards_to(generic_scatter)
def scatter(
    x: Array, indices: Array, values: Any, /, *, operation: Any = "set", mode: Any = None, **axes: int
) -> Array:
    if axes["axis"] == 0 and mode in (None, "raise") and checks_itself(x, indices):
        try:
            return _scatter(x, indices.reshape(-1).to(torch.int64), values, 1, tuple(indices.shape), operation)
        except (IndexError, RuntimeError):
            # If an index is out of bounds or negative, use the generic version. Do not hide other errors.
            if are_within(indices, x.shape[:1]):
                raise
    return generic_scatter(x, indices, values, operation=operation, mode=mode, **axes)


@forwards_to(generic_scatter_nd)
def scatter_nd(
    x: Array, indices: Array, values: Any, /, *, operation: Any = "set", mode: Any = None, **axes: Any
) -> Array:
    k = indices.shape[-1]
    is_plain = k and not axes["batch_dims"] and axes["axes"] == tuple(range(k)) and mode in (None, "raise")
    if is_plain and checks_itself(x, indices) and are_within(indices, x.shape[:k]):
        index = flat(indices.reshape(-1, k), x.shape[:k])
        return _scatter(x, index, values, k, tuple(indices.shape[:-1]), operation)
    return generic_scatter_nd(x, indices, values, operation=operation, mode=mode, **axes)


def _scatter(
    x: Array, index: Array, values: Array | Scalar, axes: int, positions: tuple[int, ...], operation: ScatterOperation
) -> Array:
    """Update a tensor at a flat index into its first `axes` axes, within bounds."""
    after = tuple(x.shape[axes:])
    count, width = math.prod(x.shape[:axes]), math.prod(after)
    if isinstance(values, Scalar) and not hasattr(values, "dtype"):
        values = xp.full((), values, dtype=x.dtype, device=x.device).expand(positions + after)
    if _is_plain(values, x, positions + after, operation):
        if x.ndim == 1 and values.ndim == 1 and x.dtype not in SIGNED:  # half the time for few values
            if operation == "add" and x.dtype not in _WIDE:
                return x.scatter_add(0, index, values)
            if operation == "set" and _is_ordered(index, values):
                return x.scatter(0, index, values)
        table, rows = x.reshape(count, width), values.reshape(len(index), width)
        if operation == "set":
            return _set(table, index, rows, unique=False).reshape(x.shape)
        return _combine(table, index, rows, operation).reshape(x.shape)
    chosen = Rows(index, count, width, positions, len(index) <= 1, False)
    return write(x, chosen, values, after, operation)


def _is_plain(values: Any, x: Array, shape: tuple[int, ...], operation: ScatterOperation) -> TypeGuard[Array]:
    """Return whether values need no cast, no broadcast and no averaging: a fast path for small calls."""
    return (
        operation != "mean"
        and type(values) is torch.Tensor
        and values.dtype == x.dtype
        and values.shape == shape
        and 0 not in shape
        and 0 not in x.shape
    )


def segment_reduce(values: Array, offsets: Array, /, *, operation: SegmentOperation = "add", axis: int = 0) -> Array:
    if (
        values.dtype in (torch.float32, torch.float64)
        and axis == offsets.ndim - 1
        and is_concrete(values)
        and is_concrete(offsets)
        and not values.requires_grad
        and 0 not in (*values.shape, *offsets.shape)
    ):
        name, empty = _SEGMENT_REDUCE[operation]
        wide = (_wide_of(values) if operation in ("add", "mean") else None) or values.dtype
        offsets = offsets.to(torch.int64)
        reduced = torch.segment_reduce(values.to(wide), name, offsets=offsets, axis=axis, initial=empty, unsafe=True)
        return reduced.to(values.dtype)
    return generic_segment_reduce(values, offsets, operation=operation, axis=axis)


segment_sum, segment_prod, segment_min, segment_max, segment_mean = reducers(_kernel)
