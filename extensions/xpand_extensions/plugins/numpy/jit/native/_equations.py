"""The operations that are compiled, each with the reason why some calls of it are not, and its instructions."""

import math
from collections.abc import Callable, Sequence
from enum import IntEnum
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from .....tracing._graph import Equation, Variable
from .....tracing._keys import ARRAY
from .....tracing.rules import ELEMENTWISE
from ._emit import Emitter
from ._scalars import converted, is_compiled, literal, plan_of, stored_type_of
from ._ufuncs import Loop, loop_of
from ._values import SMALL, Buffer, Call, Elementwise, Index, Node, Pieces, Small, constant

OUT_OF_BOUNDS: Final = 1 << 9
"""The status of a program with an index that is."""
DEEPEST: Final = 60
"""Operations that are computed for each element without an array in between."""


class Order(IntEnum):
    """The order of the elements of a NumPy array in memory, as far as it is known; NumPy adds them up in this order."""

    OTHER = 0
    """Any order."""
    ROWS = 1
    """The strides decrease from the first axis to the last: elementwise operations on it return `DENSE` arrays."""
    DENSE = 2
    """The elements are adjacent, row by row."""


Lower: TypeAlias = Callable[[Emitter, Equation, Sequence[Any]], list[Node]]
"""Emits an operation on arrays, None for numbers, and returns its results."""


class Rule(NamedTuple):
    """How to compile an operation."""

    lower: Lower
    order: Callable[[Equation, Sequence[Order]], Order | str]
    """Return the order of the result, or why the operation isn't compiled, by the order of its arrays."""


# Elementwise operations


def _of_elements(equation: Equation, orders: Sequence[Order]) -> Order | str:
    found = plan_of(equation)
    if isinstance(found, str):
        return found
    return Order.DENSE if all(orders) else "order of the elements in memory"


def _elementwise(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    plan, out = plan_of(equation), equation.outputs[0]
    assert not isinstance(plan, str)
    operands = [
        Small((), dtype, [literal(x, dtype)]) if node is None else emitter.spread(node, out.shape)
        for x, node, dtype in zip(equation.inputs, given, plan.dtypes)
    ]
    operands = [emitter.in_memory(x) if _depth(x) > DEEPEST else x for x in operands]
    found: Node
    if plan.loop is not None:
        found = Call(out.shape, out.dtype, plan.loop, plan.dtypes, operands)
        return [emitter.called(found) if found.size <= SMALL else found]
    assert plan.instructions is not None
    found = Elementwise(out.shape, out.dtype, plan.instructions, plan.dtypes, operands)
    return [emitter.small(found) if found.size <= SMALL else found]


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, node.parts), default=0)


# Views and rearrangements


def _view(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if not is_compiled(equation.outputs[0].dtype):
        return "data type"
    return min(orders[0], Order.ROWS)


def _unchanged(equation: Equation, orders: Sequence[Order]) -> Order | str:
    return orders[0] if is_compiled(equation.outputs[0].dtype) else "data type"


def _permuted(equation: Equation, orders: Sequence[Order]) -> Order | str:
    """Axes of size 1 may be moved; others change the order of the elements."""
    x, out = equation.inputs[0], equation.outputs[0]
    lengths = [[n for n in each.shape if n != 1] for each in (x, out)]
    positions = equation.op.function(np.arange(x.aval.size).reshape(x.shape), **equation.params)
    found = _unchanged(equation, orders)
    moves = len(lengths[0]) > 1 and not np.array_equal(positions.ravel(), np.arange(x.aval.size))
    return Order.OTHER if moves and not isinstance(found, str) else found


def _item(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    if ARRAY not in _words(equation):
        return [emitter.viewed(given[0], itemgetter(_key(equation)))]
    found = _indexed(emitter, equation, emitter.in_memory(given[0]), given[1:])
    return [emitter.small(found) if found.size <= SMALL else found]


def _words(equation: Equation) -> list[str]:
    return [part for part in equation.params["key"] if isinstance(part, str)]


def _takes_rows(equation: Equation, arrays: Sequence[Any]) -> bool:
    """Tell whether a key is integers of no axes, in arrays or known, and nothing else."""
    key = [part for part in equation.params["key"] if part is not Ellipsis]
    ends = all(part is not Ellipsis for part in equation.params["key"][:-1])
    return (
        ends
        and all(isinstance(part, (int, str)) and not isinstance(part, bool) for part in key)
        and all(isinstance(x, Variable) and not x.shape and np.dtype(x.dtype).kind in "iu" for x in arrays)
    )


def _indexed(emitter: Emitter, equation: Equation, buffer: Buffer, indices: Sequence[Node]) -> Buffer:
    """Return the part of an array at computed integers; where one is out of bounds, NumPy computes again and raises."""
    b, pointer, arrays = emitter.b, buffer.pointer, iter(indices)
    offset: Any = constant(buffer.offset)
    key = [part for part in equation.params["key"] if part is not Ellipsis]
    for part, size, stride in zip(key, buffer.shape, buffer.strides):
        if isinstance(part, int):
            index: Any = constant(part % size)
        else:
            array = next(arrays)
            (value,) = emitter.small(array).values
            index = converted(b, value, array.dtype, np.dtype(np.int64))
            if array.dtype.kind == "i":
                index = b.select(b.icmp_signed("<", index, constant(0)), b.add(index, constant(size)), index)
            is_outside = b.icmp_unsigned(">=", index, constant(size))
            emitter.fail(is_outside, OUT_OF_BOUNDS)
            index = b.select(is_outside, constant(0), index)
        offset = b.add(offset, b.mul(index, constant(stride)))
    pointer = b.gep(pointer, [offset], inbounds=True, source_etype=stored_type_of(buffer.dtype))
    count = len(key)
    return Buffer(buffer.shape[count:], buffer.dtype, pointer, buffer.strides[count:], slots=buffer.slots)


def _item_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if ARRAY not in _words(equation):
        return _static_key(equation, orders)
    if not _takes_rows(equation, equation.inputs[1:]) or not equation.inputs[0].aval.size:
        return "index that is not static"
    if not is_compiled(equation.outputs[0].dtype):
        return "data type"
    return Order.DENSE if orders[0] else "order of the elements in memory"


def _static_key(equation: Equation, orders: Sequence[Order]) -> Order | str:
    key = equation.params["key"]
    if any(part is ARRAY or isinstance(part, bool) for part in key):
        return "index that is not static"
    if not is_compiled(equation.outputs[0].dtype):
        return "data type"
    leading = all(isinstance(part, int) for part in key if part is not Ellipsis) and Ellipsis not in key[:-1]
    return orders[0] if leading else min(orders[0], Order.ROWS)


def _key(equation: Equation) -> tuple[Any, ...]:
    """Return a key with which NumPy returns views, also of no axes."""
    key: tuple[Any, ...] = equation.params["key"]
    return key if Ellipsis in key else (*key, Ellipsis)


def _set_key(equation: Equation, orders: Sequence[Order]) -> Order | str:
    is_static = ARRAY not in _words(equation)
    if not is_static and not (_takes_rows(equation, equation.inputs[2:]) and equation.outputs[0].aval.size):
        return "index that is not static"
    found = _static_key(equation, orders) if is_static else Order.DENSE
    if isinstance(found, str):
        return found
    x, value, out = *equation.inputs[:2], equation.outputs[0]
    if not isinstance(x, Variable) or x.dtype != out.dtype:
        return "data type"
    if isinstance(value, Variable):
        if not is_compiled(value.dtype) or (np.dtype(value.dtype).kind == "f") > (np.dtype(out.dtype).kind == "f"):
            return "cast"
    elif not isinstance(value, (bool, int, float)) or (isinstance(value, float) and np.dtype(out.dtype).kind != "f"):
        return "cast"
    return Order.DENSE if orders[0] else "order of the elements in memory"


def _joined(equation: Equation, orders: Sequence[Order]) -> Order | str:
    dtypes = {x.dtype for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)}
    if len(dtypes) != 1 or not is_compiled(*dtypes) or not all(isinstance(x, Variable) for x in equation.inputs):
        return "data types"
    return Order.DENSE if all(orders) else "order of the elements in memory"


def _rearranged(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    function, params = equation.op.function, equation.params
    node, out = given[0], equation.outputs[0]
    if equation.op.name == "reshape":
        if isinstance(node, Buffer) and not node.is_contiguous:
            copy = emitter.allocated(node.shape, node.dtype)
            emitter.store(node, copy)
            node = copy
        elif isinstance(node, (Elementwise, Call, Pieces)):
            node = emitter.in_memory(node)
        return [emitter.viewed(node, lambda x: x.reshape(out.shape))]
    return [emitter.viewed(node, lambda x: function(x, **params))]


def _same(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    return [given[0]]


def _rolled(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    function, params, node = equation.op.function, equation.params, given[0]
    if node.size <= SMALL:
        return [emitter.viewed(node, lambda x: function(x, **params))]
    axis, size = params["axis"] % len(node.shape), node.shape[params["axis"]]
    shift = params["shift"] % size
    if not shift:
        return [node]
    buffer = emitter.in_memory(node)

    def part(low: int, high: int) -> Buffer:
        return buffer.viewed(lambda x: x[(slice(None),) * axis + (slice(low, high),)])

    return [Pieces(node.shape, node.dtype, axis, [part(size - shift, size), part(0, size - shift)])]


def _roll_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    shift, axis = equation.params["shift"], equation.params.get("axis")
    if not isinstance(shift, int) or not isinstance(axis, int):
        return "several axes"
    if 0 in equation.outputs[0].shape or not is_compiled(equation.outputs[0].dtype):
        return "empty array or data type"
    return Order.DENSE if orders[0] else "order of the elements in memory"


def _join(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    out, is_stack = equation.outputs[0], equation.op.name == "stack"
    axis = equation.params.get("axis", 0)
    if axis is None:
        given = [_rearranged_flat(emitter, x) for x in given]
        axis = 0
    axis %= len(out.shape)
    if out.aval.size <= SMALL:
        numbers, start = [], 0
        for x in given:
            numbers.append(np.arange(start, start + x.size).reshape(x.shape))
            start += x.size
        values = [value for x in given for value in emitter.small(x).values]
        positions = np.stack(numbers, axis=axis) if is_stack else np.concatenate(numbers, axis=axis)
        return [Small(out.shape, out.dtype, [values[i] for i in positions.ravel()])]
    found = emitter.allocated(out.shape, np.dtype(out.dtype))
    start = 0
    for x in given:
        count = 1 if is_stack else x.shape[axis]
        part = start if is_stack else slice(start, start + count)
        key = (slice(None),) * axis + (part,)
        emitter.store(x, found.viewed(itemgetter(key)))
        start += count
    return [found]


def _rearranged_flat(emitter: Emitter, node: Node) -> Node:
    node = node if isinstance(node, Small) else emitter.in_memory(node)
    if isinstance(node, Buffer) and not node.is_contiguous:
        copy = emitter.allocated(node.shape, node.dtype)
        emitter.store(node, copy)
        node = copy
    return emitter.viewed(node, lambda x: x.reshape(-1))


def _set_part(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    key, out = _key(equation), equation.outputs[0]
    x, value, dtype = given[0], given[1], np.dtype(out.dtype)
    if value is None:
        value = Small((), dtype, [literal(equation.inputs[1], dtype)])
    if value.dtype != dtype:
        source = value.dtype
        cast = lambda b, _, e: converted(b, e, source, dtype)
        value = Elementwise(value.shape, dtype, cast, [source], [value])
        value = emitter.small(value) if value.size <= SMALL else value
    if ARRAY in _words(equation):
        copy = emitter.in_memory(x) if isinstance(x, Small) else emitter.allocated(out.shape, dtype)
        if not isinstance(x, Small):
            emitter.store(x, copy)
        row = _indexed(emitter, equation, copy, given[2:])
        emitter.store(_stretched(emitter, value, row.shape), row)
        return [emitter.small(copy) if copy.size <= SMALL else copy]
    if out.aval.size <= SMALL:
        positions = np.arange(out.aval.size).reshape(out.shape)[key]
        values = list(emitter.small(x).values)
        new = emitter.small(value)
        which = np.broadcast_to(
            np.arange(new.size).reshape(_without_leading(new.shape, positions.ndim)), positions.shape
        )
        for i, j in zip(positions.ravel(), which.ravel()):
            values[i] = new.values[j]
        return [Small(out.shape, dtype, values)]
    found = emitter.allocated(out.shape, dtype)
    emitter.store(x, found)
    part = found.viewed(lambda x: x[key])
    if part.size:
        emitter.store(_stretched(emitter, value, part.shape), part)
    return [found]


def _stretched(emitter: Emitter, node: Node, shape: tuple[int, ...]) -> Node:
    """Broadcast an array to a shape, also in registers."""
    if node.shape == shape:
        return node
    node = node if isinstance(node, Small) else emitter.in_memory(node)
    lead = len(node.shape) - len(shape)
    if lead > 0:
        node = emitter.viewed(node, lambda x: x.reshape(x.shape[lead:]))
    return emitter.viewed(node, lambda x: np.broadcast_to(x, shape))


def _without_leading(shape: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    return shape[max(0, len(shape) - ndim) :]


# Reductions, by NumPy's inner loops

_REDUCTIONS: Final = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}


def _reduction_loop(equation: Equation) -> Loop | None:
    code = np.dtype(equation.outputs[0].dtype).char
    return loop_of(_REDUCTIONS[equation.op.name], f"{code}{code}->{code}")


def _reduced_axes(equation: Equation) -> tuple[int, ...]:
    axis, ndim = equation.params.get("axis"), len(equation.inputs[0].shape)
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(i % ndim for i in axes))


def _runs(equation: Equation) -> list[tuple[bool, int]]:
    """Join neighbouring axes: whether they are reduced, and their length."""
    axes, runs = _reduced_axes(equation), list[tuple[bool, int]]()
    for i, length in enumerate(equation.inputs[0].shape):
        if length == 1:
            continue
        if runs and runs[-1][0] == (i in axes):
            runs[-1] = runs[-1][0], runs[-1][1] * length
        else:
            runs.append((i in axes, length))
    return runs


def _reduction_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, out = equation.inputs[0], equation.outputs[0]
    if not isinstance(x, Variable) or not is_compiled(x.dtype) or not is_compiled(out.dtype):
        return "data type"
    source, target = np.dtype(x.dtype), np.dtype(out.dtype)
    if source != target and (source.kind == "f" or target.kind == "f"):
        return "data type of the sum"
    if target.kind == "b":
        return "data type"
    if orders[0] != Order.DENSE:
        return "order of the elements in memory"
    if equation.op.name in ("max", "min") and (
        not x.aval.size or sum(is_reduced for is_reduced, _ in _runs(equation)) > 1
    ):
        return "axes"
    if not {"axis", "keepdims", "dtype"} >= equation.params.keys():
        return "parameters"
    return Order.DENSE if _reduction_loop(equation) is not None else "no inner loop of NumPy"


def _reduction(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    node, out = given[0], equation.outputs[0]
    dtype, name = np.dtype(out.dtype), equation.op.name
    if node.dtype != dtype:
        source = node.dtype
        node = Elementwise(node.shape, dtype, lambda b, _, e: converted(b, e, source, dtype), [source], [node])
        node = emitter.small(node) if node.size <= SMALL else node
    buffer = emitter.in_memory(node)
    if not buffer.is_contiguous:
        copy = emitter.allocated(buffer.shape, dtype)
        emitter.store(buffer, copy)
        buffer = copy
    runs, loop = _runs(equation), _reduction_loop(equation)
    assert loop is not None
    lengths = [length for is_reduced, length in runs if not is_reduced]
    count = math.prod(lengths)
    if count <= SMALL:
        target = emitter.in_memory(Small((count,), dtype, [literal(0, dtype)] * count))
    else:
        target = emitter.allocated((count,), dtype)
    flat = buffer.viewed(lambda x: x.reshape(tuple(length for _, length in runs)))
    strides, step = [], count
    for is_reduced, length in runs:
        step = step if is_reduced else step // max(1, length)
        strides.append(0 if is_reduced else step)
    along = Buffer(flat.shape, dtype, target.pointer, tuple(strides), target.offset, target.slots)
    skipped = name in ("max", "min")
    if skipped:
        first = (*(0 if is_reduced else slice(None) for is_reduced, _ in runs), Ellipsis)
        emitter.store(flat.viewed(lambda x: x[first]), target.viewed(lambda x: x.reshape(tuple(lengths))))
    else:
        one = Small((), dtype, [literal(int(name == "prod"), dtype)])
        emitter.store(_stretched(emitter, one, (count,)), target)
    if skipped and any(is_reduced for is_reduced, _ in runs):
        rest = tuple(slice(1, None) if is_reduced else slice(None) for is_reduced, _ in runs)
        flat, along = flat.viewed(lambda x: x[rest]), along.viewed(lambda x: x[rest])
    if (flat.size and not skipped) or (skipped and flat.size and any(is_reduced for is_reduced, _ in runs)):
        size = dtype.itemsize
        last = flat.shape[-1] if runs else 1
        inner = (along.strides[-1] * size, flat.strides[-1] * size) if runs else (0, size)

        def call(place: tuple[Index, ...]) -> None:
            whole = (*place, *[Index(constant(0), 0, 1)] * bool(runs))
            sums, row = emitter.address(along, whole), emitter.address(flat, whole)
            emitter.call(loop, [sums, row, sums], [last], [inner[0], inner[1], inner[0]])

        emitter.nest(flat.shape[:-1], call)
    found: Node = Buffer(out.shape, dtype, target.pointer, slots=target.slots)
    found = emitter.small(found) if found.size <= SMALL else found
    return [found]


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(ELEMENTWISE - {"clip"}, Rule(_elementwise, _of_elements)),
    **dict.fromkeys(("broadcast_to", "flip"), Rule(_rearranged, _view)),
    **dict.fromkeys(("expand_dims", "squeeze", "reshape"), Rule(_rearranged, _unchanged)),
    **dict.fromkeys(("matrix_transpose", "moveaxis", "permute_dims"), Rule(_rearranged, _permuted)),
    **dict.fromkeys(("gradient_if", "stop_gradient"), Rule(_same, _unchanged)),
    **dict.fromkeys(("stack", "concat"), Rule(_join, _joined)),
    **dict.fromkeys(("sum", "prod", "max", "min"), Rule(_reduction, _reduction_order)),
    "getitem": Rule(_item, _item_order),
    "roll": Rule(_rolled, _roll_order),
    "setitem": Rule(_set_part, _set_key),
}
VIEWS: Final = frozenset(
    {"broadcast_to", "expand_dims", "flip", "getitem", "gradient_if", "matrix_transpose"}
    | {"moveaxis", "permute_dims", "reshape", "squeeze", "stop_gradient"}
)
"""Operations that cost NumPy next to nothing, since their results share memory with the argument."""
