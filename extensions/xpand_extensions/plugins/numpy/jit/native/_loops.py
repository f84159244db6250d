"""Loops and branches. Small arrays of the carry are in registers, others in two alternating buffers."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType, NoneType
from typing import Any, Final

import numpy as np
from llvmlite import ir

from .....tracing._branches import given_to
from .....tracing._core import Aval
from .....tracing._flow import split
from .....tracing._graph import Equation, Graph, Variable
from .....tracing._simplify import simplified
from .....tracing.rules import ELEMENTWISE
from ._emit import INTEGER, POINTER, Emitter
from ._equations import RULES
from ._expansions import expanded
from ._flags import fail
from ._lanes import lanes_of, run_lanes
from ._scalars import literal, plan_of, stored_type_of
from ._values import SMALL, Buffer, Call, Elementwise, Index, Node, Small, constant, nodes, slots_of

MOST_AHEAD: Final = 1 << 17
"""The maximum number of results of a function to compute before a loop."""


def lowered(
    emitter: Emitter,
    graph: Graph,
    given: Sequence[Node],
    constants: Callable[[Any], Node],
    targets: Mapping[Variable, Buffer] = MappingProxyType({}),
) -> list[Node]:
    """Emit the operations of a graph, and return its outputs.

    Args:
        emitter: Writes the instructions.
        graph: The graph.
        given: Its inputs.
        constants: Returns the array of a constant.
        targets: The memory for results that are not small.
    """
    values: dict[Variable, Node] = dict(zip(graph.inputs, given))
    emitter.scopes.append(values)
    values.update((x, constants(value)) for x, value in graph.constants.items())
    last: dict[Variable, int] = {}
    uses: dict[Variable, int] = {}
    for number, used in enumerate([*(each.inputs for each in graph.equations), graph.outputs]):
        for x in used:
            if isinstance(x, Variable):
                last[x], uses[x] = number, uses.get(x, 0) + 1
    known: dict[Hashable, tuple[list[Node], Any]] = {}
    for number, equation in enumerate(graph.equations):
        inputs = [values[x] if isinstance(x, Variable) else None for x in equation.inputs]
        with emitter.equation():
            emitter.targets = [targets.get(x) for x in equation.outputs]
            steps, key = expanded(equation), _key(equation, inputs)
            if key in known:
                found, _ = known[key]
            elif steps is not None:
                found = lowered(emitter, steps, [x for x in inputs if x is not None], constants)
            elif equation.op.name in _FLOW:
                found = _FLOW[equation.op.name](emitter, equation, inputs, constants)
            else:
                found = RULES[equation.op.name].lower(emitter, equation, inputs)
            found = list(map(emitter.in_registers, found))
            if key is not None:
                known[key] = found, inputs  # keep the inputs alive, so that no other arrays get their `id`
            for x, node in zip(equation.outputs, found, strict=True):
                if x in targets:
                    if node is not targets[x]:
                        emitter.store(node, targets[x])
                    values[x] = targets[x]
                elif x in uses:
                    is_shared = uses[x] > 1 and bool(nodes(node, (Elementwise, Call)))
                    values[x] = emitter.in_memory(node) if is_shared else node
        for x in dict.fromkeys(equation.inputs):
            if isinstance(x, Variable) and last[x] == number:
                del values[x]
    results = [
        values[x] if isinstance(x, Variable) else Small((), np.asarray(x).dtype, [literal(x, np.asarray(x).dtype)])
        for x in graph.outputs
    ]
    emitter.scopes.pop()
    emitter.pinned += slots_of(results)
    return results


def _key(equation: Equation, inputs: Sequence[Node | None]) -> Hashable:
    """Return a key of an operation in registers, to compute it only once, or None for other operations."""
    arrays = all(isinstance(x, (Small, NoneType)) for x in inputs) and all(
        x.aval.size <= SMALL for x in equation.outputs
    )
    if not arrays or equation.op.name in _FLOW or equation.effects:
        return None
    operands = [(type(x), repr(x)) if node is None else id(node) for x, node in zip(equation.inputs, inputs)]
    key = equation.op, *operands, *sorted(equation.params.items())
    try:
        hash(key)
    except TypeError:  # slices have no hash before Python 3.12
        return None
    return key


class _Cells:
    """An array that a loop or a branch changes: cells on the stack, or a pointer to one of two buffers."""

    def __init__(self, emitter: Emitter, like: Any, is_carried: bool = True) -> None:
        self.emitter, self.shape, self.dtype = emitter, like.shape, np.dtype(like.dtype)
        kind = stored_type_of(self.dtype)
        self.is_small = like.aval.size <= SMALL
        self.buffers: list[Buffer] = []
        if self.is_small:
            self.cells = [emitter.cell(kind) for _ in range(like.aval.size)]
        else:
            for _ in range(1 + is_carried):
                self.buffers.append(emitter.allocated(self.shape, self.dtype))
            self.pointers = [emitter.cell(POINTER) for _ in self.buffers]

    def init(self, node: Node) -> None:
        """Set the first value."""
        if not self.is_small:
            for cell, buffer in zip(self.pointers, self.buffers):
                self.emitter.b.store(buffer.pointer, cell)
            self.emitter.store(node, self.buffers[0])
        else:
            self.set(node)

    def set(self, node: Node) -> None:
        """Set the next value, which may depend on the current one."""
        emitter = self.emitter
        if self.is_small:
            for cell, value in zip(self.cells, emitter.small(node).values):
                emitter.write(value, cell, self.dtype)
        else:
            emitter.store(node, self._buffer(len(self.buffers) - 1))

    def turn(self) -> None:
        """Make the next value the current one."""
        if not self.is_small and len(self.buffers) == 2:
            b = self.emitter.b
            pointers = [b.load(cell, typ=POINTER) for cell in self.pointers]
            for cell, pointer in zip(self.pointers, reversed(pointers)):
                b.store(pointer, cell)

    def get(self) -> Node:
        """Return the current value."""
        if self.is_small:
            return Small(self.shape, self.dtype, [self.emitter.read(cell, self.dtype) for cell in self.cells])
        return self._buffer(0)

    def _buffer(self, number: int) -> Buffer:
        pointer = self.emitter.b.load(self.pointers[number], typ=POINTER)
        return Buffer(self.shape, self.dtype, pointer, slots=[slot for x in self.buffers for slot in x.slots])


def _resolved(emitter: Emitter, equation: Equation, given: Sequence[Node | None]) -> list[Node]:
    """Return the operands of a loop, computed once before it."""
    found: list[Node] = []
    for x, node in zip(equation.inputs, given):
        if node is None:
            dtype = np.asarray(x).dtype
            node = Small((), dtype, [literal(x, dtype)])
        elif not isinstance(node, (Small, Buffer)):
            node = emitter.in_memory(node)
        found.append(node)
    return found


def _scan(emitter: Emitter, equation: Equation, inputs: Sequence[Node | None], constants: Any) -> list[Node]:
    params = equation.params
    graph, carry, length = params["body"].graph, params["carry"], params["length"]
    given = _resolved(emitter, equation, inputs)
    fixed, init, rows = split(given, params["constants"], carry)
    rows = [emitter.in_memory(x) for x in rows]
    ahead = _ahead(graph, fixed, carry, length)
    if ahead is not None:
        graph, calls = ahead
        rows += [emitter.in_memory(x) for x in lowered(emitter, calls, [*fixed, *rows], constants)]
    cells = [_Cells(emitter, x) for x in equation.outputs[:carry]] if length else []
    for each, x in zip(cells, init):
        each.init(x)
    stacked: list[Buffer] = []
    for number, x in enumerate(equation.outputs[carry:], carry):
        stacked.append(emitter.result(x.shape, np.dtype(x.dtype), number))

    def step(index: Index) -> None:
        of_step = [emitter.in_registers(emitter.part(x, (index,))) for x in rows]
        found = lowered(emitter, graph, [*fixed, *[x.get() for x in cells], *of_step], constants)
        for each, x in zip(cells, found):
            each.set(x)
        for target, x in zip(stacked, found[carry:]):
            emitter.store(x, emitter.part(target, (index,)))
        for each in cells:
            each.turn()

    emitter.loop(0, length, step)
    last = [each.get() for each in cells] if length else list(init)
    return [*last, *stacked]


def _ahead(graph: Graph, fixed: Sequence[Node], carry: int, length: int) -> tuple[Graph, Graph] | None:
    """Find the calls of NumPy's loops that depend only on rows. One call for all steps takes less time.

    Returns:
        The body with their results as further rows, and the graph that computes these rows, or None without calls.
    """
    constants, rows = graph.inputs[: len(fixed)], graph.inputs[len(fixed) + carry :]
    nodes = {id(node): x for x, node in zip(reversed(constants), reversed(fixed))}
    whole: dict[Any, Any] = {x: nodes[id(node)] for x, node in zip(constants, fixed)}
    whole |= {x: _for_all_steps(x, length) for x in rows} | {x: x for x in graph.constants}
    along, equations, calls = set(rows), list[Equation](), list[Equation]()
    for equation in graph.equations:
        (out, *others), arrays = equation.outputs, [x for x in equation.inputs if isinstance(x, Variable)]
        plan = plan_of(equation) if equation.op.name in ELEMENTWISE and not others else ""
        if isinstance(plan, str) or plan.is_forward or along.isdisjoint(arrays) or not whole.keys() >= set(arrays):
            continue
        if not all(x.shape == out.shape if x in along else len(x.shape) <= len(out.shape) for x in arrays):
            continue
        if length * out.aval.size > MOST_AHEAD:
            continue
        along.add(out)
        whole[out] = _for_all_steps(out, length)
        inputs = [whole[x] if isinstance(x, Variable) else x for x in equation.inputs]
        equations.append(Equation(equation.op, inputs, equation.params, [whole[out]], equation.scope))
        calls += [equation] if plan.loop is not None else []
    if not calls or length < 2:
        return None
    found = [x for each in calls for x in each.outputs]
    rest = [each for each in graph.equations if each not in calls]
    body = Graph(graph.namespace, [*graph.inputs, *found], graph.constants, rest, graph.outputs)
    inputs = [*constants, *[whole[x] for x in rows]]
    return body, simplified(Graph(graph.namespace, inputs, graph.constants, equations, [whole[x] for x in found]))


def _for_all_steps(x: Variable, length: int) -> Variable:
    return Variable(Aval((length, *x.shape), x.dtype, x.aval.device))


def _while(emitter: Emitter, equation: Equation, inputs: Sequence[Node | None], constants: Any) -> list[Node]:
    params, b = equation.params, emitter.b
    given = _resolved(emitter, equation, inputs)
    of_test, of_body, init = split(given, params["tested"], params["constants"])
    limit, counts = params["limit"], id(equation) in emitter.counted
    lanes = lanes_of(equation, emitter.orders)
    if lanes is not None:
        step = lambda part, given: lowered(emitter, part, given, constants)
        of_graph = map(constants, params["body"].graph.constants.values())
        return run_lanes(emitter, lanes, equation, [*of_body, *init, *of_graph], step)
    cells = [_Cells(emitter, x) for x in equation.outputs]
    for each, x in zip(cells, init):
        each.init(x)
    count = emitter.cell(INTEGER)
    b.store(constant(0), count)
    head, body, end = (emitter.block_of(name) for name in ("while", "do", "done"))
    b.branch(head)
    b.position_at_end(head)
    found = lowered(emitter, params["test"].graph, [*of_test, *[x.get() for x in cells]], constants)
    (running,) = emitter.small(found[0]).values
    if limit is not None:
        number = b.load(count, typ=INTEGER)
        running = b.and_(running, b.icmp_signed("<", number, constant(limit)))
    b.cbranch(running, body, end)
    b.position_at_end(body)
    if limit is not None or counts:
        b.store(b.add(b.load(count, typ=INTEGER), constant(1)), count)
    found = lowered(emitter, params["body"].graph, [*of_body, *[x.get() for x in cells]], constants)
    for each, x in zip(cells, found):
        each.set(x)
    for each in cells:
        each.turn()
    b.branch(head)
    b.position_at_end(end)
    if counts:  # without a step the results are the initial values, in their order in NumPy
        fail(emitter, b.icmp_signed("==", b.load(count, typ=INTEGER), constant(0)))
    return [each.get() for each in cells]


def _cond(emitter: Emitter, equation: Equation, inputs: Sequence[Node | None], constants: Any) -> list[Node]:
    params, b = equation.params, emitter.b
    index, *given = _resolved(emitter, equation, inputs)
    bodies = params["bodies"]
    (number,) = emitter.small(index).values
    cells: list[_Cells] = []
    for x in equation.outputs:
        cells.append(_Cells(emitter, x, is_carried=False))
    for each in cells:
        for cell, buffer in zip([] if each.is_small else each.pointers, each.buffers):
            b.store(buffer.pointer, cell)
    blocks, end = [emitter.block_of("branch") for _ in bodies], emitter.block_of("joined")
    if np.dtype(index.dtype).kind == "b":
        b.cbranch(number, blocks[1], blocks[0])
    else:
        if index.dtype.kind == "i":
            zero = ir.Constant(number.type, 0)
            number = b.select(b.icmp_signed("<", number, zero), zero, number)
        choice = b.switch(number, blocks[-1])
        for i, block in enumerate(blocks):
            choice.add_case(ir.Constant(number.type, i), block)
    for i, (body, block) in enumerate(zip(bodies, blocks)):
        b.position_at_end(block)
        found = lowered(emitter, body.graph, given_to(i, params["counts"], given), constants)
        for each, node in zip(cells, found):
            each.set(node)
        b.branch(end)
    b.position_at_end(end)
    return [each.get() for each in cells]


_FLOW: Final = {"cond": _cond, "scan": _scan, "while_loop": _while}
