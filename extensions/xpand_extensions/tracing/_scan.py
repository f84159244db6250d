"""Scans as operations. Their bodies are graphs, and captured arrays are arguments.

Reverse mode saves the carry before each step, and recomputes each step when it pulls cotangents back. A long scan
becomes a scan over blocks, which saves the carry about sqrt(n) times for n steps.
"""

from collections.abc import Callable, Container, Sequence
from typing import Any, Final, NamedTuple

from xpand import is_concrete
from xpand.extend import Array, device_of

from ..control_flow._checkpointed import Primitives, checkpointed_scan
from ._batching import Batching
from ._bodies import Body, body_of, closed, native
from ._branches import cond
from ._core import Aval, Op, aval_of, bare, bind
from ._fit import zeros
from ._flow import Arrays, chosen, pulled_back, split
from ._forward import Forward
from ._graph import Equation, Graph
from ._reverse import Linearize
from ._simplify import without_unused
from ._tape import Tape

FEW_STEPS: Final = 32
"""Scans with fewer steps save each carry. A batch computes all of these steps, also after the end of a loop."""


class Step(NamedTuple):
    """A step of a scan as a body, and the captured arrays, its first inputs."""

    body: Body
    constants: Sequence[Any]


def scan(
    namespace: Any,
    function: Callable[..., Any] | Step,
    init: Sequence[Array],
    xs: Sequence[Array],
    length: int,
    in_block: bool = False,
) -> tuple[list[Any], list[Any]]:
    """Call `function(carry, x)` for each row. It returns the next carry and a row to stack, both flat tuples.

    `in_block`: reverse mode saves the carry before each step, for any number of steps.
    """
    step = function if isinstance(function, Step) else traced_step(namespace, function, init, xs, length)
    body = step.body.in_block if in_block else step.body
    return scan_body(namespace, body, step.constants, init, xs, length)


def traced_step(
    namespace: Any, function: Callable[..., Any], init: Sequence[Array], xs: Sequence[Array], length: int
) -> Step:
    """Trace a step of a scan."""
    count = len(init)
    avals = [*map(aval_of, init), *map(_row_of, xs)]

    def flat(*arrays: Array) -> tuple[Any, Any]:
        carry, ys = function(tuple(arrays[:count]), tuple(arrays[count:]))
        return (*carry, *ys), ()

    return Step(*closed(namespace, "scan", flat, avals, is_choice=not length))


def _row_of(x: Any) -> Aval:
    return Aval(tuple(x.shape[1:]), x.dtype, device_of(x))


def scan_body(
    namespace: Any, body: Body, constants: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int
) -> tuple[list[Any], list[Any]]:
    """Scan with a body that takes constants, the carry and a row."""
    op = namespace.operation("scan", _run_scan)
    params = {"body": body, "constants": len(constants), "carry": len(init), "length": length}
    found = bind(op, [*constants, *init, *xs], params)
    carried, stacked = split(list(map(bare, found)), len(init))
    return carried, stacked


def _run_scan(*args: Array, body: Body, constants: int, carry: int, length: int) -> Arrays:
    fixed, carried, xs = split(args, constants, carry)
    step = body.program
    if not all(map(is_concrete, args)):

        def stepped(carried: Arrays, row: Arrays) -> tuple[Arrays, Arrays]:
            out = step(*fixed, *carried, *row)
            return tuple(out[:carry]), tuple(out[carry:])

        last, ys = native(body, "scan")(stepped, tuple(carried), tuple(xs), length=length)
        return (*last, *ys)
    rows = []
    for i in range(length):
        out = step(*fixed, *carried, *[x[i, ...] for x in xs])
        carried = list(out[:carry])
        rows.append(out[carry:])
    base = body.graph.namespace.base
    if not length:
        empty = [base.zeros((0, *x.shape), dtype=x.dtype, device=device_of(x)) for x in body.avals[carry:]]
        return (*carried, *empty)
    return (*carried, *[base.stack(column) for column in zip(*rows)])


def scan_shapes(namespace: Any, *avals: Any, body: Body, constants: int, carry: int, length: int) -> Any:
    fixed, carried, xs = split(avals, constants, carry)
    if any(not x.shape or x.shape[0] != length for x in xs):
        raise ValueError(f"rows of arrays of the length {length}, got {xs}")
    found = body.results([*fixed, *carried, *map(_row_of, xs)])
    return (*found[:carry], *(Aval((length, *x.shape), x.dtype, device_of(x)) for x in found[carry:]))


def scan_depends(on: Sequence[bool], *, body: Body, constants: int, carry: int, length: int) -> tuple[bool, ...]:
    return body.depends_at_last(tuple(on), constants, carry)


def scan_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body, count, carry = params["body"], params["constants"], params["carry"]
    fixed, init, xs = split(args, count, carry)
    mapped, which = body.mapped_loop(tuple(map(trace.owns, args)), trace.size, count, carry)
    carried, ys = scan_body(
        trace.namespace,
        mapped.in_block if body.is_in_block else mapped,
        [trace.plain(x) for x in fixed],
        [trace.lifted(x) if each else trace.plain(x) for x, each in zip(init, which)],
        [bare(trace.namespace.moveaxis(x._value, 0, 1)) if trace.owns(x) else bare(x) for x in xs],
        params["length"],
    )
    turned = [bare(trace.namespace.moveaxis(y, 1, 0)) if each else y for y, each in zip(ys, which[carry:])]
    return tuple(trace.namespace.array_type(trace, x) if each else x for x, each in zip((*carried, *turned), which))


def scan_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body, count, carry = params["body"], params["constants"], params["carry"]
    primals, tangents = trace.split(args)
    floats = body.floats("inputs")
    has = [
        is_floating and (t is not None or count <= i < count + carry)
        for i, (t, is_floating) in enumerate(zip(tangents, floats))
    ]
    given = [zeros(trace.namespace, x) if t is None and each else t for t, x, each in zip(tangents, primals, has)]
    fixed, init, xs = split(primals, count, carry)
    t_fixed, t_init, t_xs = (chosen(t, each) for t, each in zip(split(given, count, carry), split(has, count, carry)))
    outs = body.floats("outputs")
    tangent_counts = len(t_fixed), len(t_init), len(t_xs)
    pushed = _reordered(body.pushed(tuple(has)), (count, carry, len(xs)), tangent_counts, carry, outs)
    pushed = pushed.in_block if body.is_in_block else pushed
    carried, ys = scan_body(
        trace.namespace, pushed, [*fixed, *t_fixed], [*init, *t_init], [*xs, *t_xs], params["length"]
    )
    values = [*carried[:carry], *ys[: len(outs) - carry]]
    derivatives = iter([*carried[carry:], *ys[len(outs) - carry :]])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(values, outs))


def _reordered(
    pushed: Body, counts: tuple[int, int, int], tangents: tuple[int, int, int], carry: int, outs: tuple[bool, ...]
) -> Body:
    """Reorder the inputs and outputs of the body of forward mode as a scan needs them: constants, carry, rows."""
    graph = pushed.graph
    values, along = split(list(graph.inputs), sum(counts))
    inputs = [x for pair in zip(split(values, *counts[:2]), split(along, *tangents[:2])) for part in pair for x in part]
    results, derivatives = split(list(graph.outputs), len(outs))
    of_carry = sum(outs[:carry])
    outputs = [*results[:carry], *derivatives[:of_carry], *results[carry:], *derivatives[of_carry:]]
    return Body(Graph(graph.namespace, inputs, graph.constants, graph.equations, outputs))


def scan_linearize(trace: Linearize | Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    if params["length"] >= FEW_STEPS and not params["body"].is_in_block:
        return _by_blocks(trace.namespace, args, params)
    return pulled_back(trace, op, args, params, _pulled)


scan_tape = scan_linearize


def _by_blocks(namespace: Any, args: Sequence[Any], params: dict[str, Any]) -> Arrays:
    fixed, init, xs = split(args, params["constants"], params["carry"])
    step: Any = Step(params["body"], fixed)
    rows = tuple(map(namespace.wrap, xs))
    carried, ys = checkpointed_scan(primitives(namespace), step, tuple(init), rows, params["length"])
    return (*carried, *ys)


def primitives(namespace: Any, skips: bool = True) -> Primitives:
    """Return the building blocks of loops for `control_flow._checkpointed`.

    `skips`: a batch skips steps that no lane needs.
    """

    def run_if(active: Array, function: Callable[..., Arrays], state: Arrays) -> Arrays:
        return tuple(map(namespace.wrap, cond(namespace, active, [lambda *state: state, function], state, skips)))

    def blocks(step: Callable[..., Any], init: Arrays, xs: Arrays, length: int) -> tuple[Arrays, Arrays]:
        carried, ys = scan(namespace, step, init, xs, length, in_block=True)
        return tuple(map(namespace.wrap, carried)), tuple(map(namespace.wrap, ys))

    def traced(step: Any, *given: Any) -> Any:
        return step if isinstance(step, Step) else traced_step(namespace, step, *given)

    return Primitives(namespace, blocks, run_if, FEW_STEPS, traced=traced, selects_lanes=True)


def _pulled(
    namespace: Any, primals: list[Any], active: Sequence[bool], params: dict[str, Any]
) -> tuple[list[Any], Callable[..., Any]]:
    """Scan and save the carry before each step. Return the results and the pullback."""
    body, count, carry, length = params["body"], params["constants"], params["carry"], params["length"]
    fixed, init, xs = split(primals, count, carry)
    floats, of_outs = body.floats("inputs"), body.floats("outputs")
    wanted = tuple(f and (a or count <= i < count + carry) for i, (a, f) in enumerate(zip(active, floats)))
    of_fixed, of_carry = sum(wanted[:count]), sum(wanted[count : count + carry])
    saving = body.made(("saving", wanted), lambda: _saving(body.with_rules(wanted), count, carry))
    carried, rows = scan_body(namespace, saving.in_block, fixed, init, xs, length)
    starts, ys = split(rows, carry)

    def step(*arrays: Array) -> tuple[Any, Any]:
        same, ct_now, sums, given = split(arrays, count, of_carry, of_fixed)
        primals, ct_row = split(given, carry + len(xs))
        found = list(map(bare, body.pulled(wanted).graph.run(*same, *primals, *ct_now, *ct_row)))
        from_fixed, from_carry, from_row = split(found, of_fixed, of_carry)
        return (*from_carry, *[x + y for x, y in zip(sums, from_fixed)], *from_row), ()

    def back(*cotangents: Any) -> list[Any]:
        ct_carry, ct_ys = chosen(cotangents[:carry], of_outs[:carry]), chosen(cotangents[carry:], of_outs[carry:])
        cts = [*ct_carry, *(zeros(namespace, x) for x in chosen(fixed, wanted[:count]))]
        stacked = _flipped(namespace, (*starts, *xs, *ct_ys))
        avals = [*map(aval_of, (*fixed, *cts)), *map(_row_of, stacked)]
        backwards = body.made(("backwards", wanted), lambda: body_of(namespace, step, avals))
        cts, ct_xs = scan_body(namespace, backwards.in_block, fixed, cts, stacked, length)
        found = iter([*cts[of_carry:], *cts[:of_carry], *_flipped(namespace, ct_xs)])
        return [next(found) if each else None for each in wanted]

    return [*carried, *ys], back


def _flipped(namespace: Any, arrays: Sequence[Any]) -> list[Any]:
    return [bare(namespace.flip(x, axis=0)) for x in arrays]


def _saving(body: Body, constants: int, carry: int) -> Body:
    """Return the body that also stacks the carry before each step, as the first rows."""
    graph = body.graph
    before = graph.inputs[constants : constants + carry]
    outputs = [*graph.outputs[:carry], *before, *graph.outputs[carry:]]
    return Body(Graph(graph.namespace, graph.inputs, graph.constants, graph.equations, outputs))


def scan_prune(equation: Equation, used: Container[Any]) -> Equation:
    """Remove unused rows."""
    body, carry = equation.params["body"], equation.params["carry"]
    which = (*(True,) * carry, *(x in used for x in equation.outputs[carry:]))
    if all(which):
        return equation
    graph = body.graph
    short = Graph(graph.namespace, graph.inputs, graph.constants, graph.equations, chosen(graph.outputs, which))
    pruned = body.made(("pruned", which), lambda: Body(without_unused(short), body.backend, body.is_in_block))
    outputs = chosen(equation.outputs, which)
    return Equation(equation.op, equation.inputs, {**equation.params, "body": pruned}, outputs, equation.scope)
