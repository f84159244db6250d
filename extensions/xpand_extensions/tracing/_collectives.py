"""Linear collectives along a named axis.

The axis is identified by the positions that are mapped along it: its interpreter recognizes them, and those of other
axes pass the operation on.
"""

from collections.abc import Sequence
from typing import Any

from xpand.extend import LibraryArray as Array
from xpand.extend import device_of

from .._bounds import index_dtype
from .._sums import plain_sum
from ..vmap._names import Axis
from ._batching import Batching
from ._core import Op, bare, bind
from ._fit import namespace_for


def collective(x: Array, axis: Axis, kind: str, sources: Sequence[int] = ()) -> Array:
    """Apply a linear function of all lanes along an axis.

    Args:
        x: The value of a lane.
        axis: The axis.
        kind: "sum"; "gather", all lanes along a new first axis; "scatter", the entry of the sum at the lane's position
            along the first axis; or "permute".
        sources: For "permute", the position that each lane's result is from.
    """
    position = axis.position()
    namespace = type(position)._namespace
    op = namespace.operation("collective", _not_mapped)
    return namespace.wrap(bind(op, (x, position), {"kind": kind, "sources": tuple(sources), "size": axis.size}))


def _not_mapped(x: Array, position: Array, **params: Any) -> Array:
    raise RuntimeError("a function of the lanes along a mapped axis was called where the axis isn't mapped")


def collective_batch(trace: Batching, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    x, position = args
    namespace = trace.namespace
    if not trace.owns(position):
        # For another axis, with this one last.
        found = bind(op, (namespace.moveaxis(x._value, 0, -1), bare(position)), params)
        return namespace.array(trace, bare(namespace.moveaxis(found, -1, 0)))
    kind, size = params["kind"], params["size"]
    is_mapped = trace.owns(x)
    value = x._value if is_mapped else bare(x)
    xp = namespace_for(namespace, value)
    if kind == "gather":
        return bare(value if is_mapped else xp.broadcast_to(value, (size, *value.shape)))
    if kind == "permute":
        if not is_mapped:
            return value
        sources = xp.asarray(params["sources"], dtype=xp.int64, device=device_of(value))
        return namespace.array(trace, bare(xp.take(value, sources, axis=0)))
    total = bare(plain_sum(xp, value, axis=0) if is_mapped else _times(xp, value, size))
    return total if kind == "sum" else namespace.array(trace, total)


def _times(xp: Any, x: Array, size: int) -> Array:
    """Multiply by the size of an axis; integers that can't hold it wrap around."""
    return x * xp.astype(xp.asarray(size, dtype=index_dtype(xp, device_of(x)), device=device_of(x)), x.dtype)
