"""Reductions by NumPy's inner loops, in NumPy's order."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial, reduce
from operator import itemgetter
from typing import Any, Final, TypeAlias

import numpy as np

from .....tracing._graph import Equation, Variable
from ...scatter import WIDE
from ._emit import Emitter
from ._scalars import converted, instructions_of, literal, stored_type_of
from ._shares import LEAST, shared
from ._ufuncs import Loop, is_same, loop_of
from ._values import SMALL, Buffer, Elementwise, Index, Node, Order, Place, Shape, Small, constant

REDUCTIONS: Final = {
    "all": np.logical_and,
    "any": np.logical_or,
    "max": np.maximum,
    "min": np.minimum,
    "prod": np.multiply,
    "sum": np.add,
}


def _reduction_loop(equation: Equation) -> Loop | None:
    code = np.dtype(equation.outputs[0].dtype).char
    return loop_of(REDUCTIONS[equation.op.name], f"{code}{code}->{code}")


def _reduced_axes(equation: Equation) -> tuple[int, ...]:
    axis, ndim = equation.params.get("axis"), len(equation.inputs[0].shape)
    axes = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(sorted(i % ndim for i in axes))


def _runs(equation: Equation, order: Order) -> list[tuple[bool, int]]:
    """Join neighbouring axes in memory; return for each whether it is reduced, and its length."""
    axes, runs = _reduced_axes(equation), list[tuple[bool, int]]()
    lengths = list(enumerate(equation.inputs[0].shape))
    if order is Order.COLUMNS:
        lengths[-2:] = reversed(lengths[-2:])
    for i, length in lengths:
        if length == 1:
            continue
        if runs and runs[-1][0] == (i in axes):
            runs[-1] = runs[-1][0], runs[-1][1] * length
        else:
            runs.append((i in axes, length))
    return runs


def reduction_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, out = equation.inputs[0], equation.outputs[0]
    if not isinstance(x, Variable):
        return "arguments"
    source, target = np.dtype(x.dtype), np.dtype(out.dtype)
    is_logical = equation.op.name in ("all", "any")
    if not is_logical and source != target and (source.kind in "fc" or target.kind in "fc"):
        return "data type of the sum"
    if not is_logical and target.kind == "b":
        return "data type"
    is_rows = (Order.EVEN if equation.op.name == "sum" else Order.DENSE) in orders[0]
    if not is_rows and Order.COLUMNS not in orders[0] and not (is_logical and out.aval.size == 1):
        return "order of the elements in memory"
    if equation.op.name in ("max", "min") and (
        not x.aval.size or sum(is_reduced for is_reduced, _ in _runs(equation, order_of_sums(orders[0]))) > 1
    ):
        return "axes"
    if not {"axis", "keepdims", "dtype"} >= equation.params.keys():
        return "parameters"
    if _reduction_loop(equation) is None:
        return "no inner loop of NumPy"
    if equation.op.name == "sum" and source.kind in "fc" and x.aval.size > _CHUNK and not _sums_whole(target.char):
        return "order of the sum"
    return Order.COLUMNS if _keeps_columns(equation, order_of_sums(orders[0])) else Order.DENSE


def order_of_sums(order: Order) -> Order:
    """Return the order in which NumPy sums the elements of an array."""
    return Order.COLUMNS if Order.COLUMNS in order and Order.DENSE not in order else Order.DENSE


def _keeps_columns(equation: Equation, order: Order) -> bool:
    ndim = len(equation.inputs[0].shape)
    return order is Order.COLUMNS and not {ndim - 1, ndim - 2} & set(_reduced_axes(equation))


def reduction(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    node, out = given[0], equation.outputs[0]
    dtype, name = np.dtype(out.dtype), equation.op.name
    node, (order,) = emitter.cast(node, dtype), emitter.orders[id(equation)]
    if order is Order.DENSE and is_of_few(equation):
        return [_reduction_of_few(emitter, node, out, name)]
    buffer = emitter.dense(node if order is Order.DENSE else emitter.viewed(node, np.matrix_transpose))
    runs, loop = _runs(equation, order) or [(True, 1)], _reduction_loop(equation)
    assert loop is not None
    lengths = [length for is_reduced, length in runs if not is_reduced]
    count = math.prod(lengths)
    if name == "sum" and not lengths and buffer.size >= LEAST and _is_pairwise(dtype.char):
        return [_total(emitter, buffer.viewed(lambda x: x.reshape(-1)), loop, out.shape)]
    keeps_columns = _keeps_columns(equation, order)
    shape = (*out.shape[:-2], out.shape[-1], out.shape[-2]) if keeps_columns else out.shape
    if count <= SMALL:
        found = emitter.in_memory(Small(shape, dtype, [literal(0, dtype)] * count))
    else:
        found = emitter.allocated(shape, dtype) if keeps_columns else emitter.result(shape, dtype)
    target = found.viewed(lambda x: x.reshape(-1))
    found = found.viewed(np.matrix_transpose) if keeps_columns else found
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
        one = Small((), dtype, [literal(int(name in ("all", "prod")), dtype)])
        emitter.store(emitter.stretched(one, (count,)), target)
    reduces = any(is_reduced for is_reduced, _ in runs)
    if skipped and reduces:
        rest = tuple(slice(1, None) if is_reduced else slice(None) for is_reduced, _ in runs)
        flat, along = flat.viewed(lambda x: x[rest]), along.viewed(lambda x: x[rest])
    if flat.size and (reduces or not skipped):
        of_sums, of_rows = along.strides[-1] * dtype.itemsize, flat.strides[-1] * dtype.itemsize
        remaining = [k for k, (is_reduced, _) in enumerate(runs) if not is_reduced]
        with shared(emitter, flat.shape, flat.size, remaining) as part:
            start: Any = constant(0)
            width: Any = flat.shape[-1]
            if part.axis == len(runs) - 1 and not part.is_whole:
                start, width = part.start, emitter.b.sub(part.stop, part.start)

            def call(place: Place) -> None:
                first = (*place, Index(start, 0, flat.shape[-1]))
                sums, row = emitter.address(along, first), emitter.address(flat, first)
                emitter.call(loop, [sums, row, sums], [width], [of_sums, of_rows, of_sums])

            emitter.nest(flat.shape[:-1], call, part=part)
    return [found]


FEW: Final = 16
"""The maximum length of rows to sum by instructions, since calls of NumPy's loop take longer."""
_OF_FEW: Final = {"all": "logical_and", "any": "logical_or", "sum": "add"}
"""Reductions of short rows with a known or irrelevant order of operations."""
_PARTIAL: Final = 8
"""The number of partial sums in NumPy's sum of at least this many floating-point numbers."""


def is_of_few(equation: Equation) -> bool:
    """Return whether an operation reduces short rows, or a small array, by instructions."""
    if equation.op.name not in _OF_FEW:
        return False
    x, axes = equation.inputs[0], _reduced_axes(equation)
    is_known = axes == (len(x.shape) - 1,) or (x.aval.size <= SMALL and len(axes) == len(x.shape) > 0)
    count = math.prod(x.shape[i] for i in axes)
    is_same = equation.op.name != "sum" or _adds_few(np.dtype(equation.outputs[0].dtype).char)
    return is_known and 0 < count <= FEW and is_same


def _reduction_of_few(emitter: Emitter, node: Node, out: Any, name: str) -> Node:
    """Combine the columns of an array by an elementwise operation."""
    add, unit = instructions_of(_OF_FEW[name], node.dtype), literal(int(name == "all"), node.dtype)
    if out.aval.size == 1:
        values = [unit, _added(emitter.small(node).values, partial(add, emitter.b, node.dtype))]
        return Small(out.shape, node.dtype, [add(emitter.b, node.dtype, *values)])
    keeps = len(out.shape) == len(node.shape)
    parts = [(Ellipsis, slice(i, i + 1) if keeps else i) for i in range(node.shape[-1])]
    columns = [emitter.viewed(node, itemgetter(part)) for part in parts]
    first = Small((), node.dtype, [unit])

    def combine(x: Node, y: Node) -> Node:
        return Elementwise(out.shape, node.dtype, add, [node.dtype] * 2, [x, y])

    return combine(first, _added(columns, combine))


def _added(values: Sequence[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add a few numbers like NumPy, which adds the result to 0."""
    rest = list(values)
    if len(rest) >= _PARTIAL:
        sums = rest[:_PARTIAL]
        for start in range(_PARTIAL, len(rest) - _PARTIAL + 1, _PARTIAL):
            sums = list(map(add, sums, rest[start : start + _PARTIAL]))
        while len(sums) > 1:
            sums = list(map(add, sums[::2], sums[1::2]))
        rest = [*sums, *rest[len(rest) // _PARTIAL * _PARTIAL :]]
    return reduce(add, rest)


@cache
def _adds_few(code: str) -> bool:
    """Return whether NumPy sums short rows like `_added`."""
    if np.dtype(code).kind in "iu":
        return True
    if code not in "fd":
        return False
    for size in range(1, FEW + 1):
        x = (np.random.default_rng(size).normal(size=(40, size)) * 1000.0).astype(code)
        x[0] = -0.0
        found = 0 + _added(list(x.T), np.add)
        if not (is_same(found, np.sum(x, axis=1)) and is_same(found, np.asarray([np.sum(row) for row in x]))):
            return False
    return True


_Sums: TypeAlias = "range | tuple[_Sums, _Sums]"
"""The elements of a sum, or the two sums of halves."""
_LEVELS: Final = 5
"""The maximum number of divisions of a sum."""
_CHUNK: Final = 8192
"""The number of elements in a buffer of NumPy."""
_SHORT: Final = 128
"""The maximum number of elements that NumPy sums without dividing them."""


def _halves(part: range, levels: int = _LEVELS) -> _Sums:
    """Divide a sum into halves like NumPy."""
    if not levels or len(part) <= _SHORT:
        return part
    half = len(part) // 2 // 8 * 8
    return _halves(part[:half], levels - 1), _halves(part[half:], levels - 1)


def _ranges(sums: _Sums) -> list[range]:
    return [sums] if isinstance(sums, range) else [*_ranges(sums[0]), *_ranges(sums[1])]


def _combined(sums: _Sums, values: Iterator[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Add the sums of ranges."""
    if isinstance(sums, range):
        return next(values)
    return add(_combined(sums[0], values, add), _combined(sums[1], values, add))


@cache
def _is_pairwise(code: str) -> bool:
    """Return whether NumPy divides sums like `_halves`."""
    if code not in "fd":
        return False
    for size in (1000, _CHUNK + 9, 20021):
        x = _of_several_sizes((4, size), code)
        sums = _halves(range(size))
        values = [[np.add.reduce(row[part.start : part.stop]) for row in x] for part in _ranges(sums)]
        found = _combined(sums, map(np.asarray, values), np.add)
        if not (is_same(found, np.sum(x, axis=1)) and is_same(found, np.asarray([np.sum(row) for row in x]))):
            return False
    return True


@cache
def _sums_whole(code: str) -> bool:
    """Return whether NumPy sums long rows and columns whole. NumPy before 2.3 divides them into chunks."""
    x = _of_several_sizes((_CHUNK + 9, 4), code)
    return _is_pairwise(code.lower()) and is_same(np.sum(x, axis=0), reduce(np.add, x))


def _of_several_sizes(shape: Shape, code: str) -> Any:
    """Return numbers whose sums depend on the order."""
    return np.random.default_rng(0).standard_cauchy(shape).astype(code)


def _total(emitter: Emitter, x: Buffer, loop: Loop, shape: Shape) -> Node:
    """Sum all elements, in ranges that several threads share."""
    sums, dtype = _halves(range(x.size)), x.dtype
    ranges = _ranges(sums)
    bounds = [*[part.start for part in ranges], x.size]
    table = emitter.in_memory(Small((len(bounds),), np.int64, list(map(constant, bounds))))
    totals, size = emitter.allocated((len(ranges),), dtype), dtype.itemsize

    def add(place: Place) -> None:
        (index,) = place
        following = Index(emitter.b.add(index.value, constant(1)), 1, len(bounds))
        start, stop = (Index(emitter.element(table, [each]), 0, x.size) for each in (index, following))
        total, length = emitter.address(totals, place), emitter.b.sub(stop.value, start.value)
        emitter.write(literal(0, dtype), total, dtype)
        emitter.call(loop, [total, emitter.address(x, [start]), total], [length], [0, size, 0])

    with shared(emitter, totals.shape, x.size) as part:
        emitter.nest(totals.shape, add, part=part)
    values = [emitter.element(totals, [Index(constant(i), i, i + 1)]) for i in range(totals.size)]
    total = _combined(sums, iter(values), emitter.b.fadd)
    return Small(shape, dtype, [emitter.b.fadd(literal(0, dtype), total)])  # a sum of negative zeros is 0


def argument_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, axis = equation.inputs[0], equation.params["axis"]
    if not isinstance(x, Variable) or np.dtype(x.dtype).kind == "c":
        return "data type"
    if not x.aval.size or not (axis is None or type(axis) is int):
        return "axes"
    return Order.DENSE if Order.DENSE in orders[0] else "order of the elements in memory"


def argument(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Find the first of the largest or smallest elements along an axis. NaN is beyond all other numbers."""
    axis, out = equation.params["axis"], equation.outputs[0]
    sign = ">" if equation.op.name == "argmax" else "<"
    buffer = emitter.in_memory(given[0])
    if axis is None:
        buffer = emitter.dense(buffer).viewed(lambda x: x.reshape(-1))
    else:
        buffer = buffer.viewed(lambda x: np.moveaxis(x, axis, -1))
    dtype, shape = buffer.dtype, buffer.shape[:-1]
    found = Buffer(out.shape, np.int64, emitter.cell(constant(0).type, out.aval.size))
    if found.size > SMALL:
        found = emitter.result(out.shape, found.dtype)
    target = found.viewed(lambda x: x.reshape(shape))

    def row(place: tuple[Index, ...]) -> None:
        b = emitter.b

        def compare(index: Index) -> None:
            x, y = emitter.element(buffer, (*place, index)), emitter.read(best, dtype)
            if dtype.kind == "f":
                is_better = b.and_(b.fcmp_unordered(sign, x, y), b.fcmp_ordered("ord", y, y))
            else:
                is_better = (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(sign, x, y)
            emitter.write(b.select(is_better, x, y), best, dtype)
            b.store(b.select(is_better, index.value, b.load(where, typ=constant(0).type)), where)

        first = emitter.element(buffer, (*place, Index(constant(0), 0, 1)))
        emitter.write(first, best, dtype)
        b.store(constant(0), where)
        emitter.loop(1, buffer.shape[-1], compare)
        emitter.write(b.load(where, typ=constant(0).type), emitter.address(target, place), target.dtype)

    with shared(emitter, shape, 4 * buffer.size) as part:
        best, where = emitter.cell(stored_type_of(dtype)), emitter.cell(constant(0).type)
        emitter.nest(shape, row, part=part)
    return [found]


def accumulated_order(equation: Equation, orders: Sequence[Order]) -> Order | str:
    x, out = equation.inputs[0], equation.outputs[0]
    if not isinstance(x, Variable):
        return "arguments"
    source, target = np.dtype(x.dtype), np.dtype(out.dtype)
    if target.kind == "b" or (source != target and (source.kind in "fc" or target.kind in "fc")):
        return "data type of the sum"
    if target.kind == "c" and equation.op.name == "cumulative_prod":
        return "complex numbers"
    if not x.aval.size or not x.shape:
        return "axes"
    return Order.DENSE if Order.ROWS in orders[0] else "order of the elements in memory"


def accumulated(emitter: Emitter, equation: Equation, given: Sequence[Any]) -> list[Node]:
    """Add or multiply the elements along an axis sequentially, and store each intermediate result."""
    out, params = equation.outputs[0], equation.params
    dtype, is_sum = np.dtype(out.dtype), equation.op.name == "cumulative_sum"
    wide = np.dtype(WIDE.get(dtype.char, dtype)) if is_sum else dtype
    x = emitter.in_memory(emitter.cast(given[0], dtype))
    axis = (params.get("axis") or 0) % len(x.shape)
    found, before = emitter.result(out.shape, dtype), (slice(None),) * axis
    target = found
    if params.get("include_initial"):
        first = found.viewed(lambda x: x[(*before, slice(0, 1))])
        emitter.store(emitter.stretched(Small((), dtype, [literal(int(not is_sum), dtype)]), first.shape), first)
        target = found.viewed(lambda x: x[(*before, slice(1, None))])
    results = target if wide == dtype else emitter.allocated(x.shape, wide)
    combine = instructions_of("add" if is_sum else "multiply", wide)

    def value(place: Place) -> Any:
        return converted(emitter.b, emitter.element(x, place), dtype, wide)

    def along(lead: Place) -> None:
        def copy(place: Place) -> None:
            whole = (*lead, Index(constant(0), 0, 1), *place)
            emitter.write(value(whole), emitter.address(results, whole), wide)

        def step(index: Index) -> None:
            def add(place: Place) -> None:
                b = emitter.b
                last = Index(b.sub(index.value, constant(1)), index.low - 1, index.high - 1)
                whole = (*lead, index, *place)
                total = combine(b, wide, emitter.element(results, (*lead, last, *place)), value(whole))
                emitter.write(total, emitter.address(results, whole), wide)

            emitter.nest(x.shape[axis + 1 :], add)

        emitter.nest(x.shape[axis + 1 :], copy)
        emitter.loop(1, x.shape[axis], step)

    with shared(emitter, x.shape[:axis], 4 * x.size) as part:
        emitter.nest(x.shape[:axis], along, part=part)
    if results is not target:
        emitter.store(emitter.cast(results, dtype), target)
    return [found]
