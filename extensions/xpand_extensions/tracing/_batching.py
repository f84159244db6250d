"""Batching: arrays with a leading axis that is hidden from the function.

The rule of an operation is `rule(xp, mapped, *args, **params)`. `mapped` has a flag for each argument: whether it has
the axis. The rule returns the result, or a tuple of results, with the axis first. It returns None to decompose the
operation.

Linear collectives along a named axis.

The array of the positions along the axis identifies the axis. Its interpreter recognizes these positions, and
interpreters of other axes pass the operation on.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from xpand.extend import LibraryArray as Array, device_of

from .._bounds import index_dtype
from .._dtypes import plain_sum
from ..vmap import _names as names
from ..vmap._names import Axis
from ._core import Op, Trace, TracedArray, TracedError, apart, bare, bind, rebuilt, snapshot, without_values
from ._fit import namespace_for


class Batching(Trace):
    """The interpreter of batches. Its arrays contain the array with the axis."""

    __slots__ = ("axis", "axis_name", "size")

    def __init__(self, namespace: Any, size: int, axis_name: Hashable = None, of: "Batching | None" = None) -> None:
        super().__init__("vmap", namespace)
        self.size, self.axis_name = size, axis_name
        self.axis: object = object() if of is None else of.axis
        """The identity of the axis. An interpreter that traces the function again has the same."""

    def owns(self, x: Any) -> bool:
        """Return whether something is an array with the axis."""
        if not isinstance(x, TracedArray):
            return False
        return x._trace is self or (isinstance(x._trace, Batching) and x._trace.axis is self.axis)

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to all batch elements."""
        override = op.overrides.get("batch")
        if override is not None:
            return override(self, op, args, params)
        if op.batching is None:
            if op.decomposition is None:
                raise op.no_rule("batches")
            return op.decompose(args, params)
        if op.is_elementwise:  # all arrays are mapped and have equally many axes: the rule would take as long as NumPy
            values, ndims = [], set()
            for x in args:
                if isinstance(x, TracedArray) and x._trace is self:
                    x = x._value
                    ndims.add(x.ndim)
                elif hasattr(x, "dtype"):
                    break
                values.append(x)
            else:
                if len(ndims) == 1:
                    return self.namespace.array_type(self, bare(bind(op, values, params)))
        return self.by_rule(op, args, params)

    def by_rule(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation by its rule."""
        rule = op.batching
        assert rule is not None
        mapped = tuple(map(self.owns, args))
        given = [x._value if is_mapped else bare(x) for x, is_mapped in zip(args, mapped)]
        xp = namespace_for(self.namespace, *given)
        out = op.apply(rule, (xp, op.named(mapped, params)), given, params)
        if out is None:
            return op.decompose(args, params)
        if op.result is None:
            return self.namespace.array_type(self, bare(out))
        return rebuilt(op, out, [self.namespace.array_type(self, bare(x)) for x in out])

    def shape(self, x: TracedArray) -> tuple[int, ...]:
        shape: tuple[int, ...] = x._value.shape[1:]
        return tuple(shape)

    def is_traced(self, x: TracedArray) -> bool:
        return True

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise TracedError(
            f"{what}: a traced array of shape {self.shape(x)} and data type {self.dtype(x)} has one value for each of "
            f"the {self.size} lanes that `vmap` maps over; {without_values(what, self.namespace.advice)}"
        )

    def lifted(self, x: Any) -> Array:
        """Return an array with the axis. An array without the axis is repeated for all lanes."""
        if self.owns(x):
            return x._value
        x = bare(x)
        return spread_out(namespace_for(self.namespace, x), x, self.size)


def batched(
    namespace: Any,
    function: Callable[..., Any],
    arrays: Sequence[Array],
    axes: Sequence[int | None],
    size: int,
    axis_name: Hashable = None,
    of: Batching | None = None,
) -> tuple[tuple[Array, ...], tuple[bool, ...]]:
    """Vectorize a function from arrays to a tuple of arrays over axes of its arguments.

    `of` is the interpreter under which the function was found. It has the same axis, and the function may close over
    its arrays.

    Returns:
        The results, mapped ones with the axis first, and which results are mapped.
    """
    with Batching(namespace, size, axis_name, of) as trace:
        given = []
        for x, axis in zip(arrays, axes):
            x = snapshot(bare(x))  # the function may write to its arguments and to captured arrays
            if axis is not None:
                xp = namespace_for(namespace, x)
                x = namespace.array_type(trace, bare(xp.moveaxis(x, axis, 0) if axis else x))
            given.append(namespace.wrap(x))
        if axis_name is None:
            outs = function(*given)
        else:
            device = getattr(arrays[0], "device", None) if arrays else None
            positions = namespace.base.arange(size, dtype=namespace.base.int32, device=device)
            with names.bound(axis_name, names.Axis(size, lambda: namespace.array_type(trace, positions))):
                outs = function(*given)
        mapped = tuple(trace.owns(x) for x in outs)
        return apart(tuple(trace.plain(x) for x in outs)), mapped


def batched_all(
    namespace: Any,
    function: Callable[..., Any],
    arrays: Sequence[Array],
    axes: Sequence[int | None],
    size: int,
    of: Batching | None = None,
) -> tuple[Array, ...]:
    """Vectorize a function like `batched`. All results have the axis."""
    outs, mapped = batched(namespace, function, arrays, axes, size, of=of)
    return tuple(x if is_mapped else spread_out(namespace, x, size) for x, is_mapped in zip(outs, mapped))


def spread_out(namespace: Any, x: Array, size: int) -> Array:
    """Repeat an array along a new first axis."""
    return bare(namespace.broadcast_to(namespace.expand_dims(x, axis=0), (size, *x.shape)))


def collective(x: Array, axis: Axis, kind: str, sources: Sequence[int] = ()) -> Array:
    """Apply a linear function of all lanes along an axis.

    Args:
        x: The value of a lane.
        axis: The axis.
        kind: "sum", "permute", "gather" (all lanes along a new first axis) or "scatter" (the entry of the sum at the
            lane's position along the first axis).
        sources: For "permute", the position from which each lane gets its result.
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
        # Map over the other axis, with this axis last.
        found = bind(op, (namespace.moveaxis(x._value, 0, -1), bare(position)), params)
        return namespace.array_type(trace, bare(namespace.moveaxis(found, -1, 0)))
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
        return namespace.array_type(trace, bare(xp.take(value, sources, axis=0)))
    total = bare(plain_sum(xp, value, axis=0) if is_mapped else _times(xp, value, size))
    return total if kind == "sum" else namespace.array_type(trace, total)


def _times(xp: Any, x: Array, size: int) -> Array:
    """Multiply by the size of an axis. Integers that can't hold it wrap around."""
    return x * xp.astype(xp.asarray(size, dtype=index_dtype(xp, device_of(x)), device=device_of(x)), x.dtype)
