"""Functions with custom derivatives, and checkpointed functions, as operations."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand.extend import LibraryArray as Array

from .._captures import captured
from .._dtypes import plain_sum
from ._batching import Batching, batched_all
from ._bodies import Body, closed
from ._core import Op, Trace, TracedArray, aval_of, bare, bind, is_traced, snapshot, uses_outer
from ._flow import chosen, pulled_back
from ._forward import Forward
from ._reverse import Linearize, opaque
from ._staging import avals_of
from ._tape import Tape

Arrays: TypeAlias = "tuple[Array, ...]"


def _plain(trace: Any, args: Sequence[Any]) -> list[Any]:
    return [trace.plain(x) for x in args]


def _nodes(trace: Linearize, args: Sequence[Any]) -> list[Any]:
    return [x._extra if trace.owns(x) else None for x in args]


def called(
    namespace: Any, name: str, run: Callable[..., Arrays], args: Sequence[Any], params: dict[str, Any]
) -> Arrays:
    """Call a function with rules: as an operation if an array is traced, otherwise directly."""
    if not any(map(namespace.is_transformed, args)):
        return run(*args)
    op = namespace.operation(name, _run)
    return tuple(map(namespace.wrap, bind(op, [snapshot(x) for x in args], {"run": run, **params})))


def _run(*args: Array, run: Callable[..., Arrays], **params: Any) -> Arrays:
    return tuple(map(bare, run(*args)))


def custom_shapes(namespace: Any, *avals: Any, run: Callable[..., Arrays], **rules: Any) -> Any:
    return tuple(avals_of(namespace, avals, run))


def custom_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Trace the function itself, since it is already differentiated, and now transposed."""
    return tuple(map(trace.namespace.wrap, params["run"](*map(trace.namespace.wrap, args))))


def _check(trace: Trace, op: Op, results: Sequence[Any]) -> None:
    """Check that a function did not return captured arrays: none of this level, if it differentiates, or above."""
    tape = getattr(trace, "tape", None)
    lowest = trace.level + isinstance(trace, Batching)
    if any(isinstance(x, TracedArray) and x._trace is not tape and x._trace.level >= lowest for x in results):
        raise uses_outer(op.name)


# A rule for forward mode


def custom_jvp_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    primals, tangents = trace.split(args)
    given = tuple(None if t is None else namespace.wrap(t) for t in tangents)
    outs, derivatives = params["rule"](tuple(map(namespace.wrap, primals)), given)
    _check(trace, op, (*outs, *derivatives))
    return tuple(
        trace.pair(bare(x), bare(t) if namespace.is_floating(x.dtype) else None) for x, t in zip(outs, derivatives)
    )


def custom_jvp_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace = trace.namespace
    primals, nodes = _plain(trace, args), _nodes(trace, args)
    given = tuple(None if node is None else trace.tape.array(node) for node in nodes)
    outs, derivatives = params["rule"](tuple(map(namespace.wrap, primals)), given)
    _check(trace, op, (*outs, *derivatives))
    return tuple(trace.value(bare(x), t) for x, t in zip(outs, derivatives))


def custom_jvp_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    axes = [0 if trace.owns(x) else None for x in args]
    rule = params["rule"]

    def rule_of_batch(primals: Arrays, tangents: Sequence[Array | None]) -> tuple[Arrays, Arrays]:
        def both(*arrays: Array) -> Arrays:
            outs, derivatives = rule(arrays[: len(primals)], _filled(tangents, arrays[len(primals) :]))
            return (*outs, *derivatives)

        chosen = [i for i, t in enumerate(tangents) if t is not None]
        along = [tangents[i] for i in chosen]
        arrays = (*primals, *along)
        found = batched_all(trace.namespace, both, arrays, [*axes, *(axes[i] for i in chosen)], trace.size, trace)
        return found[: len(found) // 2], found[len(found) // 2 :]

    return _batched_call(trace, op, args, axes, params, {"rule": rule_of_batch})


def _filled(arrays: Sequence[Array | None], given: Sequence[Array]) -> tuple[Array | None, ...]:
    """Replace the arrays by others; None stays None."""
    rest = iter(given)
    return tuple(None if x is None else next(rest) for x in arrays)


def _batched_call(
    trace: Batching,
    op: Op,
    args: Sequence[Any],
    axes: Sequence[int | None],
    params: dict[str, Any],
    rules: dict[str, Any],
) -> Any:
    run = lambda *arrays: batched_all(trace.namespace, params["run"], arrays, axes, trace.size, trace)
    found = called(trace.namespace, op.name, run, _plain(trace, args), rules)
    _check(trace, op, found)
    return tuple(trace.namespace.array_type(trace, bare(x)) for x in found)


# A rule for reverse mode


def custom_vjp_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    raise TypeError(
        "custom_vjp: a function with a rule for reverse mode has no derivative by forward mode (jvp, jacfwd, or the "
        "outer derivative of hessian); give it a rule with `custom_jvp`, which works in both modes"
    )


def custom_vjp_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    namespace, backward = trace.namespace, params["backward"]
    primals, nodes = _plain(trace, args), _nodes(trace, args)
    perturbed = tuple(node is not None for node in nodes)
    outs, residuals = params["forward"](perturbed, *map(namespace.wrap, primals))
    _check(trace, op, (*outs, *residuals))

    def back(*cotangents: Any) -> Any:
        given = tuple(None if x is None else namespace.wrap(x) for x in cotangents)
        return backward(perturbed, tuple(map(namespace.wrap, residuals)), given)

    return opaque(trace, [bare(x) for x in outs], nodes, back, None, symbolic_zeros=True)


def custom_vjp_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    axes = [0 if trace.owns(x) else None for x in args]
    forward, backward = params["forward"], params["backward"]

    def forward_of_batch(perturbed: tuple[bool, ...], *arrays: Array) -> tuple[Arrays, Arrays]:
        count = 0

        def both(*arrays: Array) -> Arrays:
            nonlocal count
            outs, residuals = forward(perturbed, *arrays)
            count = len(outs)
            return (*outs, *residuals)

        found = batched_all(trace.namespace, both, arrays, axes, trace.size, trace)
        return found[:count], found[count:]

    def backward_of_batch(
        perturbed: tuple[bool, ...], residuals: Arrays, cotangents: Sequence[Array | None]
    ) -> list[Any]:
        arrays = [*residuals, *(x for x in cotangents if x is not None)]

        def each(*xs: Array) -> list[Any]:
            found = backward(perturbed, xs[: len(residuals)], _filled(cotangents, xs[len(residuals) :]))
            return chosen(found, perturbed)

        found = iter(batched_all(trace.namespace, each, arrays, [0] * len(arrays), trace.size, trace))
        wanted = [next(found) if is_wanted else None for is_wanted in perturbed]
        # Sum the contributions of all lanes to an array that they share.
        return [x if x is None or axis == 0 else plain_sum(trace.namespace, x, axis=0) for x, axis in zip(wanted, axes)]

    return _batched_call(trace, op, args, axes, params, {"forward": forward_of_batch, "backward": backward_of_batch})


# A rule for batches


def custom_vmap_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    wrap = trace.namespace.wrap
    outs, mapped = params["batches"](trace.size, tuple(map(trace.owns, args)), *map(wrap, _plain(trace, args)))
    return tuple(trace.namespace.array_type(trace, bare(x)) if each else bare(x) for x, each in zip(outs, mapped))


def custom_vmap_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    if any(isinstance(x, TracedArray) and isinstance(x._trace, Batching) for x in trace.split(args)[0]):
        raise TypeError(
            "custom_vmap: a function with a rule for batches has no derivative inside the map, in reverse or forward "
            "mode; differentiate the mapped function, `jvp(vmap(f), …)`, or put `custom_jvp` around it"
        )
    return tuple(map(bare, params["run"](*map(trace.namespace.wrap, args))))


def custom_vmap_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    raise TypeError(
        "custom_vmap: a function with a rule for batches has no derivative by reverse mode (grad, vjp, jacrev, "
        "linearize); put `custom_vjp` around it"
    )


# Checkpointed functions


def checkpointed(namespace: Any, function: Callable[..., Arrays], args: Sequence[Any]) -> Arrays:
    """Call a function. Reverse mode saves only its arguments."""
    if not any(map(is_traced, args)):
        bridge = namespace.bridge
        outer = [] if bridge is None else captured(bridge.is_differentiated, function)
        if not outer and not any(map(namespace.is_transformed, args)):
            return tuple(function(*args))
        if not any(map(bridge.is_in_level, (*args, *outer))):
            return tuple(bridge.checkpoint(function, args))
    body, constants = closed(namespace, "checkpoint", lambda *x: (tuple(function(*x)), ()), [aval_of(x) for x in args])
    return tuple(map(namespace.wrap, _again(namespace, body, [*constants, *map(snapshot, args)])))


def _again(namespace: Any, body: Body, args: Sequence[Any]) -> list[Any]:
    return list(map(bare, bind(namespace.operation("checkpoint", _run_body), args, {"body": body})))


def _run_body(*args: Array, body: Body) -> Arrays:
    return body.program(*args)


def checkpoint_depends(on: Sequence[bool], *, body: Body) -> tuple[bool, ...]:
    return body.depends(tuple(on))


def checkpoint_forward(trace: Forward, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body = params["body"]
    primals, tangents = trace.split(args)
    has = tuple(t is not None for t in tangents)
    along = [*primals, *(t for t in tangents if t is not None)]
    found = _again(trace.namespace, body.pushed(has), along)
    floats = body.floats("outputs")
    derivatives = iter(found[len(floats) :])
    return tuple(trace.pair(x, next(derivatives) if each else None) for x, each in zip(found, floats))


def checkpoint_linearize(trace: Linearize, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return pulled_back(trace, op, args, params, _pulled)


def _pulled(
    namespace: Any, primals: list[Any], wanted: tuple[bool, ...], params: dict[str, Any]
) -> tuple[list[Any], Callable[..., list[Any]]]:
    """Return the results, and a pullback that recomputes them."""
    body = params["body"]
    outs = _again(namespace, body.with_rules(wanted), primals)

    def back(*cotangents: Any) -> list[Any]:
        cts = chosen(cotangents, body.floats("outputs"))
        found = iter(_again(namespace, body.pulled(wanted), [*primals, *cts]))
        return [next(found) if each else None for each in wanted]

    return outs, back


def checkpoint_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    body = params["body"]
    mapped, which = body.mapped(tuple(map(trace.owns, args)), trace.size)
    found = _again(trace.namespace, mapped, _plain(trace, args))
    return tuple(trace.namespace.array_type(trace, x) if each else x for x, each in zip(found, which))


def checkpoint_tape(trace: Tape, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    found = params["body"].graph.run(*args)
    return tuple(map(trace.namespace.wrap, found))


def checkpoint_shapes(namespace: Any, *avals: Any, body: Body) -> Any:
    return tuple(body.results(avals))
