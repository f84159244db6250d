"""Indexing by static keys, which select views, and by integers in arrays, which the program reads."""

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from .....tracing._graph import Equation, Variable
from .....tracing._keys import ARRAY
from ...scatter import FEW, WIDE
from ._emit import Emitter
from ._flags import fail
from ._scalars import converted, instructions_of, literal
from ._shares import shared
from ._values import (
    SMALL,
    Buffer,
    Call,
    Elementwise,
    Index,
    Node,
    Order,
    Pieces,
    Place,
    Small,
    all_are,
    constant,
    nodes,
)


def item(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    if ARRAY not in words_of(equation):
        return [emitter.viewed(given[0], itemgetter(_key(equation)))]
    buffer, indices = emitter.in_memory(given[0]), given[1:]
    if indices[0].shape:
        indices = list(map(emitter.in_memory, indices))
        at = lambda place: [_position(emitter, x, place, size) for x, size in zip(indices, buffer.shape)]
        return [_read(emitter, equation, buffer, len(indices[0].shape), at)]
    return [_indexed(emitter, equation, buffer, indices)]


def _read(
    emitter: Emitter, equation: Equation, buffer: Buffer, count: int, at: Callable[[Place], Sequence[Index]]
) -> Buffer:
    """Read a part of an array for each position on the first `count` axes of the result. `at` returns its place."""
    found = emitter.result(equation.outputs[0].shape, buffer.dtype)

    def read(place: Place) -> None:
        emitter.store(emitter.part(buffer, at(place)), emitter.part(found, place))

    with shared(emitter, found.shape[:count], 2 * found.size) as part:
        emitter.nest(found.shape[:count], read, part=part)
    return found


def words_of(equation: Equation) -> list[str]:
    """Return the parts of a key that are strings: placeholders of arrays, or no indices."""
    return [part for part in equation.params.get("key", ()) if isinstance(part, str)]


def _takes_rows(equation: Equation, arrays: Sequence[Any]) -> bool:
    """Return whether a key consists only of integers, static or in arrays without axes."""
    key = [part for part in equation.params["key"] if part is not Ellipsis]
    ends = all(part is not Ellipsis for part in equation.params["key"][:-1])
    return (
        ends
        and all(isinstance(part, (int, str)) and not isinstance(part, bool) for part in key)
        and all(isinstance(x, Variable) and not x.shape and np.dtype(x.dtype).kind in "iu" for x in arrays)
    )


def _takes_several(equation: Equation, arrays: Sequence[Any]) -> bool:
    """Return whether a key is integer arrays of the same shape, followed by whole axes."""
    key = [part for part in equation.params["key"] if part is not Ellipsis]
    count = len(arrays)
    return (
        all(isinstance(part, str) for part in key[:count])
        and all(part == slice(None) for part in key[count:])
        and equation.params["key"][0] is not Ellipsis
        and len({x.shape for x in arrays if isinstance(x, Variable)}) == 1
        and all(isinstance(x, Variable) and x.shape and _is_index(x.dtype) for x in arrays)
    )


def _is_index(dtype: Any) -> bool:
    return np.dtype(dtype).kind in "iu"


def _position(emitter: Emitter, indices: Node, place: Place, size: int) -> Index:
    """Return an integer of an array as a position on an axis.

    If it is out of bounds, NumPy repeats the program and raises.
    """
    b = emitter.b
    index = converted(b, emitter.element(indices, place), indices.dtype, np.dtype(np.int64))
    if indices.dtype.kind == "i":
        index = b.select(b.icmp_signed("<", index, constant(0)), b.add(index, constant(size)), index)
    is_outside = b.icmp_unsigned(">=", index, constant(size))
    fail(emitter, is_outside)
    return Index(b.select(is_outside, constant(0), index), 0, size)


def _indexed(emitter: Emitter, equation: Equation, buffer: Buffer, indices: Sequence[Node]) -> Buffer:
    """Return the part of an array at integers. Some of them are computed."""
    arrays = iter(indices)
    place = []
    for part, size in zip((part for part in equation.params["key"] if part is not Ellipsis), buffer.shape):
        if isinstance(part, int):
            place.append(Index(constant(part % size), part % size, part % size + 1))
        else:
            place.append(_position(emitter, emitter.small(next(arrays)), (), size))
    return emitter.part(buffer, place)


def item_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if ARRAY not in words_of(equation):
        return _static_key(equation, orders)
    x, arrays = equation.inputs[0], equation.inputs[1:]
    if not (_takes_rows(equation, arrays) or _takes_several(equation, arrays)) or not x.aval.size:
        return "index that is not static"
    if _takes_several(equation, arrays):
        return Order.DENSE if all_are(Order.DENSE, orders) else "order of the elements in memory"
    return orders[0].of_part if Order.ROWS in orders[0] else "order of the elements in memory"


def _static_key(equation: Equation, orders: Sequence[Order]) -> Order | str:
    key = equation.params["key"]
    if any(part is ARRAY or isinstance(part, bool) for part in key):
        return "index that is not static"
    order = orders[0] & Order.DENSE
    if all(part in (None, Ellipsis, slice(None)) for part in key):
        return order if Order.DENSE in order else order & Order.EVEN
    if all(isinstance(part, int) for part in key if part is not Ellipsis) and Ellipsis not in key[:-1]:
        return order.of_part
    first, *others = key
    is_forward = all((part.step or 1) > 0 for part in key if isinstance(part, slice))
    sign = Order.FORWARD if is_forward else Order.OTHER
    if not isinstance(first, slice) or not all(part in (Ellipsis, slice(None)) for part in others):
        return order & (Order.ROWS | sign)
    return order if first.step in (None, 1) else order & (Order.PARTS | sign)


def _key(equation: Equation) -> tuple[Any, ...]:
    """Return a key for which NumPy returns views, also without axes."""
    key: tuple[Any, ...] = equation.params["key"]
    return key if Ellipsis in key else (*key, Ellipsis)


def set_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    is_static = ARRAY not in words_of(equation)
    arrays = equation.inputs[2:]
    is_known = is_static or _takes_rows(equation, arrays) or _takes_several(equation, arrays)
    if not is_known or not (is_static or equation.outputs[0].aval.size):
        return "index that is not static"
    found = _static_key(equation, orders) if is_static else Order.DENSE
    if isinstance(found, str):
        return found
    x, value, out = *equation.inputs[:2], equation.outputs[0]
    if not isinstance(x, Variable) or x.dtype != out.dtype:
        return "data type"
    source = np.dtype(value.dtype) if isinstance(value, Variable) else np.asarray(value).dtype
    if source.kind not in "biufc" or _rank(source) > _rank(np.dtype(out.dtype)):
        return "cast"
    return Order.DENSE if Order.ROWS in orders[0] else "order of the elements in memory"


def _rank(dtype: np.dtype[Any]) -> int:
    """Return 2 for complex numbers, 1 for other floating-point numbers, and 0 for integers and booleans."""
    return "fc".find(dtype.kind) + 1


def set_part(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    key, out = _key(equation), equation.outputs[0]
    x, value, dtype = given[0], given[1], np.dtype(out.dtype)
    if value is None:
        value = Small((), dtype, [literal(equation.inputs[1], dtype)])
    value = emitter.cast(value, dtype)
    if ARRAY in words_of(equation):
        return [_set_computed(emitter, equation, x, value, given[2:])]
    if out.aval.size <= SMALL:
        positions = np.arange(out.aval.size).reshape(out.shape)[key]
        values = list(emitter.small(x).values)
        new = emitter.small(value)
        shape = new.shape[max(0, len(new.shape) - positions.ndim) :]
        which = np.broadcast_to(np.arange(new.size).reshape(shape), positions.shape)
        for i, j in zip(positions.ravel(), which.ravel()):
            values[i] = new.values[j]
        return [Small(out.shape, dtype, values)]
    if isinstance(x, Buffer) and emitter.targets[0] is None:
        pieces = _replaced(emitter, x, value, key)
        if pieces is not None:
            return [pieces]
    found = emitter.result(out.shape, dtype)
    emitter.store(x, found)
    part = found.viewed(lambda x: x[key])
    if part.size:
        emitter.store(emitter.stretched(value, part.shape), part)
    return [found]


def _replaced(emitter: Emitter, x: Buffer, value: Node, key: tuple[Any, ...]) -> Node | None:
    """Return an array with a replaced range of one axis, without a copy, or None for other keys."""
    if not all(part is Ellipsis or isinstance(part, slice) for part in key):
        return None
    count = len(key) - 1
    i = key.index(Ellipsis)
    parts = [*key[:i], *[slice(None)] * (len(x.shape) - count), *key[i + 1 :]]
    ranges = [range(*part.indices(length)) for part, length in zip(parts, x.shape)]
    axes = [axis for axis, (each, length) in enumerate(zip(ranges, x.shape)) if each != range(length)]
    if len(axes) != 1 or ranges[axes[0]].step != 1 or not ranges[axes[0]]:
        return None
    (axis,) = axes
    before, found = (slice(None),) * axis, ranges[axis]
    shape = tuple(map(len, ranges))
    # Divide the loops over the last axis at the ends of the pieces, so that each loop computes one piece.
    is_last = axis == len(shape) - 1 and value.shape == shape
    if isinstance(value, Elementwise) and is_last and not nodes(value, (Call, Pieces)):
        new: Buffer | Elementwise = value
    else:
        new = emitter.in_memory(emitter.stretched(value, shape))
    ends = slice(found.start), slice(found.stop, None)
    rest = [x.viewed(itemgetter((*before, part))) for part in ends]
    return Pieces(x.shape, x.dtype, axis, [each for each in (rest[0], new, rest[1]) if each.size])


def _set_computed(emitter: Emitter, equation: Equation, x: Node, value: Node, indices: Sequence[Node]) -> Node:
    """Set the parts of a copy at computed integers, one after the other."""
    if isinstance(x, Small):
        copy = emitter.in_memory(x)
    else:
        copy = emitter.result(x.shape, x.dtype)
        emitter.store(x, copy)
    if not indices[0].shape:
        row = _indexed(emitter, equation, copy, indices)
        emitter.store(emitter.stretched(value, row.shape), row)
    else:
        arrays = list(map(emitter.in_memory, indices))
        values = emitter.in_memory(emitter.stretched(value, (*arrays[0].shape, *copy.shape[len(arrays) :])))

        def write(place: Place) -> None:
            selected = [_position(emitter, each, place, size) for each, size in zip(arrays, copy.shape)]
            emitter.store(emitter.part(values, place), emitter.part(copy, selected))

        emitter.nest(arrays[0].shape, write)
    return copy


# Functions that take indices


def taken_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, indices = equation.inputs
    if not isinstance(x, Variable) or not isinstance(indices, Variable) or not x.aval.size:
        return "arguments"
    return Order.DENSE if _is_index(indices.dtype) else "data type"


def taken(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Read rows along an axis."""
    axis, indices = equation.params["axis"], emitter.in_memory(given[1])
    if axis is None:
        axis, buffer = 0, emitter.dense(given[0]).viewed(lambda x: x.reshape(-1))
    else:
        axis, buffer = axis % len(given[0].shape), emitter.in_memory(given[0])
    at = lambda place: (*place[:axis], _position(emitter, indices, place[axis:], buffer.shape[axis]))
    return [_read(emitter, equation, buffer, axis + len(indices.shape), at)]


def taken_along_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    found = taken_order(equation, orders)
    if isinstance(found, str):
        return found
    x, indices = equation.inputs
    if len(x.shape) != len(indices.shape):
        return "arguments"
    return Order.DENSE if all_are(Order.DENSE, orders) else "order of the elements in memory"


def taken_along(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Read elements, one index each along an axis."""
    buffer, indices = emitter.in_memory(given[0]), emitter.in_memory(given[1])
    count = len(buffer.shape)
    axis = equation.params["axis"] % count
    at = lambda place: (*place[:axis], _position(emitter, indices, place, buffer.shape[axis]), *place[axis + 1 :])
    return [_read(emitter, equation, buffer, count, at)]


# Rows of tables


class _Write(NamedTuple):
    """An operation that sets or adds rows: the positions of its inputs, and its treatment of indices."""

    table: int | None
    """None if the table has no effect, like zeros for a sum."""
    values: int
    indices: int
    drops: bool
    """Whether indices beyond the table are skipped."""
    operation: str
    """The elementwise operation that combines a row with a value; "set" for none."""
    axis: int = 0

    def start(self, dtype: np.dtype[Any]) -> Any:
        """Return the identity of the operation."""
        if self.operation in ("add", "multiply"):
            return int(self.operation == "multiply")
        sign = 1 if self.operation == "minimum" else -1
        if dtype.kind == "f":
            return sign * np.inf
        return np.iinfo(dtype).max if sign > 0 else np.iinfo(dtype).min


_OPERATIONS: Final = {"sum": "add", "prod": "multiply", "min": "minimum", "max": "maximum"}
ROWS: Final = tuple(f"rows.{name}" for name in ("add", "max", "min", "multiply", "set"))
SEGMENTS: Final = tuple(f"scatter.segment_{name}" for name in _OPERATIONS)


def _write_of(equation: Equation) -> _Write:
    name = equation.op.name
    if name in ROWS:
        operation = name.removeprefix("rows.")
        return _Write(0, 1, 2, equation.params["dropped"], _OPERATIONS.get(operation, operation))
    named = equation.params["template"].fill(range(len(equation.inputs)))
    operation = _OPERATIONS[name.removeprefix("scatter.segment_")]
    drops, axis = named.get("mode") == "drop", named.get("axis", 0)
    return _Write(None, named["values"], named["segment_ids"], drops, operation, axis)


def written_rows_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if not all(isinstance(x, Variable) for x in equation.inputs):
        return "arguments"
    write, out = _write_of(equation), equation.outputs[0]
    indices = equation.inputs[write.indices]
    dtypes = {np.dtype(x.dtype) for x in (*equation.inputs, out) if x is not indices}
    kind = next(iter(dtypes)).kind
    if len(dtypes) != 1 or kind == "b":
        return "data types"
    if kind == "c" and write.operation not in ("add", "set"):
        return "complex numbers"
    if not _is_index(indices.dtype) or len(indices.shape) != 1 or write.axis != 0:
        return "indices"
    if not all(x.aval.size for x in (*equation.inputs, out)):
        return "empty array"
    return Order.DENSE


def written_rows(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Set rows of a table, or combine rows with values, one after the other."""
    write, out, b = _write_of(equation), equation.outputs[0], emitter.b
    values, indices = emitter.in_memory(given[write.values]), emitter.in_memory(given[write.indices])
    table = None if write.table is None else emitter.in_memory(given[write.table])
    dtype, size = np.dtype(out.dtype), constant(out.shape[0])
    wide = np.dtype(WIDE.get(dtype.char, dtype)) if write.operation == "add" else dtype
    result = emitter.result(out.shape, dtype)
    found = result if wide == dtype else emitter.allocated(out.shape, wide)
    is_converted = found is result or table is None or indices.shape[0] * FEW > out.shape[0]

    def at_rows(act: Callable[[Place, Buffer, Index], None]) -> None:
        def visit(place: Place) -> None:
            index = converted(b, emitter.element(indices, place), indices.dtype, np.dtype(np.int64))
            is_inside = b.icmp_unsigned("<", index, size)
            if not write.drops:
                fail(emitter, b.not_(is_inside))
            with b.if_then(is_inside, likely=True):
                row = Index(index, 0, out.shape[0])
                act(place, emitter.part(found, [row]), row)

        emitter.nest(indices.shape, visit)

    def combine(place: Place, row: Buffer, index: Index) -> None:
        value = emitter.cast(emitter.part(values, place), wide)
        if write.operation != "set":
            value = Elementwise(row.shape, wide, instructions_of(write.operation, wide), [wide] * 2, [row, value])
        emitter.store(emitter.in_registers(value), row)  # like `cast`, which it may contain

    if table is None:
        emitter.store(emitter.stretched(Small((), wide, [literal(write.start(dtype), wide)]), out.shape), found)
    elif is_converted:
        emitter.store(emitter.cast(table, wide), found)
    else:
        at_rows(lambda place, row, index: emitter.store(emitter.cast(emitter.part(table, [index]), wide), row))
    at_rows(combine)
    if table is not None and not is_converted:
        emitter.store(table, result)
        at_rows(lambda place, row, index: emitter.store(emitter.cast(row, dtype), emitter.part(result, [index])))
    elif found is not result:
        emitter.store(emitter.cast(found, dtype), result)
    return [result]
