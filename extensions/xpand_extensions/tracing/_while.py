"""Loops that end by a condition as operations; reverse mode is that of a scan over their steps."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import is_concrete
from xpand._arguments import device_of
from xpand._errors import UnsupportedError
from xpand._typing import Array

from .._bounds import index_dtype
from ..generic import control_flow as eagerly
from ._batching import Batching
from ._bodies import Body, body_of, closed
from ._core import Op, aval_of, bare, bind
from ._fit import zeros
from ._flow import Arrays, push, split, where
from ._forward import Forward
from ._reverse import Linearize, opaque
from ._scan import scan, scanned
from ._tape import Tape, recorded


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
    of_test, of_body, carry = split(args, tested, constants)
    holds, step = test.program, body.program
    condition = lambda *carry: holds(*of_test, *carry)[0]
    return eagerly.while_loop(condition, lambda *carry: step(*of_body, *carry), tuple(carry), max_iter=limit)


def while_shapes(
    namespace: Any, *avals: Any, test: Body, body: Body, tested: int, constants: int, limit: int | None
) -> Any:
    of_test, of_body, init = split(avals, tested, constants)
    test.results([*of_test, *init])
    return tuple(body.results([*of_body, *init]))


def _parts_of_while(args: Sequence[Any], params: dict[str, Any]) -> list[list[Any]]:
    return split(args, params["tested"], params["constants"])


def while_depends(on: Sequence[bool], **params: Any) -> tuple[bool, ...]:
    return tuple(_is_tested(on, params) or each for each in _at_last(on, params))


def _at_last(on: Sequence[bool], params: dict[str, Any]) -> tuple[bool, ...]:
    _, of_body, init = _parts_of_while(on, params)
    found: tuple[bool, ...] = params["body"].depends_at_last((*of_body, *init), len(of_body), len(init))
    return found


def _is_tested(on: Sequence[bool], params: dict[str, Any]) -> bool:
    """Tell whether the number of steps depends on some of the arguments."""
    return any(params["test"].depends((*on[: params["tested"]], *_at_last(on, params))))


def while_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, size, limit = trace.namespace, trace.size, params["limit"]
    of_test, of_body, init = _parts_of_while(args, params)
    every = (True,) * len(init)
    test, (has_members,) = params["test"].mapped((*map(trace.own, of_test), *every), size)
    body, _ = params["body"].mapped((*map(trace.own, of_body), *every), size, every)
    given_test, given_body = [trace.plain(x) for x in of_test], [trace.plain(x) for x in of_body]
    first = [trace.lifted(x) for x in init]
    if not has_members:
        found = while_body(namespace, test, body, given_test, given_body, first, limit)
        return tuple(namespace.array(trace, x) for x in found)

    asks = _asks_others(params["body"])
    begins = namespace.wrap(test.graph.run(*given_test, *first)[0])
    meant = [_of_begun(trace, begins, x) if trace.own(y) else x for x, y in zip(given_body, of_body)]
    start = [_of_begun(trace, begins, x) for x in first]

    def goes_on(*carry: Array) -> Array:
        return namespace.any(test.graph.run(*given_test, *carry)[0])

    def step(*carry: Array) -> Arrays:
        active = namespace.wrap(test.graph.run(*given_test, *carry)[0])
        # Members that have ended step on from where they began, or where another did if they never have: a step from
        # where they ended may be undefined. It is taken as it is where others may ask for it.
        safe = carry if asks else [where(namespace, active, x, y) for x, y in zip(carry, start)]
        stepped = body.graph.run(*(given_body if asks else meant), *safe)
        return tuple(where(namespace, active, x, y) for x, y in zip(stepped, carry))

    return tuple(namespace.array(trace, x) for x in while_loop(namespace, goes_on, step, first, limit))


def _of_begun(trace: Batching, begins: Any, x: Any) -> Any:
    """Give members that take no step the value of one that takes some, so that their derivatives aren't NaN."""
    namespace = trace.namespace
    some = namespace.take(x, namespace.argmax(namespace.astype(begins, namespace.uint8), keepdims=True), axis=0)
    if namespace.is_floating(x.dtype):
        some = bind(namespace.operations["stop_gradient"], (some,), {})
    return where(namespace, begins, x, some)


def _asks_others(body: Body) -> bool:
    """Tell whether members along an axis do something together in a body."""
    for equation in body.graph.equations:
        parts = [
            x for value in equation.params.values() for x in (value if isinstance(value, (tuple, list)) else [value])
        ]
        if equation.op.name == "collective" or any(_asks_others(x) for x in parts if isinstance(x, Body)):
            return True
    return False


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
    namespace = trace.namespace
    values = [trace.plain(x) for x in args]
    if not any(map(trace.own, args[params["tested"] :])):  # only how many steps there are depends on what is followed
        return bind(op, values, params)
    found = _counted(namespace, args, values, params)
    if found is None:
        nodes = [x._extra if trace.own(x) else None for x in args]
        outs, back = _bounded(namespace, values, [node is not None for node in nodes], params)
        found = opaque(trace, outs, nodes, back, lambda *t: push(namespace, op, values, t, params))
    return found


def while_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    values, nodes = trace.at_zero(args)
    active = [node is not None for node in nodes]
    if _is_tested(active, params):
        raise trace.nonlinear(op)
    found = _counted(namespace, args, values, params)
    if found is None:
        outs, back = _bounded(namespace, values, active, params)
        forth = lambda *t: push(namespace, op, values, t, params)
        found = recorded(trace, op, outs, while_depends(active, **params), nodes, back, forth)
    return found


def _counted(namespace: Any, args: Sequence[Any], values: Sequence[Any], params: dict[str, Any]) -> Any:
    """Scan over as many steps as the loop takes; return None where that isn't known, but how many it may take.

    Where members ask others, all of them take all these steps.
    """
    limit = params["limit"]
    of_test, of_body, init = _parts_of_while(values, params)
    test, body = params["test"], params["body"]

    def counted(number: Array, *carry: Array) -> Arrays:
        return (number + 1, *body.graph.run(*of_body, *carry))

    device = _device_of(values)
    number = while_loop(
        namespace,
        lambda number, *carry: test.graph.run(*of_test, *carry)[0],
        counted,
        [namespace.base.zeros((), dtype=index_dtype(namespace.base, device), device=device), *init],
        limit,
    )[0]
    given_test, given_body, given = _parts_of_while(args, params)
    if is_concrete(number):
        if not int(number):  # the functions aren't called: what they do with arrays from around them has no part
            return tuple(map(namespace.wrap, given))
        step = lambda carry, _: (body.graph.run(*given_body, *carry), ())
        return tuple(map(namespace.wrap, scan(namespace, step, given, [], int(number))[0]))
    if limit is None:
        raise UnsupportedError(
            "while_loop: has no derivative by reverse mode where the number of steps is not known, under `jit` or "
            "`vmap`; give max_iter, or take forward mode (`jvp`, `jacfwd`)"
        )
    asks = _asks_others(body)
    if not asks and not _asks_others(test):
        return None

    def step_or_stay(carry: Arrays, _: Arrays) -> tuple[Any, Any]:
        active = namespace.wrap(test.graph.run(*given_test, *carry)[0])
        # As in `while_batch`; with no part in the derivative of what members get that have ended.
        safe = carry if asks else [where(namespace, active, x, y) for x, y in zip(carry, init)]
        found = body.graph.run(*given_body, *safe)
        return tuple([where(namespace, active, x, y) for x, y in zip(found, carry)]), ()

    return tuple(map(namespace.wrap, scan(namespace, step_or_stay, given, [], limit)[0]))


def _bounded(
    namespace: Any, values: Sequence[Any], active: Sequence[bool], params: dict[str, Any]
) -> tuple[list[Any], Callable[..., Any]]:
    """Scan over as many steps as the loop may take, which do nothing after its end; return the results, the pullback.

    What is carried begins with whether to go on.
    """
    test, body, tested, constants = params["test"], params["body"], params["tested"], params["constants"]
    of_test, of_body, init = _parts_of_while(values, params)

    def stepped(*arrays: Array) -> tuple[Any, Any]:
        for_test, for_body, first, (goes_on, *carry) = split(arrays, tested, constants, len(init))
        # Where all are computed, those that have ended step on from where they began, as in `while_batch`.
        new = body.graph.run(*for_body, *[where(namespace, goes_on, x, y) for x, y in zip(carry, first)])
        return (*test.graph.run(*for_test, *new), *new), ()

    goes_on = bare(test.graph.run(*of_test, *init)[0])
    given = [*of_test, *of_body, *init, goes_on, *init]
    fixed = tested + constants + len(init)
    made = body.made(("bounded", test), lambda: body_of(namespace, stepped, list(map(aval_of, given))))
    of_scan = {"body": made, "constants": fixed, "carry": 1 + len(init), "length": params["limit"]}
    followed = [*(False,) * tested, *active[tested : tested + constants], *(False,) * (len(init) + 1)]
    outs, back = scanned(namespace, given, [*followed, *active[tested + constants :]], of_scan, ends=True)

    def pulled(*cotangents: Any) -> list[Any]:
        cts = back(None, *cotangents)
        return [*cts[: tested + constants], *cts[fixed + 1 :]]

    return outs[1:], pulled
