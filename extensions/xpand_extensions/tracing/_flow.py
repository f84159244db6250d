"""Shared code of loops and branches."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from xpand.extend import Array

from ._core import Op, bare
from ._fit import zeros
from ._forward import Forward

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
        given = [x if t is None else namespace.array(trace, x, t) for x, t in zip(primals, tangents)]
        found = trace.process(op, given, params)
    return [x._extra if trace.owns(x) else zeros(namespace, x) for x in found]


def where(namespace: Any, active: Any, x: Any, y: Any) -> Any:
    shape = (*active.shape, *(1,) * (len(x.shape) - 1))
    return bare(namespace.where(namespace.reshape(active, shape), x, y))
