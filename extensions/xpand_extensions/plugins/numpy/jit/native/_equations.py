"""The compiled operations with their instructions, and the reasons why some calls are not compiled."""

from collections.abc import Callable, Sequence
from operator import itemgetter, or_
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .....tracing._graph import Equation, Variable
from .....tracing.rules import ELEMENTWISE
from ._complex import parts
from ._emit import Emitter
from ._indexing import (
    ROWS,
    SEGMENTS,
    item,
    item_order,
    set_order,
    set_part,
    taken,
    taken_along,
    taken_along_order,
    taken_order,
    written_rows,
    written_rows_order,
)
from ._matrices import SYSTEMS, solved, system_order
from ._products import multiplied, product_order
from ._reductions import (
    REDUCTIONS,
    accumulated,
    accumulated_order,
    argument,
    argument_order,
    reduction,
    reduction_order,
)
from ._scalars import literal, plan_of
from ._triangular import triangular, triangular_order
from ._values import SMALL, Buffer, Call, Elementwise, Node, Order, Pieces, Shape, Small, all_are, contiguous

DEEPEST: Final = 60
"""Operations that run element by element without intermediate arrays."""


Lower: TypeAlias = Callable[[Emitter, Equation, Sequence[Any]], list[Node]]
"""Emits an operation and returns its results. Takes arrays, and None for numbers."""


class Rule(NamedTuple):
    """The compilation of an operation."""

    lower: Lower
    order: Callable[[Equation, Sequence[Order]], Order | str]
    """Returns the order of the result, or the reason not to compile the operation, from the orders of its arrays.

    All of these have data types that can be compiled.
    """


# Elementwise operations


def _of_elements(equation: Equation, orders: Sequence[Order]) -> Order | str:
    found = plan_of(equation)
    if isinstance(found, str):
        return found
    out = equation.outputs[0]
    if found.is_forward and not all_are(Order.FORWARD, orders):
        return "order of the elements in memory"
    if all_are(Order.ROWS, orders):
        return Order.DENSE
    shapes = [x.shape if isinstance(x, Variable) else () for x in equation.inputs]
    turned = [Order.COLUMNS in order for order in orders]
    neutral = [
        Order.ROWS in order and (Order.NEUTRAL in order or len(shape) < 2 or min(shape[-2:]) == 1)
        for order, shape in zip(orders, shapes)
    ]
    if (True, out.shape) in zip(turned, shapes) and all(map(or_, turned, neutral)):
        return Order.COLUMNS
    is_mixed = all(Order.DENSE in order or Order.COLUMNS in order for order in orders)
    return Order.DENSE if is_mixed and set(shapes) == {out.shape} else "order of the elements in memory"


def _elementwise(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    plan, out = plan_of(equation), equation.outputs[0]
    assert not isinstance(plan, str)
    operands = [
        Small((), dtype, [literal(x, dtype)]) if node is None else emitter.spread(node, out.shape)
        for x, node, dtype in zip(equation.inputs, given, plan.dtypes)
    ]
    operands = [emitter.in_memory(x) if _depth(x) > DEEPEST else x for x in operands]
    if plan.loop is not None:
        return [Call(out.shape, out.dtype, plan.loop, plan.dtypes, operands)]
    assert plan.instructions is not None
    return [Elementwise(out.shape, out.dtype, plan.instructions, plan.dtypes, operands)]


def _depth(node: Node) -> int:
    return 1 + max(map(_depth, node.parts), default=0)


# Views and rearrangements


def _view(equation: Equation, orders: Sequence[Order]) -> Order | str:
    if equation.op.name == "broadcast_to" and min((1, 1, *equation.inputs[0].shape)[-2:]) == 1:
        return orders[0] & (Order.ROWS | Order.FORWARD) | Order.NEUTRAL
    if equation.op.name != "flip":
        return orders[0] & (Order.ROWS | Order.FORWARD)
    return orders[0] & (Order.PARTS if equation.params.get("axis", None) in (0, (0,)) else Order.ROWS)


def _unchanged(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, out = equation.inputs[0], equation.outputs[0]
    if x.shape == out.shape or Order.DENSE in orders[0]:
        return orders[0] if x.shape == out.shape else Order.DENSE
    return Order.DENSE if Order.COLUMNS in orders[0] and _is_copied(x.shape, out.shape) else orders[0] & Order.EVEN


def _is_copied(shape: Shape, target: Shape) -> bool:
    """Return whether NumPy copies an array by columns to reshape it."""
    rows = (*shape[:-2], shape[-1], shape[-2])
    matrices = np.swapaxes(as_strided(np.zeros(1, np.int8), rows, contiguous(rows)), -1, -2)
    try:
        np.reshape(matrices, target, copy=False)
    except ValueError:
        return True
    return False


def _permuted(equation: Equation, orders: Sequence[Order]) -> Order | str:
    """Return the order of a permuted array. Moves of axes of size 1 keep it; a transpose turns rows into columns."""
    x, out = equation.inputs[0], equation.outputs[0]
    lengths = [[n for n in each.shape if n != 1] for each in (x, out)]
    positions = equation.op.function(np.arange(x.aval.size).reshape(x.shape), **equation.params)
    found = _unchanged(equation, orders)
    moves = len(lengths[0]) > 1 and not np.array_equal(positions.ravel(), np.arange(x.aval.size))
    if not moves or isinstance(found, str):
        return found
    swapped = np.swapaxes(np.arange(x.aval.size).reshape(x.shape), -1, -2)
    if not np.array_equal(positions, swapped):
        steps = equation.op.function(np.empty(x.shape, np.int8), **equation.params)[:1].strides
        is_sorted = Order.ROWS in orders[0] and list(steps[1:]) == sorted(steps[1:], reverse=True)
        return orders[0] & Order.FORWARD | (Order.SLICES if is_sorted else Order.OTHER)
    return Order.DENSE if Order.COLUMNS in orders[0] else Order.COLUMNS if Order.DENSE in orders[0] else Order.OTHER


def _joined(equation: Equation, orders: Sequence[Order]) -> Order | str:
    dtypes = {x.dtype for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)}
    if len(dtypes) != 1 or not all(isinstance(x, Variable) for x in equation.inputs):
        return "data types"
    return Order.DENSE if all_are(Order.ROWS, orders) else "order of the elements in memory"


def _rearranged(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    function, params = equation.op.function, equation.params
    if equation.op.name == "reshape":
        return [_reshaped(emitter, given[0], equation.outputs[0].shape)]
    return [emitter.viewed(given[0], lambda x: function(x, **params))]


def _reshaped(emitter: Emitter, node: Node, shape: Shape) -> Node:
    node = node if isinstance(node, Small) else emitter.dense(node)
    return emitter.viewed(node, lambda x: x.reshape(shape))


def _part_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    """Return the order of real or imaginary parts, which are views of complex numbers."""
    if np.dtype(equation.inputs[0].dtype).kind != "c":
        return _unchanged(equation, orders) if equation.op.name == "real" else "data type"
    return orders[0] & Order.EVEN


def _part(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    node, out, number = given[0], equation.outputs[0], int(equation.op.name == "imag")
    if node.dtype == out.dtype:
        return [node]
    return [Elementwise(out.shape, out.dtype, lambda b, _, x: parts(b, x)[number], [node.dtype], [node])]


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
    if 0 in equation.outputs[0].shape:
        return "empty array"
    return Order.DENSE if Order.ROWS in orders[0] else "order of the elements in memory"


def _join(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    out, is_stack = equation.outputs[0], equation.op.name == "stack"
    axis = equation.params.get("axis", 0)
    if axis is None:
        given = [_reshaped(emitter, x, (-1,)) for x in given]
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
    found = emitter.result(out.shape, np.dtype(out.dtype))
    start = 0
    for x in given:
        count = 1 if is_stack else x.shape[axis]
        part = start if is_stack else slice(start, start + count)
        key = (slice(None),) * axis + (part,)
        emitter.store(x, found.viewed(itemgetter(key)))
        start += count
    return [found]


RULES: Final[dict[str, Rule]] = {
    **dict.fromkeys(ELEMENTWISE, Rule(_elementwise, _of_elements)),
    **dict.fromkeys(("broadcast_to", "flip"), Rule(_rearranged, _view)),
    **dict.fromkeys(("expand_dims", "squeeze", "reshape"), Rule(_rearranged, _unchanged)),
    **dict.fromkeys(("matrix_transpose", "moveaxis", "permute_dims"), Rule(_rearranged, _permuted)),
    **dict.fromkeys(("gradient_if", "stop_gradient"), Rule(lambda emitter, equation, given: [given[0]], _unchanged)),
    **dict.fromkeys(("stack", "concat"), Rule(_join, _joined)),
    **dict.fromkeys(REDUCTIONS, Rule(reduction, reduction_order)),
    **dict.fromkeys(("argmax", "argmin"), Rule(argument, argument_order)),
    **dict.fromkeys((*ROWS, *SEGMENTS), Rule(written_rows, written_rows_order)),
    **dict.fromkeys(("cumulative_prod", "cumulative_sum"), Rule(accumulated, accumulated_order)),
    **dict.fromkeys(SYSTEMS, Rule(solved, system_order)),
    **dict.fromkeys(("matmul", "vecdot"), Rule(multiplied, product_order)),
    **dict.fromkeys(("imag", "real"), Rule(_part, _part_order)),
    "getitem": Rule(item, item_order),
    "linalg.diagonal": Rule(_rearranged, _view),
    "linalg.triangular_solve": Rule(triangular, triangular_order),
    "roll": Rule(_rolled, _roll_order),
    "setitem": Rule(set_part, set_order),
    "take": Rule(taken, taken_order),
    "take_along_axis": Rule(taken_along, taken_along_order),
}
VIEWS: Final = frozenset(
    {"broadcast_to", "expand_dims", "flip", "getitem", "gradient_if", "imag", "matrix_transpose"}
    | {"linalg.diagonal", "moveaxis", "permute_dims", "real", "reshape", "squeeze", "stop_gradient"}
)
"""Operations that are almost free in NumPy, since their results share memory with the argument."""
