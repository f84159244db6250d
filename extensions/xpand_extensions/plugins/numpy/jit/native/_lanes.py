"""While-loops of many lanes, where each lane takes only its own steps.

`vmap` makes one loop of all lanes. The loop runs until the last lane has finished, and also computes steps of finished
lanes. If no operation of a step connects lanes, a few lanes take their steps together, in slots over which LLVM
vectorizes a step. When a lane has finished, the next lane takes its slot. The values are the same.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir

from .....tracing._core import Aval
from .....tracing._graph import Equation, Graph, Variable
from .....tracing.rules import AXES, ELEMENTWISE
from ._emit import INTEGER, Emitter
from ._flags import fail
from ._indexing import words_of
from ._reductions import is_of_few
from ._scalars import Plan, literal, plan_of, stored_type_of
from ._shares import shared
from ._values import SMALL, Buffer, Index, Node, Order, Small, constant, contiguous

SLOTS: Final = 32
"""The number of lanes that step together."""
STEPS: Final = 16
"""The expected number of steps of a lane, to decide whether threads share a loop."""
LEAST: Final = 2 * SLOTS
"""The minimum number of lanes."""
_BITS: Final = ir.IntType(SLOTS)
_RESIZED: Final = {"broadcast_to": "shape", "reshape": "shape"}
"""Operations with a parameter that contains the number of lanes."""
_MOVES: Final = frozenset(
    {"concat", "expand_dims", "flip", "imag", "matrix_transpose"}
    | {"moveaxis", "permute_dims", "real", "squeeze", "stack"}
)


class Lanes(NamedTuple):
    """A loop with lanes along the first axis of its carry."""

    size: int
    """The number of lanes."""
    active: int
    """The position in the carry of the booleans for the lanes that continue."""
    body: Graph
    """A step of one lane, with arrays whose first axis has size 1."""
    mapped: list[bool]
    """Which inputs of the body have lanes."""


def lanes_of(equation: Equation, orders: dict[int, tuple[Order, ...]]) -> Lanes | None:
    """Return the step of one lane, or None if lanes are connected or a step needs more than registers."""
    params, test, body = equation.params, equation.params["test"].graph, equation.params["body"].graph
    if len(test.equations) != 1 or test.equations[0].op.name != "any" or test.outputs != test.equations[0].outputs:
        return None
    (active,), shape = test.equations[0].inputs, test.equations[0].inputs[0].shape
    if active not in test.inputs[params["tested"] :] or len(shape) != 1 or shape[0] < LEAST or params["limit"] == 0:
        return None
    (size,), number = shape, test.inputs[params["tested"] :].index(active)
    one = _of_one_lane(body, size, orders)
    has_lanes = all(x.shape[:1] == shape for x in equation.outputs)
    if one is None or not has_lanes:
        return None
    return Lanes(size, number, one, [x.shape[:1] == shape for x in (*body.inputs, *body.constants)])


def _of_one_lane(graph: Graph, size: int, orders: dict[int, tuple[Order, ...]]) -> Graph | None:
    """Return a graph for one lane, with constants as inputs, or None if operations connect lanes."""
    single: dict[Variable, Variable] = {}
    for x in (*graph.inputs, *graph.constants):
        single[x] = _single(x) if x.shape[:1] == (size,) else x
    equations = []
    for equation in graph.equations:
        is_dense = all(order is Order.DENSE for order in orders.get(id(equation), ()))
        if not (is_dense and _is_by_lane(equation, size)):
            return None
        single.update((x, _single(x) if x.shape[:1] == (size,) else x) for x in equation.outputs)
        params = equation.params
        if equation.op.name in _RESIZED:
            params = {**params, "shape": single[equation.outputs[0]].shape}
        inputs = [single[x] if isinstance(x, Variable) else x for x in equation.inputs]
        one = Equation(equation.op, inputs, params, [single[x] for x in equation.outputs], equation.scope)
        if id(equation) in orders:
            orders[id(one)] = orders[id(equation)]
        equations.append(one)
    if not all(isinstance(x, Variable) and single[x] is not x for x in graph.outputs):
        return None
    inputs = [single[x] for x in (*graph.inputs, *graph.constants)]
    found = Graph(graph.namespace, inputs, {}, equations, [single[x] for x in graph.outputs])
    return found if all(x.aval.size <= SMALL for x in found.variables()) else None


def _is_by_lane(equation: Equation, size: int) -> bool:
    """Return whether an operation can run lane by lane, on a few numbers, without a call of NumPy."""
    name, params = equation.op.name, equation.params
    arrays = [x for x in equation.inputs if isinstance(x, Variable)]
    out = equation.outputs[0]
    mapped = [isinstance(x, Variable) and x.shape[:1] == (size,) for x in equation.inputs]
    if len(equation.outputs) != 1 or (any(mapped) and out.shape[:1] != (size,)):
        return False
    if name == "broadcast_to":
        return not any(mapped) or len(arrays[0].shape) == len(out.shape)
    if name == "reshape":
        return any(mapped) or out.shape[:1] != (size,)
    if name == "getitem":
        first = equation.params["key"][0] if equation.params["key"] else None
        return not words_of(equation) and (not any(mapped) or (isinstance(first, slice) and first == slice(None)))
    if name in ELEMENTWISE and name not in _MOVES:
        plan = plan_of(equation)
        if isinstance(plan, str) or (plan.loop is not None and not _is_call_of_all(equation, plan)):
            return False
    elif name not in _MOVES and not is_of_few(equation):
        return False
    ndims = tuple(len(x.shape) if isinstance(x, Variable) else 0 for x in equation.inputs)
    axes = AXES[name]
    layout = axes.layout(name, axes.of(ndims, params), ndims, params)
    if not any(mapped):
        return out.shape[:1] != (size,)
    first = layout.results[0][0]
    return not first.whole and all(
        (i, 0) in first.sources
        if is_mapped
        else all(k != i or equation.inputs[i].shape[j] == 1 for k, j in first.sources)
        for i, is_mapped in enumerate(mapped)
    )


def _is_call_of_all(equation: Equation, plan: Plan) -> bool:
    """Return whether a loop of NumPy can run for all slots, on numbers and arrays with the shape of the result."""
    arrays = [(x, dtype) for x, dtype in zip(equation.inputs, plan.dtypes) if isinstance(x, Variable)]
    return all(x.shape == equation.outputs[0].shape and x.dtype == dtype for x, dtype in arrays)


def _is_call(equation: Equation) -> bool:
    plan = plan_of(equation) if equation.op.name in ELEMENTWISE else ""
    return not isinstance(plan, str) and plan.loop is not None


class Stage(NamedTuple):
    """A part of a step: operations that run slot by slot, then calls of NumPy's loops for all slots."""

    graph: Graph
    calls: list[Equation]


def _stages(graph: Graph) -> list[Stage]:
    """Divide a step at calls. The results of the last stage are those of the step."""
    level = dict.fromkeys(graph.inputs, 0)
    operations: list[list[Equation]] = [[]]
    calls: list[list[Equation]] = [[]]
    for equation in graph.equations:
        number = max([level[x] for x in equation.inputs if isinstance(x, Variable)], default=0)
        is_call = _is_call(equation)
        (calls if is_call else operations)[number].append(equation)
        level.update(dict.fromkeys(equation.outputs, number + is_call))
        if number + is_call == len(calls):
            operations.append([])
            calls.append([])
    stages = []
    used = set(graph.outputs)
    for number in reversed(range(len(calls))):
        used.update(x for each in calls[number] for x in each.inputs if isinstance(x, Variable))
        inside = [x for each in operations[number] for x in each.outputs]
        outputs = [x for x in inside if x in used] if number < len(calls) - 1 else list(graph.outputs)
        needed = [x for each in operations[number] for x in each.inputs if isinstance(x, Variable)]
        inputs = [x for x in dict.fromkeys([*needed, *outputs]) if x not in set(inside)]
        used.update(inputs)
        stages.append(Stage(Graph(graph.namespace, inputs, {}, operations[number], outputs), calls[number]))
    return stages[::-1]


def _single(x: Variable) -> Variable:
    return Variable(Aval((1, *x.shape[1:]), x.dtype, x.aval.device))


Step: TypeAlias = Callable[[Graph, Sequence[Node]], Sequence[Node]]
"""Emits the operations of a graph, and returns its outputs."""


def run_lanes(emitter: Emitter, lanes: Lanes, equation: Equation, given: Sequence[Node], step: Step) -> list[Node]:
    """Emit a loop of lanes, and return its results.

    Args:
        emitter: Writes the instructions.
        lanes: The loop.
        equation: The loop as an operation.
        given: The constants of its body, the initial carry, and the constants in the graph of the body.
        step: Emits operations.
    """
    arrays = [emitter.in_memory(x) if is_mapped else x for x, is_mapped in zip(given, lanes.mapped, strict=True)]
    results = [emitter.result(x.shape, np.dtype(x.dtype), i) for i, x in enumerate(equation.outputs)]
    for x, result in zip(arrays[equation.params["constants"] :], results):
        emitter.store(x, result)
    counts = id(equation) in emitter.counted
    work = lanes.size * len(lanes.body.equations) * STEPS
    with shared(emitter, (lanes.size,), work, axes=() if counts else None) as part:
        slots = _Slots(emitter, lanes, equation, arrays, results, step)
        slots.run(part.start, part.stop)
        if counts:  # without a step, the results are the initial values, in NumPy's memory order
            total = emitter.b.load(slots.total, typ=INTEGER)
            fail(emitter, emitter.b.icmp_signed("==", total, constant(0)))
    return list(results)


class _Slots:
    """The slots in which lanes step."""

    def __init__(
        self,
        emitter: Emitter,
        lanes: Lanes,
        equation: Equation,
        arrays: Sequence[Node],
        results: Sequence[Buffer],
        step: Step,
    ) -> None:
        self.emitter, self.lanes, self.arrays, self.results, self.step = emitter, lanes, arrays, results, step
        self.limit, first = equation.params["limit"], equation.params["constants"]
        self.active, self.stages = first + lanes.active, _stages(lanes.body)
        inputs = lanes.body.inputs
        self.memory = {x: _slots(emitter, x) for x, is_mapped in zip(inputs, lanes.mapped) if is_mapped}
        """The arrays of the lanes in the slots."""
        self.carry = [self.memory[x] for x in inputs[first : first + len(results)]]
        for stage in self.stages[:-1]:
            for x in (*stage.graph.outputs, *(x for each in stage.calls for x in each.outputs)):
                self.memory[x] = _slots(emitter, x)
        self.values = {x: node for x, node in zip(inputs, arrays) if x not in self.memory}
        """The arrays that are the same for all lanes."""
        self.values[inputs[self.active]] = Small((1,), np.bool_, [literal(True, np.dtype(bool))])
        self.operands = {id(each): self._operands(each) for stage in self.stages for each in stage.calls}
        self.running, self.numbers, self.steps = (
            _slots(emitter, Node((SLOTS,), dtype)) for dtype in (np.bool_, np.int64, np.int64)
        )
        self.waiting = emitter.allocated((lanes.size,), np.dtype(np.int64))
        """The lanes that take at least one step."""
        self.total, self.following, self.done = (emitter.cell(INTEGER) for _ in range(3))
        """The numbers of these lanes, of lanes that have been in a slot, and of finished lanes."""

    def _operands(self, call: Equation) -> list[Buffer]:
        """Return the operands of a call in memory: arrays for all slots, or one number."""
        plan = plan_of(call)
        assert not isinstance(plan, str)
        return [
            self.memory[x] if isinstance(x, Variable) else self.emitter.in_memory(Small((), dtype, [literal(x, dtype)]))
            for x, dtype in zip(call.inputs, plan.dtypes)
        ]

    def run(self, start: Any, stop: Any) -> None:
        """Emit the loop for a range of lanes."""
        emitter = self.emitter
        b, left = emitter.b, emitter.cell(_BITS)
        for cell in (self.total, self.following, self.done):
            b.store(constant(0), cell)
        emitter.loop(start, stop, self._count, (0, self.lanes.size))
        names = ("fill", "step", "check", "finish", "again", "end")
        fill, step, check, finish, again, end = map(emitter.block_of, names)
        b.cbranch(b.icmp_signed(">", b.load(self.total, typ=INTEGER), constant(0)), fill, end)
        b.position_at_end(fill)
        emitter.loop(0, SLOTS, self._fill)
        b.branch(step)
        b.position_at_end(step)
        self._step()
        states = b.load(self.running.pointer, typ=ir.VectorType(ir.IntType(8), SLOTS), align=32)
        finished = b.icmp_signed("==", states, ir.Constant(states.type, [0] * SLOTS))
        b.store(b.bitcast(finished, _BITS), left)
        b.branch(check)
        b.position_at_end(check)
        bits = b.load(left, typ=_BITS)
        b.cbranch(b.icmp_signed("!=", bits, ir.Constant(_BITS, 0)), finish, again)
        b.position_at_end(finish)
        b.store(b.and_(bits, b.sub(bits, ir.Constant(_BITS, 1))), left)
        slot = Index(b.zext(b.cttz(bits, ir.Constant(ir.IntType(1), 1)), INTEGER), 0, SLOTS)
        self._finish(slot)
        self._fill(slot)
        b.branch(check)
        b.position_at_end(again)
        done, total = (b.load(cell, typ=INTEGER) for cell in (self.done, self.total))
        b.cbranch(b.icmp_signed("<", done, total), step, end)
        b.position_at_end(end)

    def _count(self, lane: Index) -> None:
        """Add a lane to the lanes that take steps, if it is active."""
        emitter, b = self.emitter, self.emitter.b
        number = b.load(self.total, typ=INTEGER)
        b.store(lane.value, emitter.address(self.waiting, [Index(number, 0, self.lanes.size)]))
        is_active = emitter.element(self.arrays[self.active], [lane])
        b.store(b.add(number, b.zext(is_active, INTEGER)), self.total)

    def _lane(self, slot: Index) -> tuple[Index, Any]:
        """Return the lane in a slot, and whether this is its first time.

        When no lane waits, the first lane repeats its steps, because a slot must always have a lane with valid steps.
        """
        emitter, b, size = self.emitter, self.emitter.b, self.lanes.size
        number = emitter.element(self.numbers, [slot])
        is_new = b.icmp_signed("<", number, b.load(self.total, typ=INTEGER))
        place = Index(b.select(is_new, number, constant(0)), 0, size)
        return Index(emitter.element(self.waiting, [place]), 0, size), is_new

    def _fill(self, slot: Index) -> None:
        """Put the next lane into a slot."""
        emitter, b = self.emitter, self.emitter.b
        number = b.load(self.following, typ=INTEGER)
        b.store(b.add(number, constant(1)), self.following)
        b.store(number, emitter.address(self.numbers, [slot]))
        b.store(constant(0), emitter.address(self.steps, [slot]))
        lane, _ = self._lane(slot)
        for variable, x in zip(self.lanes.body.inputs, self.arrays):
            if variable in self.memory:
                assert isinstance(x, Buffer)
                emitter.store(emitter.small(emitter.part(x, [lane])), emitter.part(self.memory[variable], [slot]))

    def _finish(self, slot: Index) -> None:
        """Store the results of the lane in a slot."""
        emitter, b = self.emitter, self.emitter.b
        lane, is_new = self._lane(slot)
        for cells, result in zip(self.carry, self.results):
            emitter.store(emitter.small(emitter.part(cells, [slot])), emitter.part(result, [lane]))
        b.store(b.add(b.load(self.done, typ=INTEGER), b.zext(is_new, INTEGER)), self.done)

    def _step(self) -> None:
        """Step the lanes in all slots."""
        for stage in self.stages[:-1]:
            targets = [self.memory[x] for x in stage.graph.outputs]
            self.emitter.loop(0, SLOTS, partial(self._compute, stage.graph, targets))
            for call in stage.calls:
                plan, (out,), operands = plan_of(call), call.outputs, self.operands[id(call)]
                assert not isinstance(plan, str)
                assert plan.loop is not None
                pointers = [x.pointer for x in (*operands, self.memory[out])]
                strides = [0 if x.size == 1 else x.dtype.itemsize for x in (*operands, self.memory[out])]
                self.emitter.call(plan.loop, pointers, [SLOTS * out.aval.size], strides)
        self.emitter.loop(0, SLOTS, self._end_step)

    def _compute(self, graph: Graph, targets: Sequence[Buffer], slot: Index) -> list[Small]:
        """Run the operations of a graph for the lane in a slot, and store the results."""
        emitter, given = self.emitter, list[Node]()
        for x in graph.inputs:
            node = self.values.get(x)
            if node is None:
                node = Small(x.shape, x.dtype, emitter.small(emitter.part(self.memory[x], [slot])).values)
            given.append(node)
        found = [emitter.small(x) for x in self.step(graph, given)]
        for each, cells in zip(found, targets, strict=True):
            emitter.store(Small(each.shape[1:], each.dtype, each.values), emitter.part(cells, [slot]))
        return found

    def _end_step(self, slot: Index) -> None:
        """Run the last part of a step, and determine whether the lane has finished."""
        emitter, b = self.emitter, self.emitter.b
        found = self._compute(self.stages[-1].graph, self.carry, slot)
        (is_running,) = found[self.lanes.active].values
        if self.limit is not None:
            number = b.add(emitter.element(self.steps, [slot]), constant(1))
            b.store(number, emitter.address(self.steps, [slot]))
            is_running = b.and_(is_running, b.icmp_signed("<", number, constant(self.limit)))
        emitter.write(is_running, emitter.address(self.running, [slot]), np.dtype(bool))


def _slots(emitter: Emitter, like: Any) -> Buffer:
    """Return memory for the lanes in the slots, element by element, so that LLVM uses vectors."""
    rest, dtype = like.shape[1:], np.dtype(like.dtype)
    cells = emitter.cell(stored_type_of(dtype), SLOTS * math.prod(rest))
    return Buffer((SLOTS, *rest), dtype, cells, (1, *(SLOTS * step for step in contiguous(rest))))
