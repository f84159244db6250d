"""While-loops as operations. Reverse mode differentiates a scan over the steps."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import UnsupportedError, array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, device_of

from .. import control_flow as control_flow  # has the operations
from .._bounds import index_dtype
from ..autodiff import stop_gradient
from ..control_flow._checkpointed import masked_while
from ._batching import Batching
from ._bodies import Body, Parts, closed, native
from ._core import Op, aval_of, bare, bind
from ._fit import zeros
from ._flow import Arrays, split, where
from ._forward import Forward
from ._graph import Graph
from ._reverse import Linearize
from ._scan import FEW_STEPS, primitives, scan
from ._tape import Tape


def while_loop(
    namespace: Any,
    condition: Callable[..., Any],
    function: Callable[..., Any],
    init: Sequence[Array],
    limit: int | None,
) -> list[Any]:
    """Call `function(*carry)` while `condition(*carry)` is True, and at most `limit` times."""
    avals = list(map(aval_of, init))
    test, of_test = closed(namespace, "while_loop", lambda *carry: ((condition(*carry),), ()), avals)
    body, of_body = closed(namespace, "while_loop", lambda *carry: (tuple(function(*carry)), ()), avals, is_choice=True)
    parts = body.parted(len(of_body), "collective")
    if parts is not None:  # lanes without a step take part in collectives, so their derivatives are not zero
        body, of_body = parts.rest(of_body, parts.before.graph.run(*of_body))
    # Make values that each step passes on unchanged constants of the loop. So `vmap` does not map them.
    inputs = body.graph.inputs[len(of_body) :]
    fixed = [i for i, (x, out) in enumerate(zip(inputs, body.graph.outputs)) if x is out]
    if not fixed or len(fixed) == len(inputs):
        return while_body(namespace, test, body, of_test, of_body, init, limit)
    constants = [init[i] for i in fixed]
    carried = [x for i, x in enumerate(init) if i not in fixed]
    test = _with_constants(test, len(of_test), fixed, test.graph.outputs)
    changing = [x for i, x in enumerate(body.graph.outputs) if i not in fixed]
    body = _with_constants(body, len(of_body), fixed, changing)
    of_test, of_body = [*of_test, *constants], [*of_body, *constants]
    found = iter(while_body(namespace, test, body, of_test, of_body, carried, limit))
    return [bare(x) if i in fixed else next(found) for i, x in enumerate(init)]


def _with_constants(body: Body, count: int, fixed: Sequence[int], outputs: Sequence[Any]) -> Body:
    """Convert arrays of the carry at some positions to constants, after the first `count` inputs."""
    graph = body.graph
    carried = graph.inputs[count:]
    inputs = [*graph.inputs[:count], *(carried[i] for i in fixed)]
    inputs += [x for i, x in enumerate(carried) if i not in fixed]
    return Body(Graph(graph.namespace, inputs, graph.constants, graph.equations, outputs))


def while_body(
    namespace: Any,
    test: Body,
    body: Body,
    of_test: Sequence[Any],
    of_body: Sequence[Any],
    init: Sequence[Any],
    limit: int | None,
) -> list[Any]:
    """Loop with bodies that take constants and the carry."""
    op = namespace.operation("while_loop", _run_while)
    params = {"test": test, "body": body, "tested": len(of_test), "constants": len(of_body), "limit": limit}
    return list(map(bare, bind(op, [*of_test, *of_body, *init], params)))


def _run_while(*args: Array, test: Body, body: Body, tested: int, constants: int, limit: int | None) -> Arrays:
    of_test, of_body, carry = split(args, tested, constants)
    holds = test.program
    parts = body.parted(constants)
    if parts is not None:  # this part depends only on constants: compute it once, if there is a step
        running = holds(*of_test, *carry)[0]
        if limit == 0 or (is_concrete(running) and not bool(running)):
            return tuple(carry)
        body, of_body = parts.rest(of_body, parts.before.program(*of_body))
    step = body.program
    condition = lambda *carry: holds(*of_test, *carry)[0]
    loop = native(body, "while_loop")
    found: Arrays = loop(condition, lambda *carry: step(*of_body, *carry), tuple(carry), max_iter=limit)
    return found


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
    """Return whether the number of steps depends on some of the arguments."""
    return any(params["test"].depends((*on[: params["tested"]], *_at_last(on, params))))


def while_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, size, limit = trace.namespace, trace.size, params["limit"]
    of_test, of_body, init = _parts_of_while(args, params)
    if limit == 0:
        return tuple(init)
    given_test, given_body = [trace.plain(x) for x in of_test], [trace.plain(x) for x in of_body]
    own_axes = (*map(trace.owns, of_body), *map(trace.owns, init))
    body, which = params["body"].mapped_loop(own_axes, size, len(of_body), len(init))
    test, (has_lanes,) = params["test"].mapped((*map(trace.owns, of_test), *which), size)
    if not has_lanes:
        first = [trace.lifted(x) if each else trace.plain(x) for x, each in zip(init, which)]
        found = while_body(namespace, test, body, given_test, given_body, first, limit)
        return tuple(namespace.array_type(trace, x) if each else x for x, each in zip(found, which))

    every = (True,) * len(init)
    test, _ = params["test"].mapped((*map(trace.owns, of_test), *every), size)
    body, _ = params["body"].mapped((*map(trace.owns, of_body), *every), size, every)
    first = [trace.lifted(x) for x in init]
    is_collective = params["body"].applies("collective")
    safe_init = first

    def tested(carry: Sequence[Any]) -> Array:
        return namespace.wrap(test.graph.run(*given_test, *carry)[0])

    active = tested(first)
    if not is_collective and size:
        # Finished lanes step from their initial carry, since a step from their last carry may be undefined. Lanes
        # without a step use the initial carry of an active lane. With collectives, the carry is used unchanged.
        if is_concrete(active) and not bool(namespace.any(active)):
            return tuple(namespace.array_type(trace, x) for x in first)
        own = [i for i, x in enumerate(of_body) if trace.owns(x)]
        given = [active, *(given_body[i] for i in own), *first]
        safe_ones = list(map(bare, bind(namespace.operation("safe_values", _safe_values), given, {})))
        for i, x in zip(own, safe_ones):
            given_body[i] = x
        safe_init = [bare(stop_gradient(namespace.wrap(x))) for x in safe_ones[len(own) :]]

    def step(active: Any, *carry: Array) -> Arrays:
        active = namespace.wrap(active)
        safe = carry if is_collective else [where(namespace, active, x, y) for x, y in zip(carry, safe_init)]
        stepped = body.graph.run(*given_body, *safe)
        found = tuple(where(namespace, active, x, y) for x, y in zip(stepped, carry))
        return bare(tested(found)), *found

    # The loop carries which lanes are active, so the condition is computed once for each step.
    running = lambda active, *carry: namespace.any(namespace.wrap(active))
    found = while_loop(namespace, running, step, [bare(active), *first], limit)[1:]
    return tuple(namespace.array_type(trace, x) for x in found)


def _safe_values(active: Array, *arrays: Array) -> Arrays:
    """Return `safe_values` of the arrays, or the arrays if all lanes are active or no lane is."""
    if is_concrete(active):
        xp = array_namespace(active)
        if bool(xp.all(active)) or not bool(xp.any(active)):
            return arrays
    return safe_values(array_namespace(active), active, *arrays)


def safe_values(xp: Any, active: Any, *arrays: Any) -> Arrays:
    """Replace the values of inactive lanes by those of an active lane, as constants."""
    some = xp.reshape(xp.argmax(xp.astype(active, xp.uint8)), (1,))
    others = [stop_gradient(xp.take(x, some, axis=0)) for x in arrays]
    return tuple(where(xp, active, x, y) for x, y in zip(arrays, others))


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
        namespace, lambda *carry: test.graph.run(*of_test, *carry[:count])[0], step, [*init, *along], params["limit"]
    )
    derivatives = iter(found[count:])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(found[:count], floats))


def while_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    values = [trace.plain(x) for x in args]
    if not any(map(trace.owns, args[params["tested"] :])):  # only the number of steps depends on traced arrays
        return bind(op, values, params)
    parts = params["body"].parted(params["constants"])
    if parts is not None:
        rest = _computed(namespace, args, values, params, parts)
        if rest is None:
            return tuple(_parts_of_while(args, params)[2])
        args, params = rest
        values = [trace.plain(x) for x in args]
    return _counted(namespace, args, values, params)


def _computed(
    namespace: Any, args: Sequence[Any], values: Sequence[Any], params: dict[str, Any], parts: Parts
) -> tuple[list[Any], dict[str, Any]] | None:
    """Compute the part of the body that depends only on constants. It has no derivative if no step is taken.

    Returns:
        Arguments and parameters of the remaining loop, or None if it is known to take no step.
    """
    of_test, of_body, init = _parts_of_while(args, params)
    given_test, _, given = _parts_of_while(values, params)
    running = namespace.wrap(params["test"].graph.run(*given_test, *given)[0])
    is_known = is_concrete(running)
    if params["limit"] == 0 or (is_known and not bool(running)):
        return None
    masked = namespace.operation("gradient_if", _gradient_if)
    safe = [x if is_known or not namespace.is_floating(x.dtype) else bind(masked, (x, running), {}) for x in of_body]
    body, of_body = parts.rest(of_body, parts.before.graph.run(*map(bare, safe)))
    return [*of_test, *of_body, *init], {**params, "body": body, "constants": len(of_body)}


def _gradient_if(x: Array, active: Array) -> Array:
    """Return the array. Its derivative is exactly zero where `active` is False, even if later factors are infinite."""
    return x


def gradient_if_along(namespace: Any, t: Any, out: Any, x: Any, active: Any) -> Any:
    active = namespace.reshape(active, (*active.shape, *(1,) * (x.ndim - active.ndim)))
    return namespace.where(active, t, namespace.zeros_like(t))


def gradient_if_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Batch the operation. An array that all lanes share is differentiated if any lane is active."""
    namespace = trace.namespace
    x, active = map(trace.plain, args)
    if trace.owns(args[0]):
        return namespace.array_type(trace, bare(bind(op, (x, trace.lifted(args[1]) if active.shape else active), {})))
    return bind(op, (x, namespace.any(namespace.wrap(active), axis=0)), {})


def while_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    values, nodes = trace.at_zero(args)
    if _is_tested([node is not None for node in nodes], params):
        raise trace.nonlinear(op)
    return _counted(namespace, args, values, params)


def _counted(namespace: Any, args: Sequence[Any], values: Sequence[Any], params: dict[str, Any]) -> Any:
    """Scan over the steps of the loop. If their number is unknown, scan over the largest possible number.

    If lanes use collectives, all lanes take all steps.
    """
    limit, test, body = params["limit"], params["test"], params["body"]
    of_test, of_body, init = _parts_of_while(values, params)
    _, given_body, given = _parts_of_while(args, params)

    def condition(*carry: Array) -> Array:  # it has no derivative
        found: Array = namespace.wrap(test.graph.run(*of_test, *carry)[0])
        return found

    def step(*carry: Array) -> Arrays:
        return wrapped(body.graph.run(*given_body, *carry))

    def wrapped(arrays: Sequence[Any]) -> Arrays:
        return tuple(map(namespace.wrap, arrays))

    def counted(number: Array, *carry: Array) -> Arrays:
        return (number + 1, *body.graph.run(*of_body, *carry))

    base, device = namespace.base, device_of(values[0]) if values else None
    zero = base.zeros((), dtype=index_dtype(base, device), device=device)
    number = while_loop(namespace, lambda _, *carry: condition(*carry), counted, [zero, *init], limit)[0]
    if is_concrete(number):
        if not int(number):  # the functions aren't called, so captured arrays have no derivative
            return wrapped(given)
        return wrapped(scan(namespace, lambda carry, _: (step(*carry), ()), given, [], int(number))[0])
    if limit is None:
        raise UnsupportedError(
            "while_loop: has no derivative by reverse mode if the number of steps is not known, under `jit` or "
            "`vmap`; give max_iter, or use forward mode (`jvp`, `jacfwd`)"
        )
    library = primitives(namespace, skips=limit >= FEW_STEPS)
    is_collective = body.applies("collective")
    if is_collective or test.applies("collective"):
        library = library._replace(few_steps=limit + 1, skips_steps=False)
    safe = None if is_collective else wrapped(init)
    return masked_while(library, condition, step, wrapped(given), safe, limit)
