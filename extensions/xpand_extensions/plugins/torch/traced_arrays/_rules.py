"""The operation that is one call of PyTorch, and its rules."""

from collections.abc import Sequence
from itertools import compress
from typing import Any, Final

import torch

from xpand.torch import _private as private
from xpand_extensions.tracing._core import Aval, NonlinearError, Op, TracedArray, TracedError, aval_of, bare, bind
from xpand_extensions.tracing._flow import pulled_back
from xpand_extensions.tracing._reverse import opaque

from .._gradients import is_floating
from ._calls import Mapped, Pull, Push, Seeded, repeated
from ._generators import evaluated
from ._segments import Across, Along, graphed


def _run(*xs: torch.Tensor, call: Any) -> tuple[torch.Tensor, ...]:
    return evaluated(call, *xs)


def _program(*xs: torch.Tensor, call: Any) -> tuple[torch.Tensor, ...]:
    results: tuple[torch.Tensor, ...] = call(*xs)
    return results


def _pulled(namespace: Any, call: Any, primals: Sequence[Any], wanted: Sequence[bool], cotangents: Any) -> list[Any]:
    """Return the cotangents of all arguments, None for those that aren't wanted. The call has been evaluated before."""
    again, state = repeated(call)
    chosen = (*[False] * len(state), *wanted)
    gradients = bind(operation(namespace), [*state, *primals, *cotangents], {"call": Pull(again, chosen)})
    rest = iter(map(bare, gradients))
    return [next(rest) if is_wanted else None for is_wanted in wanted]


def _linearize(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    call = params["call"]
    nodes, primals = trace.taken_apart(args)
    results = None if private.are_levels_active() else graphed(trace, call, args, nodes, primals)
    if results is not None:
        return results
    wanted = tuple(node is not None and is_floating(x) for node, x in zip(nodes, primals))
    nodes = [node if is_wanted else None for node, is_wanted in zip(nodes, wanted)]
    call.watched = True
    outs = tuple(map(bare, bind(op, primals, params)))
    floating = [is_floating(x) for x in outs]

    def back(*cotangents: Any) -> Any:
        return _pulled(trace.namespace, call, primals, wanted, compress(cotangents, floating))

    def push(*tangents: Any) -> Any:
        has_tangent = tuple(t is not None and is_wanted for t, is_wanted in zip(tangents, wanted))
        again, state = repeated(call)
        pushed = Push(again, (*[False] * len(state), *has_tangent))
        arrays = [*state, *primals, *compress(tangents, has_tangent)]
        moved = iter(list(bind(operation(trace.namespace), arrays, {"call": pushed}))[len(outs) :])
        return [bare(next(moved)) if each else None for each in floating]

    return opaque(trace, outs, nodes, back, push)


def _forward(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    primals, tangents = trace.split(args)
    has_tangent = tuple(t is not None and is_floating(x) for x, t in zip(primals, tangents))
    pushed = Push(params["call"], has_tangent)
    arrays = list(map(bare, bind(op, [*primals, *compress(tangents, has_tangent)], {"call": pushed})))
    params["call"].state = pushed.state
    count = (len(arrays) + sum(not is_floating(x) for x in arrays)) // 2
    moved = iter(arrays[count:])
    return tuple(trace.pair(x, next(moved) if is_floating(x) else None) for x in arrays[:count])


def _batch(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    mapped = tuple(map(trace.owns, args))
    values = [x._value if each else bare(x) for x, each in zip(args, mapped)]
    over = Mapped(params["call"], mapped)
    try:
        results = bind(op, values, {"call": over})
    except (RuntimeError, NotImplementedError) as error:
        raise _for_lanes(params["call"], error) from error
    params["call"].state = over.state
    return tuple(trace.namespace.array_type(trace, bare(x)) for x in results)


def _for_lanes(call: Any, error: Exception) -> Exception:
    """Say what to write in place of a function that PyTorch can't apply to all lanes of a map."""
    message = str(error)
    if any(each in message for each in ("in-place arithmetic", "inplace", "in place")):
        fix = "it writes to an array that all lanes share, such as a running mean: make this an argument with lanes"
    elif "dynamic" in message or "data-dependent" in message or ".item()" in message:
        fix = "the shape or the branch depends on values, which differ between lanes: use `where` or a fixed size"
    else:
        return error
    return TracedError(f"vmap of torch's {call.name}: {fix}; PyTorch says: {message.splitlines()[0]}")


def _tape(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    call = params["call"]
    active = [trace.owns(x) for x in args]
    if not _is_linear(call, [x._value if each else bare(x) for x, each in zip(args, active)], active):
        raise NonlinearError(
            f"{trace.what}: torch's {call.name} is not linear in the arrays in which the function must be linear"
        )

    def pulled(namespace: Any, primals: Any, active: tuple[bool, ...], params: dict[str, Any]) -> Any:
        call.watched = True
        outs = tuple(map(bare, bind(op, primals, params)))
        call.count = len(outs)
        floating = [is_floating(x) for x in outs]

        def back(*cotangents: Any) -> Any:
            return _pulled(namespace, call, primals, active, compress(cotangents, floating))

        return outs, back

    return pulled_back(trace, op, args, params, pulled)


def _is_linear(call: Any, args: Sequence[Any], active: Sequence[bool]) -> bool:
    """Return whether a call is linear in some arguments at random points. Those without values are random, too."""
    if isinstance(call, (Along, Across)):
        return True
    generator = torch.Generator().manual_seed(0)

    def random(x: Any) -> torch.Tensor:
        shape, device = tuple(x.shape), x.device or "cpu"
        if not is_floating(x):
            return torch.zeros(shape, dtype=x.dtype, device=device)
        return torch.randn(shape, generator=generator, dtype=x.dtype).to(device)

    fixed = [random(x) if each or isinstance(x, (TracedArray, Aval)) else x for x, each in zip(args, active)]
    other = [random(x) if each else x for x, each in zip(fixed, active)]
    again, _ = repeated(call)

    def at(of: Any) -> Any:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.default_generator.manual_seed(0)
            return again(*[of(x, y) if each else x for x, y, each in zip(fixed, other, active)])

    xs, ys, sums = at(lambda x, y: x), at(lambda x, y: y), at(lambda x, y: x - 2 * y)
    return all(
        x.shape == z.shape and is_floating(z) and torch.allclose(x - 2 * y, z, rtol=1e-3, atol=1e-3 * _size(x, y))
        for x, y, z in zip(xs, ys, sums)
    )


def _size(*xs: torch.Tensor) -> float:
    return max((float(x.abs().max()) for x in xs if x.numel()), default=0.0)


_WITHOUT_VALUES: Final = ("meta tensor", "Meta tensor", "'Meta'", "data-dependent", "data-independent")
"""Parts of PyTorch's errors for functions that need values."""


def _abstract(call: Any, avals: Sequence[Any]) -> tuple[tuple[Aval, ...], bool]:
    """Return the shapes of the results of a call, and whether it draws random numbers."""
    if isinstance(call, Seeded):
        return _abstract(call.call, avals[call.states :])
    if isinstance(call, Pull):
        return tuple(map(aval_of, compress(avals, call.chosen))), False
    if isinstance(call, Push):
        outs, is_random = _abstract(call.call, avals[: len(call.chosen)])
        return (*outs, *(aval_of(x) for x in outs if is_floating(x))), is_random
    meta = [torch.empty(tuple(x.shape), dtype=x.dtype, device="meta") for x in avals]
    device = next((x.device for x in avals), None)
    abstract = call.with_constants(lambda x: x.detach().to("meta"))
    try:
        with torch.no_grad():
            results, is_random = private.watched(lambda: abstract(*meta))
    except (RuntimeError, NotImplementedError) as error:
        message = str(error)
        if not any(each in message for each in _WITHOUT_VALUES):
            raise
        raise TracedError(
            f"torch's {call.name}: its result depends on the values of an array, which are not known while a function "
            "is traced; use `xp.where`, a fixed size, or `cond` and `while_loop` of `xpand_extensions.control_flow`, "
            f"or call it outside of the compiled function; PyTorch says: {message.splitlines()[0]}"
        ) from error
    call.result = abstract.result
    return tuple(Aval(tuple(x.shape), x.dtype, device) for x in results), is_random


def _shape(namespace: Any, *avals: Any, call: Any) -> tuple[Aval, ...]:
    return _abstract(call, avals)[0]


def _stage(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    call, namespace = params["call"], trace.namespace
    inputs = list(map(trace.atom, args))
    avals, is_random = _abstract(call, [aval_of(x.aval if hasattr(x, "aval") else x) for x in inputs])
    if not is_random or isinstance(call, Seeded):
        return trace.equation(program(namespace, _has_effects(call)), inputs, params, avals)
    states = []
    for i, source in enumerate(call.generators()):
        state = source.get_state()
        aval = Aval(tuple(state.shape), state.dtype, state.device)
        states.append(trace.equation(_state(namespace), [inputs[0]], {"call": call, "number": i}, aval))
    call.state = states
    inputs = [*map(trace.atom, states), *inputs]
    seeded = Seeded(call, len(states), False)
    return trace.equation(program(namespace, True), inputs, {"call": seeded}, avals)


STATEFUL: Final = frozenset({"batch_norm", "instance_norm"})
"""PyTorch's functions that may change some of their arguments: running means."""


def _has_effects(call: Any) -> bool:
    return call.name in STATEFUL


def _depends(on: Sequence[bool], *, call: Any) -> tuple[bool, ...]:
    return (any(on),) * int(call.count)


_RULES: Final = {"batch": _batch, "depends": _depends, "forward": _forward, "linearize": _linearize, "tape": _tape}
_OF_CALLS: Final = {"overrides": {**_RULES, "stage": _stage}, "shape": _shape, "result": tuple}


def operation(namespace: Any) -> Op:
    """Return the operation of a namespace. Its parameter is the call."""
    op: Op = namespace.operation("torch", _run, **_OF_CALLS)
    return op


def _first(x: torch.Tensor, *, call: Any) -> torch.Tensor:
    result: torch.Tensor = call(x)[0]
    return result


def _first_of_all(xp: Any, x: Any, *, call: Any) -> Any:
    return bind(operation(xp), (x,), {"call": call})[0]


def _stage_decomposed(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return op.decompose(args, params)


def element(namespace: Any) -> Op:
    """Return the operation that is the only result of a call."""
    overrides = {"stage": _stage_decomposed}
    op: Op = namespace.operation("torch_element", _first, decomposition=_first_of_all, overrides=overrides)
    return op


def program(namespace: Any, has_effects: bool) -> Op:
    """Return the operation of graphs, which doesn't watch generators."""
    name = "torch_with_effects" if has_effects else "torch_call"
    op: Op = namespace.operation(name, _program, overrides=_RULES, shape=_shape, result=tuple, effects=has_effects)
    return op


def _read_state(x: torch.Tensor, *, call: Any, number: int) -> torch.Tensor:
    state: torch.Tensor = call.generators()[number].get_state()
    return state


def _state_of_lanes(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    return bind(op, [trace.plain(x) for x in args], params)


def _shape_of_state(namespace: Any, x: Any, *, call: Any, number: int) -> Aval:
    state = call.generators()[number].get_state()
    return Aval(tuple(state.shape), state.dtype, state.device)


def _state(namespace: Any) -> Op:
    """Return the operation that reads the state of a generator when a program runs. Its array is only for order."""
    op: Op = namespace.operation(
        "torch_state",
        _read_state,
        shape=_shape_of_state,
        effects=True,
        constant="the state of a generator",
        overrides={"batch": _state_of_lanes},
    )
    return op
