"""Scans as operations: their bodies are graphs, and captured arrays are arguments.

Reverse mode saves the carry at about the square root of the number of steps, and recomputes the steps in between when
the cotangents are pulled back.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand.extend import Array, device_of

from ._batching import Batching
from ._bodies import Body, body_of, closed
from ._branches import cond
from ._core import Aval, Op, aval_of, bare, bind
from ._fit import zeros
from ._flow import Arrays, chosen, push, split
from ._forward import Forward
from ._reverse import Linearize, opaque
from ._tape import Tape, recorded

FEW_STEPS: Final = 32
"""Fewer steps than these are passed over each by itself, and by a batch not at all."""


def scan(
    namespace: Any, function: Callable[..., Any], init: Sequence[Array], xs: Sequence[Array], length: int
) -> tuple[list[Any], list[Any]]:
    """Call `function(carry, x)` for each row, which returns the next carry and a row to stack, both flat tuples."""
    count = len(init)
    avals = [*map(aval_of, init), *(Aval(tuple(x.shape[1:]), x.dtype, device_of(x)) for x in xs)]

    def flat(*arrays: Array) -> tuple[Any, Any]:
        carry, ys = function(tuple(arrays[:count]), tuple(arrays[count:]))
        return (*carry, *ys), ()

    body, constants = closed(namespace, "scan", flat, avals, is_choice=not length)
    return scan_body(namespace, body, constants, init, xs, length)


def scan_body(
    namespace: Any, body: Body, constants: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int
) -> tuple[list[Any], list[Any]]:
    """Scan with a body of constants, the carry, and a row."""
    op = namespace.operation("scan", _run_scan)
    params = {"body": body, "constants": len(constants), "carry": len(init), "length": length}
    found = bind(op, [*constants, *init, *xs], params)
    carried, stacked = split(list(map(bare, found)), len(init))
    return carried, stacked


def _run_scan(*args: Array, body: Body, constants: int, carry: int, length: int) -> Arrays:
    fixed, carried, xs = split(args, constants, carry)
    step = body.program
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
    found = body.results([*fixed, *carried, *(Aval(x.shape[1:], x.dtype, device_of(x)) for x in xs)])
    return (*found[:carry], *(Aval((length, *x.shape), x.dtype, device_of(x)) for x in found[carry:]))


def scan_depends(on: Sequence[bool], *, body: Body, constants: int, carry: int, length: int) -> tuple[bool, ...]:
    return body.depends_at_last(tuple(on), constants, carry)


def scan_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body, count, carry = params["body"], params["constants"], params["carry"]
    fixed, init, xs = split(args, count, carry)
    mapped, which = body.mapped_loop(tuple(map(trace.owns, args)), trace.size, count, carry)
    carried, ys = scan_body(
        trace.namespace,
        mapped,
        [trace.plain(x) for x in fixed],
        [trace.lifted(x) if each else trace.plain(x) for x, each in zip(init, which)],
        [bare(trace.namespace.moveaxis(x._value, 0, 1)) if trace.owns(x) else bare(x) for x in xs],
        params["length"],
    )
    turned = [bare(trace.namespace.moveaxis(y, 1, 0)) if each else y for y, each in zip(ys, which[carry:])]
    return tuple(trace.namespace.array(trace, x) if each else x for x, each in zip((*carried, *turned), which))


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
    carried, ys = scan_body(
        trace.namespace, pushed, [*fixed, *t_fixed], [*init, *t_init], [*xs, *t_xs], params["length"]
    )
    values = [*carried[:carry], *ys[: len(outs) - carry]]
    derivatives = iter([*carried[carry:], *ys[len(outs) - carry :]])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(values, outs))


def _reordered(
    pushed: Body, counts: tuple[int, int, int], tangents: tuple[int, int, int], carry: int, outs: tuple[bool, ...]
) -> Body:
    """Bring the inputs and outputs of forward mode's body into the order of a scan's: constants, carried, rows."""
    from ._graph import Graph

    graph = pushed.graph
    values, along = split(list(graph.inputs), sum(counts))
    inputs = [x for pair in zip(split(values, *counts[:2]), split(along, *tangents[:2])) for part in pair for x in part]
    results, derivatives = split(list(graph.outputs), len(outs))
    of_carry = sum(outs[:carry])
    outputs = [*results[:carry], *derivatives[:of_carry], *results[carry:], *derivatives[of_carry:]]
    return Body(Graph(graph.namespace, inputs, graph.constants, graph.equations, outputs))


def scan_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    primals = [trace.plain(x) for x in args]
    nodes = [x._extra if trace.owns(x) else None for x in args]
    outs, back = scanned(trace.namespace, primals, [node is not None for node in nodes], params)
    return opaque(trace, outs, nodes, back, lambda *t: push(trace.namespace, op, primals, t, params))


def scan_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Record a scan that is linear in some of its arrays: its transpose is that at zero."""
    primals, nodes = trace.at_zero(args)
    active = [node is not None for node in nodes]
    outs, back = scanned(trace.namespace, primals, active, params)
    pushforward = lambda *t: push(trace.namespace, op, primals, t, params)
    return recorded(trace, op, outs, scan_depends(active, **params), nodes, back, pushforward)


def scanned(
    namespace: Any, primals: list[Any], active: list[bool], params: dict[str, Any], ends: bool = False
) -> tuple[list[Any], Callable[..., Any]]:
    """Scan, and save the carry at the start of each segment; return the results and the pullback.

    `ends`: the first part of the carry tells whether the loop is running. Steps after the end are skipped, segment by
    segment, in both directions. Such a scan has no rows.
    """
    body, count, carry, length = params["body"], params["constants"], params["carry"], params["length"]
    fixed, init, xs = split(primals, count, carry)
    floats = body.floats("inputs")
    wanted = tuple(f and (a or count <= i < count + carry) for i, (a, f) in enumerate(zip(active, floats)))
    skips = ends and length >= FEW_STEPS
    primal = _skipping(body.with_rules(wanted), count, skips) if ends else body.with_rules(wanted)
    size = max(1, length if ends and not skips else math.isqrt(length))
    segments = length // size
    parts = [(segments, size)] if segments else []
    if length % size:
        parts.append((1, length % size))
    carried, stacked, checkpoints, start = init, [], [], 0
    for number, each in parts:
        rows = [_segments(namespace, x, start, number, each) for x in xs]
        carried, found = _outer(namespace, primal, fixed, carried, rows, number, each, skips)
        checkpoints.append(found[:carry])
        stacked.append([_merged(namespace, y) for y in found[carry:]])
        start += number * each
    if stacked:
        ys = [bare(namespace.concat(list(column))) if len(column) > 1 else column[0] for column in zip(*stacked)]
    else:
        ys = split(list(bind(namespace.operation("scan", _run_scan), primals, params)), carry)[1]
    outs = [*carried, *map(bare, ys)]
    of_outs = body.floats("outputs")

    def back(*cotangents: Any) -> list[Any]:
        ct_carry = chosen(cotangents[:carry], of_outs[:carry])
        ct_ys = chosen(cotangents[carry:], of_outs[carry:])
        ct_fixed = [zeros(namespace, x) for x in chosen(fixed, wanted[:count])]
        of_rows: list[list[Any]] = []
        end = length
        for (number, each), starts in zip(reversed(parts), reversed(checkpoints)):
            start = end - number * each
            rows = [_segments(namespace, x, start, number, each) for x in xs]
            cts = [_segments(namespace, y, start, number, each) for y in ct_ys]
            ct_carry, ct_fixed, ct_rows = _outer_back(
                namespace, body, wanted, fixed, starts, rows, cts, ct_carry, ct_fixed, number, each, params, ends
            )
            of_rows.insert(0, [_merged(namespace, x) for x in ct_rows])
            end = start
        wanted_xs = chosen(xs, wanted[count + carry :])
        ct_xs = [
            bare(namespace.concat([part[i] for part in of_rows])) if of_rows else zeros(namespace, x)
            for i, x in enumerate(wanted_xs)
        ]
        found = iter([*ct_fixed, *ct_carry, *ct_xs])
        return [next(found) if each else None for each in wanted]

    return outs, back


def _segments(namespace: Any, x: Any, start: int, number: int, size: int) -> Any:
    """Take rows of an array as segments."""
    part = namespace.wrap(x)[start : start + number * size, ...]
    return bare(namespace.reshape(part, (number, size, *part.shape[1:])))


def _merged(namespace: Any, x: Any) -> Any:
    return bare(namespace.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])))


def _skipping(body: Body, constants: int, skips: bool) -> Body:
    """Make the body that does nothing where the first part of the carry is false."""
    namespace = body.graph.namespace

    def function(*arrays: Array) -> tuple[Any, Any]:
        stay = lambda *x: x[constants:]
        return tuple(cond(namespace, arrays[constants], [stay, body.graph.run], arrays, skips)), ()

    make = lambda: body_of(namespace, function, [x.aval for x in body.graph.inputs])
    return body.made(("skipping", constants, skips), make)  # type: ignore[no-any-return]


def _outer(
    namespace: Any, body: Body, fixed: list[Any], init: list[Any], rows: list[Any], number: int, size: int, skips: bool
) -> tuple[list[Any], list[Any]]:
    """Scan segments; stack the carry at the start of each, and then their own rows."""

    def segment(carry: Arrays, xs: Arrays) -> tuple[Any, Any]:
        if skips:
            steps = lambda *carry: tuple(scan_body(namespace, body, fixed, carry, (), size)[0])
            return tuple(cond(namespace, carry[0], [lambda *carry: carry, steps], carry, skips=True)), carry
        carried, ys = scan_body(namespace, body, fixed, carry, xs, size)
        return carried, (*carry, *ys)

    return scan(namespace, segment, init, rows, number)


def _outer_back(
    namespace: Any,
    body: Body,
    wanted: tuple[bool, ...],
    fixed: list[Any],
    starts: list[Any],
    rows: list[Any],
    ct_ys: list[Any],
    ct_carry: list[Any],
    ct_fixed: list[Any],
    number: int,
    size: int,
    params: dict[str, Any],
    ends: bool,
) -> tuple[list[Any], list[Any], list[Any]]:
    """Recompute the segments in reverse; return the cotangents of the carry, of the constants and of the rows."""
    count, carry = params["constants"], params["carry"]
    pulled, primal = body.pulled(wanted), body.with_rules(wanted).silent
    skips = ends and params["length"] >= FEW_STEPS
    primal = _skipping(primal, count, skips) if ends else primal
    of_fixed, of_carry = sum(wanted[:count]), sum(wanted[count : count + carry])

    def step(cts: Arrays, given: Arrays) -> tuple[Any, Any]:
        carried, row, ct_row = split(given, carry, len(given) - carry - len(ct_ys))
        ct_now, ct_so_far = split(cts, of_carry)
        found = list(map(bare, pulled.graph.run(*fixed, *carried, *row, *ct_now, *ct_row)))
        from_fixed, from_carry, from_row = split(found, of_fixed, of_carry)
        return (*from_carry, *[x + y for x, y in zip(ct_so_far, from_fixed)]), tuple(from_row)

    def states(carry: Arrays, row: Arrays) -> tuple[Any, Any]:
        return primal.graph.run(*fixed, *carry, *row)[: len(carry)], carry

    def segment(cts: Arrays, given: Arrays) -> tuple[Any, Any]:
        start, row, ct_row = split(given, carry, len(given) - carry - len(ct_ys))
        _, carried = scan(namespace, states, start, row, size)
        backwards = [bare(namespace.flip(x, axis=0)) for x in (*carried, *row, *ct_row)]
        found, ct_xs = scan(namespace, skipping(step) if ends else step, cts, backwards, size)
        return found, tuple(bare(namespace.flip(x, axis=0)) for x in ct_xs)

    def skipping(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the cotangents unchanged where there was no step."""

        def stay_or_call(cts: Arrays, given: Arrays) -> tuple[Any, Any]:
            branches = [lambda *x: x[: len(cts)], lambda *x: tuple(function(x[: len(cts)], x[len(cts) :])[0])]
            return tuple(cond(namespace, given[0], branches, [*cts, *given], skips)), ()

        return stay_or_call

    backwards = [bare(namespace.flip(x, axis=0)) for x in (*starts, *rows, *ct_ys)]
    cts, ct_xs = scan(namespace, skipping(segment) if skips else segment, [*ct_carry, *ct_fixed], backwards, number)
    found = split(cts, of_carry)
    return found[0], found[1], [bare(namespace.flip(x, axis=0)) for x in ct_xs]
