"""Choices among functions as operations."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xpand import is_concrete
from xpand.extend import Array

from .. import control_flow as control_flow  # has the operations
from ._batching import Batching
from ._bodies import Body, closed, native
from ._core import Op, TracedArray, aval_of, bare, bind
from ._fit import zeros
from ._flow import Arrays, chosen, pulled_back, where
from ._forward import Forward
from ._graph import Variable
from ._reverse import Linearize
from ._tape import Tape


def cond(
    namespace: Any,
    index: Array,
    functions: Sequence[Callable[..., Any]],
    operands: Sequence[Array],
    skips: bool = False,
) -> list[Any]:
    """Call the function with number `index`, an integer or a boolean, with operands.

    `skips`: the second of two functions is skipped if it isn't chosen, also if all lanes of a batch choose the first.
    """
    avals = list(map(aval_of, operands))
    made = [closed(namespace, "cond", lambda *x, f=f: (tuple(f(*x)), ()), avals, is_choice=True) for f in functions]
    constants = [x for _, found in made for x in found]
    counts = tuple(len(found) for _, found in made)
    bodies, given = [body for body, _ in made], [*constants, *operands]
    found = cond_bodies(namespace, index, bodies, counts, given, skips)
    return [x if own is None else bare(own) for x, own in zip(found, _passed_through(bodies, counts, given))]


def _passed_through(bodies: Sequence[Body], counts: tuple[int, ...], given: Sequence[Any]) -> list[Any]:
    """Return, for each result, the argument or constant that all bodies return unchanged, or None."""

    def content(x: Any) -> Any:
        return (id(x._trace), id(x._value), id(x._extra)) if isinstance(x, TracedArray) else id(x)

    returned: list[list[Any]] = []
    for i, body in enumerate(bodies):
        known = {**body.graph.constants, **dict(zip(body.graph.inputs, given_to(i, counts, given)))}
        returned.append([known.get(x) if isinstance(x, Variable) else None for x in body.graph.outputs])
    return [xs[0] if len({content(bare(x)) for x in xs}) == 1 else None for xs in zip(*returned)]


def cond_bodies(
    namespace: Any, index: Any, bodies: Sequence[Body], counts: tuple[int, ...], args: Sequence[Any], skips: bool
) -> list[Any]:
    """Choose among bodies. Each body has its own constants; all have the same operands."""
    op = namespace.operation("cond", _run_cond)
    return list(map(bare, bind(op, [index, *args], {"bodies": tuple(bodies), "counts": counts, "skips": skips})))


def given_to(number: int, counts: tuple[int, ...], args: Sequence[Any]) -> list[Any]:
    """Return the arguments of one of the bodies."""
    start = sum(counts[:number])
    return [*args[start : start + counts[number]], *args[sum(counts) :]]


def _run_cond(index: Array, *args: Array, bodies: tuple[Body, ...], counts: tuple[int, ...], skips: bool) -> Arrays:
    branches = [partial(body.program, *given_to(i, counts, args)) for i, body in enumerate(bodies)]
    if bodies[0].graph.namespace.base.isdtype(index.dtype, "bool"):
        found: Arrays = native(bodies[0], "cond")(index, branches[1], branches[0])
    else:
        found = native(bodies[0], "switch")(index, branches)
    return found


def cond_shapes(
    namespace: Any, index: Any, *avals: Any, bodies: tuple[Body, ...], counts: tuple[int, ...], skips: bool
) -> Any:
    if len(counts) != len(bodies) or tuple(index.shape) != ():
        raise ValueError(f"one number, and {len(bodies)} counts, got the shape {tuple(index.shape)} and {counts}")
    found = [body.results(given_to(i, counts, avals)) for i, body in enumerate(bodies)]
    return tuple(found[0])


def cond_depends(
    on: Sequence[bool], *, bodies: tuple[Body, ...], counts: tuple[int, ...], skips: bool
) -> tuple[bool, ...]:
    found = [body.depends(tuple(given_to(i, counts, on[1:]))) for i, body in enumerate(bodies)]
    return tuple(on[0] or any(each) for each in zip(*found))


def cond_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, bodies, counts, skips = trace.namespace, params["bodies"], params["counts"], params["skips"]
    index, *given = args
    axes = tuple(map(trace.owns, given))
    values = [trace.plain(x) for x in given]

    def mapped(i: int, wanted: tuple[bool, ...] | None) -> tuple[Body, tuple[bool, ...]]:
        found: tuple[Body, tuple[bool, ...]] = bodies[i].mapped(tuple(given_to(i, counts, axes)), trace.size, wanted)
        return found

    if not trace.owns(index):
        depend = tuple(map(any, zip(*[mapped(i, None)[1] for i in range(len(bodies))])))
        over = [mapped(i, depend)[0] for i in range(len(bodies))]
        outs = cond_bodies(namespace, bare(index), over, counts, values, skips)
        return tuple(namespace.array_type(trace, bare(x)) if each else bare(x) for x, each in zip(outs, depend))
    every = (True,) * len(bodies[0].graph.outputs)
    if skips:
        # All lanes compute the body if one lane needs it.
        some = namespace.any(namespace.wrap(index._value))
        first = lambda _, *x: tuple(mapped(0, every)[0].graph.run(*given_to(0, counts, x)))
        each = lambda number, *x: tuple(_of_each(trace, number, x, axes, params))
        found = cond(namespace, some, [first, each], [index._value, *values], skips)
    else:
        found = _of_each(trace, index._value, values, axes, params)
    return tuple(namespace.array_type(trace, bare(x)) for x in found)


def _of_each(
    trace: Batching, number: Any, given: Sequence[Any], axes: Sequence[bool], params: dict[str, Any]
) -> list[Any]:
    """Choose for each lane: compute all bodies, and select the lane's result."""
    namespace, bodies, counts = trace.namespace, params["bodies"], params["counts"]
    every = (True,) * len(bodies[0].graph.outputs)
    number = namespace.wrap(number)
    is_bool = namespace.isdtype(number.dtype, "bool")
    found: list[Any] = []
    for i, body in enumerate(bodies):
        is_mine = _is_chosen(number, i, len(bodies), is_bool)
        pairs = zip(given_to(i, counts, given), given_to(i, counts, axes))
        mine = [_of_chosen(trace, is_mine, x, has_axis) for x, has_axis in pairs]
        outs = body.mapped(tuple(has_axis for _, has_axis in mine), trace.size, every)[0].graph.run(
            *[x for x, _ in mine]
        )
        found = [where(namespace, is_mine, x, y) for x, y in zip(outs, found)] if i else list(outs)
    return found


def _is_chosen(number: Any, i: int, count: int, is_bool: bool) -> Any:
    """Return which lanes choose body `i`. Numbers outside the range mean the first or the last body."""
    if is_bool:
        return number if i else ~number
    if i == 0:
        return number <= 0
    return number >= i if i == count - 1 else number == i


def _of_chosen(trace: Batching, is_mine: Any, value: Any, has_axis: bool) -> tuple[Any, bool]:
    """Return an argument for a body, without gradients in lanes that choose another body, and whether it has the axis.

    Derivatives of a body that is not chosen may be NaN, so they must not reach the arguments.
    """
    namespace = trace.namespace
    if not namespace.is_floating(value.dtype) or not isinstance(value, TracedArray):
        return value, has_axis
    wide: Any = value if has_axis else trace.lifted(value)
    return where(namespace, is_mine, wide, bind(namespace.operations["stop_gradient"], (wide,), {})), True


def cond_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, bodies, counts = trace.namespace, params["bodies"], params["counts"]
    primals, tangents = trace.split(args)
    index, *given = primals
    along = tangents[1:]
    floats = bodies[0].floats("outputs")

    def pushed(i: int) -> Callable[..., Any]:
        body = bodies[i].pushed(tuple(t is not None for t in given_to(i, counts, along)))

        def push_body(*operands: Array) -> Any:
            rest = iter(operands[len(given) :])
            directions = [None if t is None else next(rest) for t in along]
            own = [t for t in given_to(i, counts, directions) if t is not None]
            return body.graph.run(*given_to(i, counts, operands[: len(given)]), *own)

        return push_body

    # Pass all arrays as operands. Operations on captured arrays would always run, also in branches that aren't chosen.
    operands = [*given, *[t for t in along if t is not None]]
    found = cond(namespace, index, [pushed(i) for i in range(len(bodies))], operands, params["skips"])
    derivatives = iter(found[len(floats) :])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(found, floats))


def cond_linearize(trace: Linearize | Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Trace the chosen body. If the choice is abstract, the pullback chooses again."""
    if isinstance(trace, Tape) and trace.owns(args[0]):
        raise trace.nonlinear(op)
    index, bodies, counts = trace.plain(args[0]), params["bodies"], params["counts"]
    if not is_concrete(index):
        return pulled_back(trace, op, [index, *args[1:]], params, _pulled)
    number = min(max(int(index), 0), len(bodies) - 1)
    return tuple(map(trace.namespace.wrap, bodies[number].graph.run(*given_to(number, counts, args[1:]))))


cond_tape = cond_linearize


def _pulled(
    namespace: Any, given: Sequence[Any], differentiated: Sequence[bool], params: dict[str, Any]
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Return the results of the chosen body and the pullback, which chooses again."""
    bodies, counts = params["bodies"], params["counts"]
    (index, *primals), active = given, differentiated[1:]
    floats = bodies[0].floats("outputs")
    with_rules = [body.with_rules(tuple(given_to(i, counts, active))) for i, body in enumerate(bodies)]
    outs = cond_bodies(namespace, index, with_rules, counts, primals, params["skips"])

    def back(*cotangents: Any) -> list[Any]:
        cts = chosen(cotangents, floats)

        def pull(number: int) -> Callable[..., Any]:
            wanted = tuple(given_to(number, counts, active))
            positions = given_to(number, counts, list(range(len(primals))))
            body = bodies[number].pulled(wanted)

            def pulled(*operands: Array) -> Any:
                values = operands[: len(primals)]
                found = body.graph.run(*given_to(number, counts, values), *operands[len(primals) :])
                by_position = dict(zip([p for p, each in zip(positions, wanted) if each], found))
                return tuple(
                    by_position[i] if i in by_position else zeros(namespace, x)
                    for i, x in enumerate(values)
                    if active[i]
                )

            return pulled

        found = iter(cond(namespace, index, [pull(i) for i in range(len(bodies))], [*primals, *cts], params["skips"]))
        return [next(found) if each else None for each in differentiated]

    return outs, back
