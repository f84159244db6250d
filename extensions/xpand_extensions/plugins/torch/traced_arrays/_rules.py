"""The operation that is one call of PyTorch, and its rules."""

from collections.abc import Sequence
from typing import Any, Final

import torch

from xpand.torch import _private as private
from xpand_extensions.tracing._core import Aval, Op, TracedArray, bare, bind
from xpand_extensions.tracing._flow import pulled_back
from xpand_extensions.tracing._reverse import opaque

from ._calls import Mapped, Pull, Push, conj, is_floating


def _run(*xs: torch.Tensor, call: Any) -> tuple[torch.Tensor, ...]:
    found: tuple[torch.Tensor, ...] = call(*xs)
    return found


def _linearize(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    call = params["call"]
    nodes, primals = trace.taken_apart(args)
    wanted = tuple(node is not None and is_floating(x) for node, x in zip(nodes, primals))
    nodes = [node if each else None for node, each in zip(nodes, wanted)]
    own = None if any(map(_is_special, primals)) or private.are_levels_active() else _Graph(call, primals, wanted)
    outs = tuple(map(bare, bind(op, primals, params))) if own is None else own.outs
    floating = [is_floating(x) for x in outs]

    def back(*cotangents: Any) -> Any:
        given = [ct for ct, each in zip(cotangents, floating) if each]
        if own is None or any(isinstance(ct, TracedArray) for ct in given):
            found = iter(map(bare, bind(op, [*primals, *given], {"call": Pull(call, wanted)})))
        else:
            found = iter(own.pull(given))
        return [next(found) if each else None for each in wanted]

    def push(*tangents: Any) -> Any:
        has = tuple(t is not None and each for t, each in zip(tangents, wanted))
        given = [t for t, each in zip(tangents, has) if each]
        found = iter(list(bind(op, [*primals, *given], {"call": Push(call.again(), has)}))[len(outs) :])
        return [bare(next(found)) if each else None for each in floating]

    return opaque(trace, outs, nodes, back, push)


def _is_special(x: Any) -> bool:
    return isinstance(x, TracedArray) or (isinstance(x, torch.Tensor) and x.is_inference())


class _Graph:
    """PyTorch's own graph of one call, so that its pullback computes nothing twice."""

    def __init__(self, call: Any, primals: Sequence[torch.Tensor], wanted: Sequence[bool]) -> None:
        """Call the function."""
        # If PyTorch differentiates the arguments or the constants, too, its graph continues to them.
        self.is_part = torch.is_grad_enabled() and any(
            isinstance(x, torch.Tensor) and x.requires_grad for x in (*primals, *call.constants())
        )
        with torch.enable_grad():
            xs = [self.leaf(x) if each else x for x, each in zip(primals, wanted)]
            made = call(*xs)
        self.inputs = [x for x, each in zip(xs, wanted) if each]
        self.results = [x for x in made if is_floating(x)]
        self.outs = made if self.is_part else tuple(x.detach() for x in made)

    def leaf(self, x: torch.Tensor) -> torch.Tensor:
        """Return the argument as a tensor of its own, of which PyTorch takes derivatives."""
        return x.view_as(x) if self.is_part and x.requires_grad else x.detach().requires_grad_()

    def pull(self, cotangents: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Return the cotangents of the wanted arguments."""
        pairs = [(x, conj(ct)) for x, ct in zip(self.results, cotangents) if x.requires_grad]
        create = torch.is_grad_enabled() and (self.is_part or any(ct.requires_grad for ct in cotangents))
        found = torch.autograd.grad(
            [x for x, _ in pairs],
            self.inputs,
            [ct for _, ct in pairs],
            create_graph=create,
            retain_graph=True,
            allow_unused=True,
            materialize_grads=True,
        )
        return list(map(conj, found))


def _forward(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    primals, tangents = trace.split(args)
    has = tuple(t is not None and is_floating(x) for x, t in zip(primals, tangents))
    given = [t for t, each in zip(tangents, has) if each]
    found = list(map(bare, bind(op, [*primals, *given], {"call": Push(params["call"], has)})))
    count = (len(found) + sum(not is_floating(x) for x in found)) // 2
    moved = iter(found[count:])
    return tuple(trace.pair(x, next(moved) if is_floating(x) else None) for x in found[:count])


def _batch(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    mapped = tuple(map(trace.owns, args))
    values = [x._value if each else bare(x) for x, each in zip(args, mapped)]
    found = bind(op, values, {"call": Mapped(params["call"], mapped)})
    return tuple(trace.namespace.array(trace, bare(x)) for x in found)


def _tape(trace: Any, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    def pulled(namespace: Any, primals: Any, active: tuple[bool, ...], params: dict[str, Any]) -> Any:
        call = params["call"]
        outs = tuple(map(bare, bind(op, primals, params)))
        floating = [is_floating(x) for x in outs]

        def back(*cotangents: Any) -> Any:
            given = [ct for ct, each in zip(cotangents, floating) if each]
            found = iter(map(bare, bind(op, [*primals, *given], {"call": Pull(call, active)})))
            return [next(found) if each else None for each in active]

        return outs, back

    return pulled_back(trace, op, args, params, pulled)


def _shape(namespace: Any, *avals: Any, call: Any) -> tuple[Aval, ...]:
    meta = [torch.empty(tuple(x.shape), dtype=x.dtype, device="meta") for x in avals]
    device = next((x.device for x in avals), None)
    abstract = call.with_constants(lambda x: x.detach().to("meta"))
    with torch.no_grad():
        found = abstract(*meta)
    call.result = abstract.result
    return tuple(Aval(tuple(x.shape), x.dtype, device) for x in found)


def _depends(on: Sequence[bool], *, call: Any) -> tuple[bool, ...]:
    return (any(on),) * sum(call.result[2])


_OVERRIDES: Final = {
    "batch": _batch,
    "depends": _depends,
    "forward": _forward,
    "linearize": _linearize,
    "tape": _tape,
}


def operation(namespace: Any) -> Op:
    """Return the operation of a namespace. Its parameter is the call."""
    found: Op | None = namespace.operations.get("torch")
    if found is None:
        found = namespace.operation("torch", _run)
        found.overrides, found.shape, found.result = _OVERRIDES, _shape, tuple
    return found
