"""Shared code of loops and branches."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand.extend import Array

from ._core import Op, bare
from ._fit import zeros
from ._forward import Forward
from ._reverse import Linearize, opaque
from ._tape import Tape, recorded

Arrays: TypeAlias = "tuple[Array, ...]"


def split(args: Sequence[Any], *counts: int) -> list[list[Any]]:
    parts = []
    start = 0
    for count in (*counts, len(args) - sum(counts)):
        parts.append(list(args[start : start + count]))
        start += count
    return parts


def chosen(values: Sequence[Any], which: Sequence[bool]) -> list[Any]:
    return [x for x, each in zip(values, which) if each]


def push(namespace: Any, op: Op, primals: Sequence[Any], tangents: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply forward mode to an operation."""
    with Forward("jvp", namespace) as trace:
        given = [x if t is None else namespace.array_type(trace, x, t) for x, t in zip(primals, tangents)]
        found = trace.process(op, given, params)
    return [x._extra if trace.owns(x) else zeros(namespace, x) for x in found]


def pulled_back(
    trace: Linearize | Tape, op: Op, args: Sequence[Any], params: dict[str, Any], pulled: Callable[..., Any]
) -> Any:
    """Apply reverse mode to an operation. `pulled` computes its results and the pullback.

    The transpose of an operation in linear arguments is the pullback at zero.
    """
    namespace = trace.namespace
    if isinstance(trace, Tape):
        primals, nodes = trace.at_zero(args)
    else:
        primals, nodes = [trace.plain(x) for x in args], [x._extra if trace.owns(x) else None for x in args]
    active = tuple(node is not None for node in nodes)
    outs, back = pulled(namespace, primals, active, params)
    pushforward = lambda *t: push(namespace, op, primals, t, params)
    if isinstance(trace, Tape):
        return recorded(trace, op, outs, op.overrides["depends"](active, **params), nodes, back, pushforward)
    return opaque(trace, outs, nodes, back, pushforward)


def where(namespace: Any, active: Any, x: Any, y: Any) -> Any:
    shape = (*active.shape, *(1,) * (len(x.shape) - 1))
    return bare(namespace.where(namespace.reshape(active, shape), x, y))
