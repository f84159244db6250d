"""Loops and branches as operations: their bodies are graphs, and what they use from around them are arguments.

Reverse mode through a loop keeps what is carried at about the square root of the steps, and computes the steps between
two of these again when the cotangents come by.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from xpand import is_concrete
from xpand._arguments import device_of
from xpand._errors import UnsupportedError
from xpand._typing import Array

from ..generic import control_flow as eagerly
from ._batching import Batching
from ._bodies import Body, closed
from ._core import Aval, Op, aval_of, bare, bind
from ._fit import zeros
from ._forward import Forward
from ._reverse import Linearize, Opaque, Part, Tape, opaque

Arrays: TypeAlias = "tuple[Array, ...]"


def _split(args: Sequence[Any], *counts: int) -> list[list[Any]]:
    parts = []
    start = 0
    for count in (*counts, len(args) - sum(counts)):
        parts.append(list(args[start : start + count]))
        start += count
    return parts


def _chosen(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    return [x for x, each in zip(values, which) if each]


# Scan


def scan(
    namespace: Any, function: Callable[..., Any], init: Sequence[Array], xs: Sequence[Array], length: int
) -> tuple[list[Any], list[Any]]:
    """Call `function(carry, x)` for each row, which returns the next carry and what is stacked; both flat tuples."""
    count = len(init)
    avals = [*map(aval_of, init), *(Aval(tuple(x.shape[1:]), x.dtype, device_of(x)) for x in xs)]

    def flat(*arrays: Array) -> tuple[Any, Any]:
        carry, ys = function(tuple(arrays[:count]), tuple(arrays[count:]))
        return (*carry, *ys), ()

    body, constants = closed(namespace, "scan", flat, avals)
    return scan_body(namespace, body, constants, init, xs, length)


def scan_body(
    namespace: Any, body: Body, constants: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int
) -> tuple[list[Any], list[Any]]:
    """Scan with a body of constants, what is carried, and a row."""
    op = namespace.operation("scan", _run_scan)
    params = {"body": body, "constants": len(constants), "carry": len(init), "length": length}
    found = bind(op, [*constants, *init, *xs], params)
    carried, stacked = _split(list(map(bare, found)), len(init))
    return carried, stacked


def _run_scan(*args: Array, body: Body, constants: int, carry: int, length: int) -> Arrays:
    fixed, carried, xs = _split(args, constants, carry)
    step = body.program
    rows = []
    for i in range(length):
        out = step(*fixed, *carried, *[x[i, ...] for x in xs])
        carried = list(out[:carry])
        rows.append(out[carry:])
    base = body.graph.namespace.base
    if not length:
        empty = [base.zeros((0, *x.shape), dtype=x.dtype, device=x.device) for x in body.avals[carry:]]
        return (*carried, *empty)
    return (*carried, *[base.stack(column) for column in zip(*rows)])


def scan_shapes(namespace: Any, *avals: Any, body: Body, constants: int, carry: int, length: int) -> Any:
    found = body.avals
    return (*found[:carry], *(Aval((length, *x.shape), x.dtype, x.device) for x in found[carry:]))


def scan_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body, count, carry = params["body"], params["constants"], params["carry"]
    fixed, init, xs = _split(args, count, carry)
    axes = (*map(trace.own, fixed), *(True for _ in init), *map(trace.own, xs))
    all_of = (True,) * len(body.graph.outputs)
    mapped, _ = body.mapped(axes, trace.size, all_of)
    first = lambda x: trace.namespace.moveaxis(x._value, 0, 1) if trace.own(x) else x
    plain = lambda x: x._value if trace.own(x) else bare(x)
    carried, ys = scan_body(
        trace.namespace,
        mapped,
        [plain(x) for x in fixed],
        [trace.lifted(x) for x in init],
        [bare(first(x)) for x in xs],
        params["length"],
    )
    turned = [bare(trace.namespace.moveaxis(y, 1, 0)) for y in ys]
    return tuple(trace.namespace.array(trace, x) for x in (*carried, *turned))


def scan_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body, count, carry = params["body"], params["constants"], params["carry"]
    primals, tangents = trace.split(args)
    floats = body.floats("inputs")
    has = [
        is_floating and (t is not None or count <= i < count + carry)
        for i, (t, is_floating) in enumerate(zip(tangents, floats))
    ]
    given = [zeros(trace.namespace, x) if t is None and each else t for t, x, each in zip(tangents, primals, has)]
    fixed, init, xs = _split(primals, count, carry)
    t_fixed, t_init, t_xs = (
        _chosen(t, each) for t, each in zip(_split(given, count, carry), _split(has, count, carry))
    )
    outs = body.floats("outputs")
    pushed = _reordered(
        body.pushed(tuple(has)), (count, carry, len(xs)), tuple(map(len, (t_fixed, t_init, t_xs))), carry, outs
    )
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
    values, along = _split(list(graph.inputs), sum(counts))
    inputs = [
        x for pair in zip(_split(values, *counts[:2]), _split(along, *tangents[:2])) for part in pair for x in part
    ]
    results, derivatives = _split(list(graph.outputs), len(outs))
    of_carry = sum(outs[:carry])
    outputs = [*results[:carry], *derivatives[:of_carry], *results[carry:], *derivatives[of_carry:]]
    return Body(Graph(graph.namespace, inputs, graph.constants, graph.equations, outputs))


def scan_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    primals = [x._value if trace.own(x) else bare(x) for x in args]
    nodes = [x._extra if trace.own(x) else None for x in args]
    outs, back = _scanned(trace.namespace, primals, [node is not None for node in nodes], params)
    return opaque(trace, outs, nodes, back, lambda *t: _push(trace.namespace, op, primals, t, params))


def _push(namespace: Any, op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply forward mode to an operation."""
    with Forward("jvp", namespace) as trace:
        given = [x if t is None else namespace.array(trace, x, t) for x, t in zip(primals, tangents)]
        found = trace.process(op, given, params)
    return [x._extra if trace.own(x) else zeros(namespace, x) for x in found]


def scan_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Record a scan that is linear in some of its arrays: its transpose is the one at zero."""
    primals = [zeros(trace.namespace, x) if trace.own(x) else bare(x) for x in args]
    nodes = [x._extra if trace.own(x) else None for x in args]
    outs, back = _scanned(trace.namespace, primals, [node is not None for node in nodes], params)
    whole = Opaque(list(map(aval_of, outs)), nodes, back, lambda *t: _push(trace.namespace, op, primals, t, params))
    return tuple(trace.array(Part(aval_of(x), whole, i)) for i, x in enumerate(outs))


def _scanned(
    namespace: Any, primals: list[Any], active: list[bool], params: dict[str, Any]
) -> tuple[list[Any], Callable[..., Any]]:
    """Scan, keeping what is carried at the beginning of each segment; return the results, and the pullback."""
    body, count, carry, length = params["body"], params["constants"], params["carry"], params["length"]
    fixed, init, xs = _split(primals, count, carry)
    floats = body.floats("inputs")
    wanted = tuple(f and (a or count <= i < count + carry) for i, (a, f) in enumerate(zip(active, floats)))
    followed = body.followed(wanted)
    size = max(1, math.isqrt(length))
    segments = length // size
    parts = [(segments, size)] if segments else []
    if length % size:
        parts.append((1, length % size))
    carried, stacked, kept, start = init, [], [], 0
    for number, each in parts:
        rows = [_segments(namespace, x, start, number, each) for x in xs]
        carried, found = _outer(namespace, followed, fixed, carried, rows, number, each)
        kept.append(found[:carry])
        stacked.append([_merged(namespace, y) for y in found[carry:]])
        start += number * each
    if stacked:
        ys = [bare(namespace.concat(list(column))) if len(column) > 1 else column[0] for column in zip(*stacked)]
    else:
        ys = _split(list(bind(namespace.operation("scan", _run_scan), primals, params)), carry)[1]
    outs = [*carried, *map(bare, ys)]
    of_outs = body.floats("outputs")

    def back(*cotangents: Any) -> list[Any]:
        ct_carry = _chosen(cotangents[:carry], of_outs[:carry])
        ct_ys = _chosen(cotangents[carry:], of_outs[carry:])
        ct_fixed = [zeros(namespace, x) for x in _chosen(fixed, wanted[:count])]
        of_rows: list[list[Any]] = []
        end = length
        for (number, each), starts in zip(reversed(parts), reversed(kept)):
            begin = end - number * each
            rows = [_segments(namespace, x, begin, number, each) for x in xs]
            cts = [_segments(namespace, y, begin, number, each) for y in ct_ys]
            ct_carry, ct_fixed, ct_rows = _outer_back(
                namespace, body, wanted, fixed, starts, rows, cts, ct_carry, ct_fixed, number, each, params
            )
            of_rows.insert(0, [_merged(namespace, x) for x in ct_rows])
            end = begin
        wanted_xs = _chosen(xs, wanted[count + carry :])
        ct_xs = [
            bare(namespace.concat([part[i] for part in of_rows])) if of_rows else zeros(namespace, x)
            for i, x in enumerate(wanted_xs)
        ]
        found = iter([*ct_fixed, *ct_carry, *ct_xs])
        return [next(found) if each else None for each in wanted]

    return outs, back


def _segments(namespace: Any, x: Any, start: int, number: int, size: int) -> Any:
    """Take rows out of an array, as segments."""
    part = namespace.wrap(x)[start : start + number * size, ...]
    return bare(namespace.reshape(part, (number, size, *part.shape[1:])))


def _merged(namespace: Any, x: Any) -> Any:
    return bare(namespace.reshape(x, (x.shape[0] * x.shape[1], *x.shape[2:])))


def _outer(
    namespace: Any, body: Body, fixed: list[Any], init: list[Any], rows: list[Any], number: int, size: int
) -> tuple[list[Any], list[Any]]:
    """Scan segments: what is stacked is first what is carried at the beginning of each, then what each stacks."""

    def segment(carry: Arrays, xs: Arrays) -> tuple[Any, Any]:
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
) -> tuple[list[Any], list[Any], list[Any]]:
    """Go through the segments backwards, each computed again: cotangents of what is carried, of constants, of rows."""
    count, carry = params["constants"], params["carry"]
    pulled, followed = body.pulled(wanted), body.followed(wanted)
    of_fixed, of_carry = sum(wanted[:count]), sum(wanted[count : count + carry])

    def step(cts: Arrays, given: Arrays) -> tuple[Any, Any]:
        carried, row, ct_row = _split(given, carry, len(given) - carry - len(ct_ys))
        ct_now, ct_so_far = _split(cts, of_carry)
        found = list(map(bare, pulled.graph.run(*fixed, *carried, *row, *ct_now, *ct_row)))
        from_fixed, from_carry, from_row = _split(found, of_fixed, of_carry)
        return (*from_carry, *[x + y for x, y in zip(ct_so_far, from_fixed)]), tuple(from_row)

    def states(carry: Arrays, row: Arrays) -> tuple[Any, Any]:
        return followed.graph.run(*fixed, *carry, *row)[: len(carry)], carry

    def segment(cts: Arrays, given: Arrays) -> tuple[Any, Any]:
        start, row, ct_row = _split(given, carry, len(given) - carry - len(ct_ys))
        _, carried = scan(namespace, states, start, row, size)
        backwards = [bare(namespace.flip(x, axis=0)) for x in (*carried, *row, *ct_row)]
        found, ct_xs = scan(namespace, step, cts, backwards, size)
        return found, tuple(bare(namespace.flip(x, axis=0)) for x in ct_xs)

    backwards = [bare(namespace.flip(x, axis=0)) for x in (*starts, *rows, *ct_ys)]
    cts, ct_xs = scan(namespace, segment, [*ct_carry, *ct_fixed], backwards, number)
    found = _split(cts, of_carry)
    return found[0], found[1], [bare(namespace.flip(x, axis=0)) for x in ct_xs]


# A loop that ends by a condition


def while_loop(
    namespace: Any,
    condition: Callable[..., Any],
    function: Callable[..., Any],
    init: Sequence[Array],
    limit: int | None,
) -> list[Any]:
    """Call `function(*carry)` as long as `condition(*carry)` holds, and at most `limit` times."""
    avals = list(map(aval_of, init))
    test, of_test = closed(namespace, "while_loop", lambda *carry: ((condition(*carry),), ()), avals)
    body, of_body = closed(namespace, "while_loop", lambda *carry: (tuple(function(*carry)), ()), avals)
    return while_body(namespace, test, body, of_test, of_body, init, limit)


def while_body(
    namespace: Any,
    test: Body,
    body: Body,
    of_test: Sequence[Any],
    of_body: Sequence[Any],
    init: Sequence[Any],
    limit: int | None,
) -> list[Any]:
    """Loop with bodies of constants and what is carried."""
    op = namespace.operation("while_loop", _run_while)
    params = {"test": test, "body": body, "tested": len(of_test), "constants": len(of_body), "limit": limit}
    return list(map(bare, bind(op, [*of_test, *of_body, *init], params)))


def _run_while(*args: Array, test: Body, body: Body, tested: int, constants: int, limit: int | None) -> Arrays:
    of_test, of_body, carry = _split(args, tested, constants)
    holds, step = test.program, body.program
    condition = lambda *carry: holds(*of_test, *carry)[0]
    return eagerly.while_loop(condition, lambda *carry: step(*of_body, *carry), tuple(carry), max_iter=limit)


def while_shapes(
    namespace: Any, *avals: Any, test: Body, body: Body, tested: int, constants: int, limit: int | None
) -> Any:
    return tuple(body.avals)


def _parts_of_while(args: Sequence[Any], params: dict[str, Any]) -> list[list[Any]]:
    return _split(args, params["tested"], params["constants"])


def while_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, size, limit = trace.namespace, trace.size, params["limit"]
    of_test, of_body, init = _parts_of_while(args, params)
    every = (True,) * len(init)
    test, (has_members,) = params["test"].mapped((*map(trace.own, of_test), *every), size)
    body, _ = params["body"].mapped((*map(trace.own, of_body), *every), size, every)
    plain = lambda x: x._value if trace.own(x) else bare(x)
    given_test, given_body = [plain(x) for x in of_test], [plain(x) for x in of_body]
    carry = [trace.lifted(x) for x in init]
    if not has_members:
        found = while_body(namespace, test, body, given_test, given_body, carry, limit)
        return tuple(namespace.array(trace, x) for x in found)

    def goes_on(*carry: Array) -> Array:
        return namespace.any(test.graph.run(*given_test, *carry)[0])

    def step(*carry: Array) -> Arrays:
        active = namespace.wrap(test.graph.run(*given_test, *carry)[0])
        # Members that have ended step on from where they began: a step from where they ended may be undefined.
        safe = [_where(namespace, active, x, first) for x, first in zip(carry, starts(carry))]
        stepped = body.graph.run(*given_body, *safe)
        return tuple(_where(namespace, active, x, y) for x, y in zip(stepped, carry))

    starts = lambda carried: carry
    return tuple(namespace.array(trace, x) for x in while_loop(namespace, goes_on, step, carry, limit))


def _where(namespace: Any, active: Any, x: Any, y: Any) -> Any:
    shape = (*active.shape, *(1,) * (len(x.shape) - 1))
    return bare(namespace.where(namespace.reshape(active, shape), x, y))


def while_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    primals, tangents = trace.split(args)
    of_test, of_body, init = _parts_of_while(primals, params)
    _, t_body, t_init = _parts_of_while(tangents, params)
    body, test = params["body"], params["test"]
    floats = body.floats("outputs")
    has = (*(t is not None for t in t_body), *floats)
    pushed = body.pushed(has)
    along = [zeros(namespace, x) if t is None else t for t, x, each in zip(t_init, init, floats) if each]
    count, inner = len(init), [t for t in t_body if t is not None]

    def step(*carry: Array) -> Arrays:
        return tuple(pushed.graph.run(*of_body, *carry[:count], *inner, *carry[count:]))

    found = while_loop(
        namespace,
        lambda *carry: test.graph.run(*of_test, *carry[:count])[0],
        step,
        [*init, *along],
        params["limit"],
    )
    derivatives = iter(found[count:])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(found[:count], floats))


def _device_of(arrays: Sequence[Any]) -> Any:
    return device_of(arrays[0]) if arrays else None


def while_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Scan over as many steps as the loop takes; where that isn't known, over as many as it may take."""
    namespace, limit = trace.namespace, params["limit"]
    primals = [x._value if trace.own(x) else bare(x) for x in args]
    of_test, of_body, init = _parts_of_while(primals, params)
    test, body = params["test"], params["body"]

    def counted(number: Array, *carry: Array) -> Arrays:
        return (number + 1, *body.graph.run(*of_body, *carry))

    number = while_loop(
        namespace,
        lambda number, *carry: test.graph.run(*of_test, *carry)[0],
        counted,
        [namespace.base.asarray(0, device=_device_of(primals)), *init],
        limit,
    )[0]
    given_test, given_body, given = _parts_of_while(args, params)
    if is_concrete(number):
        step = lambda carry, _: (body.graph.run(*given_body, *carry), ())
        return tuple(map(namespace.wrap, scan(namespace, step, given, [], int(number))[0]))
    if limit is None:
        raise UnsupportedError(
            "while_loop: has no derivative by reverse mode where the number of steps is not known, under `jit` or "
            "`vmap`; give max_iter, or take forward mode (`jvp`, `jacfwd`)"
        )

    def step_or_stay(carry: Arrays, _: Arrays) -> tuple[Any, Any]:
        active = namespace.wrap(test.graph.run(*given_test, *carry)[0])

        def stepped(*carry: Array) -> Arrays:
            # Where all are computed, those that have ended step on from where they began, as in `while_batch`.
            return tuple(body.graph.run(*given_body, *[_where(namespace, active, x, y) for x, y in zip(carry, given)]))

        return tuple(cond(namespace, active, [lambda *x: x, stepped], carry)), ()

    return tuple(map(namespace.wrap, scan(namespace, step_or_stay, given, [], limit)[0]))


# A choice


def cond(namespace: Any, index: Array, functions: Sequence[Callable[..., Any]], operands: Sequence[Array]) -> list[Any]:
    """Call the function of a number, which is one of integers or truth values, with operands."""
    avals = list(map(aval_of, operands))
    made = [closed(namespace, "cond", lambda *x, f=f: (tuple(f(*x)), ()), avals) for f in functions]
    constants = [x for _, found in made for x in found]
    counts = tuple(len(found) for _, found in made)
    return cond_bodies(namespace, index, [body for body, _ in made], counts, [*constants, *operands])


def cond_bodies(
    namespace: Any, index: Any, bodies: Sequence[Body], counts: tuple[int, ...], args: Sequence[Any]
) -> list[Any]:
    """Choose among bodies, each of constants of its own and of operands for all."""
    op = namespace.operation("cond", _run_cond)
    return list(map(bare, bind(op, [index, *args], {"bodies": tuple(bodies), "counts": counts})))


def given_to(number: int, counts: tuple[int, ...], args: Sequence[Any]) -> list[Any]:
    """Return the arguments of one of the bodies."""
    start = sum(counts[:number])
    return [*args[start : start + counts[number]], *args[sum(counts) :]]


def _run_cond(index: Array, *args: Array, bodies: tuple[Body, ...], counts: tuple[int, ...]) -> Arrays:
    branches = [partial(body.program, *given_to(i, counts, args)) for i, body in enumerate(bodies)]
    if bodies[0].graph.namespace.base.isdtype(index.dtype, "bool"):
        return eagerly.cond(index, branches[1], branches[0])
    return eagerly.switch(index, branches)


def cond_shapes(namespace: Any, index: Any, *avals: Any, bodies: tuple[Body, ...], counts: tuple[int, ...]) -> Any:
    return tuple(bodies[0].avals)


def cond_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, bodies, counts = trace.namespace, params["bodies"], params["counts"]
    index, *given = args
    every = (True,) * len(bodies[0].graph.outputs)
    axes = [tuple(map(trace.own, given_to(i, counts, given))) for i in range(len(bodies))]
    mapped = [body.mapped(each, trace.size, every)[0] for body, each in zip(bodies, axes)]
    plain = [x._value if trace.own(x) else bare(x) for x in given]
    if not trace.own(index):
        found = cond_bodies(namespace, bare(index), mapped, counts, plain)
        return tuple(namespace.array(trace, x) for x in found)
    # Members differ: all are computed, and each member takes its own.
    number = namespace.wrap(index._value)
    outs = [body.graph.run(*given_to(i, counts, plain)) for i, body in enumerate(mapped)]
    found = list(outs[0])
    for i, each in enumerate(outs[1:], 1):
        is_it = number if namespace.isdtype(number.dtype, "bool") else number >= i
        found = [_where(namespace, is_it, x, y) for x, y in zip(each, found)]
    return tuple(namespace.array(trace, bare(x)) for x in found)


def cond_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, bodies, counts = trace.namespace, params["bodies"], params["counts"]
    primals, tangents = trace.split(args)
    index, *given = primals
    along = tangents[1:]
    floats = bodies[0].floats("outputs")
    pushed = []
    for i, body in enumerate(bodies):
        has = tuple(t is not None for t in given_to(i, counts, along))
        pushed.append(
            (body.pushed(has), given_to(i, counts, given), [t for t in given_to(i, counts, along) if t is not None])
        )
    functions = [lambda body=body, x=x, t=t: body.graph.run(*x, *t) for body, x, t in pushed]
    found = cond(namespace, index, functions, [])
    derivatives = iter(found[len(floats) :])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(found, floats))


def cond_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Follow the body that is chosen; where that isn't known, choose again among the pullbacks."""
    namespace, bodies, counts = trace.namespace, params["bodies"], params["counts"]
    index = args[0]._value if trace.own(args[0]) else bare(args[0])
    given = list(args[1:])
    if is_concrete(index):
        number = min(max(int(index), 0), len(bodies) - 1)
        return tuple(map(namespace.wrap, bodies[number].graph.run(*given_to(number, counts, given))))
    primals = [x._value if trace.own(x) else bare(x) for x in given]
    nodes = [x._extra if trace.own(x) else None for x in given]
    floats = bodies[0].floats("outputs")
    active = [node is not None for node in nodes]
    followed = [body.followed(tuple(given_to(i, counts, active))) for i, body in enumerate(bodies)]
    outs = cond_bodies(namespace, index, followed, counts, primals)

    def back(*cotangents: Any) -> list[Any]:
        cts = _chosen(cotangents, floats)

        def pull(number: int) -> Callable[[], Any]:
            wanted = tuple(given_to(number, counts, active))
            places = given_to(number, counts, list(range(len(primals))))

            def pulled() -> Any:
                found = list(bodies[number].pulled(wanted).graph.run(*given_to(number, counts, primals), *cts))
                by_place = dict(zip([p for p, each in zip(places, wanted) if each], found))
                return tuple(
                    by_place.get(i) if i in by_place else zeros(namespace, x)
                    for i, x in enumerate(primals)
                    if active[i]
                )

            return pulled

        found = iter(cond(namespace, index, [pull(i) for i in range(len(bodies))], []))
        return [next(found) if each else None for each in active]

    return opaque(
        trace,
        outs,
        [None, *nodes],
        lambda *ct: [None, *back(*ct)],
        lambda *t: _push(namespace, op, [index, *primals], t, params),
    )
